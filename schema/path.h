// Paths of the tree as the control socket takes them. Never resolves "..", never follows a symlink,
// never leaves the tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"
#include "schema/model.h"
#include "schema/store.h"

namespace ebla {

inline constexpr std::string_view kResultsFolder = "/large_tool_results";
inline constexpr std::string_view kHistoryFolder = "/conversation_history";
// In it; no session has this id.
inline constexpr std::string_view kMediaName = "media";

// Elements of an absolute path: empty and "." elements vanish. invalid_path for a relative or empty
// path, "..", NUL, over kPathBytes; name_too_long for an element over kNameBytes.
Result<std::vector<std::string>> split_path(std::string_view path);
std::string join_path(const std::vector<std::string>& elements);  // "/" for none
// An absolute path of the host, written in one way: no empty, "." or ".." elements, no "/" at its
// end. Only the text is looked at; ".." takes away the element before it, link or not.
std::string lexical_path(std::string_view absolute);
// Walks the tree. file_not_found and not_directory name the path.
Result<Attr> resolve(Store& store, std::string_view path);

}  // namespace ebla
