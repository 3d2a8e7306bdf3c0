// What a JSON result says, in one line: whether it tells of an error, and its first facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ebla::context {

struct JsonDigest {
  std::string text;  // clean, one line: "nodes: 40 items, hasNextPage=true"
  bool failed = false;
};
// nullopt: it is no JSON object or array, or too large to be read.
std::optional<JsonDigest> json_digest(std::string_view text);

}  // namespace ebla::context
