#include "context/item/doors.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr char kAllowed[] =
    "capabilities take shell and cli (true or false), read and grep (the name of a tool)";

std::unexpected<Error> refuse(std::string_view what) {
  return fail(Code::invalid_params, fmt::format("{}: {}", what, kAllowed));
}

Result<void> set_flag(bool& flag, const std::string& name, const Json& value) {
  if (value.is(Json::Kind::null)) return {};
  if (!value.is(Json::Kind::boolean)) return refuse(name + " is not true or false");
  flag = value.boolean;
  return {};
}

Result<void> set_tool(std::string& tool, const std::string& name, const Json& value) {
  if (value.is(Json::Kind::null)) return {};
  if (!value.is(Json::Kind::string) || value.text.empty()) {
    return refuse(name + " is not the name of a tool");
  }
  if (value.text.size() > limits::kToolNameBytes) {
    return refuse(fmt::format("{} is longer than {} bytes", name, limits::kToolNameBytes));
  }
  tool = value.text;
  return {};
}

Result<void> set_member(Doors& doors, const std::string& name, const Json& value) {
  if (name == "shell") return set_flag(doors.shell, name, value);
  if (name == "cli") return set_flag(doors.cli, name, value);
  if (name == "read") return set_tool(doors.read_tool, name, value);
  if (name == "grep") return set_tool(doors.grep_tool, name, value);
  return refuse("unknown capability " + printable(name.substr(0, limits::kToolNameBytes)));
}

}  // namespace

Result<Doors> doors_of(const std::optional<std::string>& capabilities, bool mounted) {
  Doors doors;
  if (!capabilities) {
    doors.shell = mounted;
    doors.cli = !mounted;
    return doors;
  }
  const Result<Json> json = parse_json(*capabilities);
  if (!json || !json->is(Json::Kind::object)) return refuse("capabilities are not an object");
  for (const auto& [name, value] : json->members) {
    const Result<void> set = set_member(doors, name, value);
    if (!set) return std::unexpected(set.error());
  }
  return doors;
}

std::string Location::host_path(std::string_view tree_path) const {
  if (prefix.empty()) return std::string(tree_path);
  if (subtree.size() > 1) tree_path.remove_prefix(std::min(subtree.size(), tree_path.size()));
  return prefix + std::string(tree_path);
}

}  // namespace ebla::context
