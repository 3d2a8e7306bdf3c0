// How the agent of a session can read a file: the doors that it declared, by the names that its
// model sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla::context {

struct Doors {
  bool shell = false;
  bool cli = false;
  std::string read_tool;  // empty: none
  std::string grep_tool;

  bool none() const { return !shell && !cli && read_tool.empty() && grep_tool.empty(); }
};

// The session's declaration (JSON text, nullopt: none) and whether a mount is up: nothing declared
// means shell where a mount is up, else cli. invalid_params for unknown members or wrong types.
Result<Doors> doors_of(const std::optional<std::string>& capabilities, bool mounted);

// Where a folder of the tree appears to the agent.
struct Location {
  std::string prefix;   // host folder, no trailing slash; "" when no mount shows it
  std::string subtree;  // path in the tree that prefix shows: "/", "/large_tool_results", …
  // Host path of a path in the tree, which must lie below subtree.
  std::string host_path(std::string_view tree_path) const;
};

}  // namespace ebla::context
