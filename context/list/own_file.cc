#include "context/list/own_file.h"

#include <algorithm>

#include "context/formats/pairs.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// As tools of the usual hosts and servers name them, the likeliest first.
constexpr std::string_view kPathNames[] = {
    "file_path",     "path",        "filepath",      "filePath",      "filename", "file_name",
    "notebook_path", "target_file", "absolute_path", "relative_path", "file",     "uri"};
// Arguments that end up in the file as they are.
constexpr std::string_view kWrittenNames[] = {
    "content",    "contents", "file_text", "file_content", "text",        "new_string", "new_str",
    "new_source", "new_text", "newString", "newText",      "insert_text", "replacement"};

bool one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool may_be_named(std::string_view path) {
  const bool remote = path.find("://") != std::string_view::npos && !path.starts_with("file://");
  return !remote && path.size() <= limits::kOwnFileBytes && printable(path) == path;
}

}  // namespace

bool is_path_name(std::string_view argument) {
  return one_of(argument, kPathNames);
}

bool may_name_path(std::string_view arguments) {
  return std::ranges::any_of(kPathNames,
                             [&](std::string_view name) { return arguments.contains(name); });
}

std::string named_path(std::span<const StringArgument> arguments) {
  for (std::string_view name : kPathNames) {
    const auto found = std::ranges::find(arguments, name, &StringArgument::name);
    if (found != arguments.end() && !found->text.empty()) return found->text;
  }
  return {};
}

OwnFiles::OwnFiles(std::string_view body, const Conversation& conversation,
                   const std::function<bool(const std::string& tool)>& writes)
    : body_(body), conversation_(conversation) {
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const std::vector<Part>& parts = conversation.messages[m].parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].kind != PartKind::tool_call || !writes(parts[p].tool)) continue;
      std::string path = named_path(string_arguments(body, parts[p]));
      if (!path.empty()) last_[std::move(path)] = {m, p};
    }
  }
  for (const Pair& pair : conversation.pairing.pairs) {
    const Part& result = conversation.messages[pair.result.message].parts[pair.result.part];
    if (!result.error) went_well_.insert({pair.call.message, pair.call.part});
  }
}

std::string OwnFiles::of(size_t message, size_t part, std::string_view argument) const {
  if (!one_of(argument, kWrittenNames) || !went_well_.contains({message, part})) return {};
  std::string path =
      named_path(string_arguments(body_, conversation_.messages[message].parts[part]));
  const auto last = last_.find(path);
  const bool stands = last != last_.end() && last->second == At{message, part};
  return stands && may_be_named(path) ? path : std::string();
}

}  // namespace ebla::context
