#include "context/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "schema/base/json.h"

namespace ebla::context {
namespace {

constexpr std::string_view kToolPrefix = "tool_result_tokens.";
constexpr uint64_t kMaxTokens = 1'000'000'000;
constexpr uint64_t kMaxHostLimit = 1'000'000'000'000;
constexpr uint64_t kMaxPreviewLines = 50;
constexpr uint64_t kMaxReadLines = 100'000;
constexpr uint64_t kMinPageTokens = 100;
constexpr uint64_t kMaxPageTokens = 1'000'000;
constexpr size_t kMaxListed = 1'000;
constexpr size_t kShownValueBytes = 80;

constexpr std::string_view kTokenRange = "1 to 1000000000";
constexpr std::string_view kListRange = "an array of tool names, at most 1000 of 1 to 256 bytes";
constexpr std::string_view kPreviewRange = "0 to 50";

constexpr std::array<SettingInfo, 12> kTable = {{
    {"tool_result_tokens", "integer", kTokenRange, "a tool result above this is put away"},
    {"tool_result_tokens.*", "integer", kTokenRange, "the same for one tool: its name for *"},
    {"never", "list", kListRange, "tools whose results always stay"},
    {"always", "list", kListRange, "tools whose results are always put away"},
    {"human_message_tokens", "integer", kTokenRange, "a human message above this is put away"},
    {"item_window_share", "fraction", "above 0, at most 1",
     "no item may take more of the window than this"},
    {"host_limit", "object", "members characters, bytes, lines, each 0 (none) to 1000000000000",
     "what the host of the agent shows of a result"},
    {"size_rule", "choice", "class or chars4", "how the size of one item is counted"},
    {"preview_head", "integer", kPreviewRange, "first lines in a preview"},
    {"preview_tail", "integer", kPreviewRange, "last lines in a preview"},
    {"read_limit", "integer", "1 to 100000", "lines of a page when the reader names no limit"},
    {"page_tokens", "integer", "100 to 1000000", "tokens of a page at most"},
}};

const SettingInfo* find_setting(std::string_view name) {
  const bool of_tool = name.size() > kToolPrefix.size() && name.starts_with(kToolPrefix);
  if (of_tool) name = "tool_result_tokens.*";
  const auto* found =
      std::find_if(kTable.begin(), kTable.end(), [&](const auto& row) { return row.name == name; });
  return found == kTable.end() || (name.ends_with(".*") && !of_tool) ? nullptr : found;
}

std::unexpected<Error> refuse(const SettingInfo& info, std::string_view name,
                              std::string_view value) {
  std::string shown = printable(value.substr(0, kShownValueBytes));
  if (value.size() > kShownValueBytes) shown += "...";
  return fail(Code::invalid_params, fmt::format("setting {} cannot be {}: it takes {}",
                                                printable(name), shown, info.range));
}

bool set_number(uint64_t& target, const Json& value, uint64_t low, uint64_t high) {
  const std::optional<uint64_t> number = value.as_uint64();
  if (!value.is(Json::Kind::number) || !number || *number < low || *number > high) return false;
  target = *number;
  return true;
}

bool tool_name_fits(std::string_view name) {
  return !name.empty() && name.size() <= limits::kToolNameBytes;
}

bool set_list(std::set<std::string>& target, const Json& value) {
  if (!value.is(Json::Kind::array) || value.items.size() > kMaxListed) return false;
  std::set<std::string> names;
  for (const Json& item : value.items) {
    if (!item.is(Json::Kind::string) || !tool_name_fits(item.text)) return false;
    names.insert(item.text);
  }
  target = std::move(names);
  return true;
}

bool set_share(double& target, const Json& value) {
  const std::optional<double> share = value.as_double();
  if (!value.is(Json::Kind::number) || !share || !(*share > 0) || *share > 1) return false;
  target = *share;
  return true;
}

bool set_host_limit(HostLimit& target, const Json& value) {
  if (!value.is(Json::Kind::object)) return false;
  HostLimit limit;
  for (const auto& [name, member] : value.members) {
    uint64_t* field = name == "characters" ? &limit.characters
                      : name == "bytes"    ? &limit.bytes
                      : name == "lines"    ? &limit.lines
                                           : nullptr;
    if (field == nullptr || !set_number(*field, member, 0, kMaxHostLimit)) return false;
  }
  target = limit;
  return true;
}

bool set_rule(SizeRule& target, const Json& value) {
  if (!value.is(Json::Kind::string) || (value.text != "class" && value.text != "chars4")) {
    return false;
  }
  target = value.text == "class" ? SizeRule::classes : SizeRule::chars4;
  return true;
}

bool set_value(Settings& s, std::string_view name, const Json& v) {
  if (name == "tool_result_tokens") return set_number(s.tool_result_tokens, v, 1, kMaxTokens);
  if (name == "human_message_tokens") return set_number(s.human_message_tokens, v, 1, kMaxTokens);
  if (name == "preview_head") return set_number(s.preview_head, v, 0, kMaxPreviewLines);
  if (name == "preview_tail") return set_number(s.preview_tail, v, 0, kMaxPreviewLines);
  if (name == "read_limit") return set_number(s.read_limit, v, 1, kMaxReadLines);
  if (name == "page_tokens") return set_number(s.page_tokens, v, kMinPageTokens, kMaxPageTokens);
  if (name == "never") return set_list(s.never, v);
  if (name == "always") return set_list(s.always, v);
  if (name == "item_window_share") return set_share(s.item_window_share, v);
  if (name == "host_limit") return set_host_limit(s.host_limit, v);
  if (name == "size_rule") return set_rule(s.size_rule, v);
  const std::string_view tool = name.substr(kToolPrefix.size());
  uint64_t tokens = 0;
  if (!tool_name_fits(tool) || !set_number(tokens, v, 1, kMaxTokens)) return false;
  s.tool_tokens[std::string(tool)] = tokens;
  return true;
}

// A configuration file and a command line give bare words where JSON has quotes: chars4, and
// "a,b" for a list.
Json bare_words(std::string_view kind, std::string_view text) {
  Json value;
  value.kind = Json::Kind::string;
  if (kind != "list") {
    value.text = text;
    return value;
  }
  Json list;
  list.kind = Json::Kind::array;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t first = word.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    word = word.substr(first, word.find_last_not_of(" \t") - first + 1);
    value.text = word;
    list.items.push_back(value);
  }
  return list;
}

std::string json_list(const std::set<std::string>& names) {
  JsonWriter out;
  out.begin_array();
  for (const std::string& name : names) out.string(name);
  return out.end_array().take();
}

std::string json_host_limit(const HostLimit& limit) {
  JsonWriter out;
  out.begin_object();
  if (limit.characters > 0) out.member("characters", limit.characters);
  if (limit.bytes > 0) out.member("bytes", limit.bytes);
  if (limit.lines > 0) out.member("lines", limit.lines);
  return out.end_object().take();
}

}  // namespace

std::span<const SettingInfo> setting_table() {
  return kTable;
}

Result<void> apply_setting(Settings& settings, std::string_view name, std::string_view json) {
  const SettingInfo* info = find_setting(name);
  if (info == nullptr) {
    return fail(Code::invalid_params,
                fmt::format("unknown setting {}", printable(name.substr(0, kShownValueBytes))));
  }
  Result<Json> value = parse_json(json);
  if (!value && (info->kind == "list" || info->kind == "choice")) {
    value = bare_words(info->kind, json);
  }
  if (!value || !set_value(settings, name, *value)) return refuse(*info, name, json);
  return {};
}

Result<Settings> with_session(const Settings& base, const std::map<std::string, std::string>& own) {
  Settings settings = base;
  for (const auto& [name, json] : own) {
    if (json == "null") continue;  // removed: the daemon's holds
    const Result<void> applied = apply_setting(settings, name, json);
    if (!applied) return std::unexpected(applied.error());
  }
  return settings;
}

std::map<std::string, std::string> to_json_map(const Settings& s) {
  std::map<std::string, std::string> out = {
      {"tool_result_tokens", std::to_string(s.tool_result_tokens)},
      {"never", json_list(s.never)},
      {"always", json_list(s.always)},
      {"human_message_tokens", std::to_string(s.human_message_tokens)},
      {"item_window_share", JsonWriter().number(s.item_window_share).take()},
      {"host_limit", json_host_limit(s.host_limit)},
      {"size_rule", s.size_rule == SizeRule::classes ? "\"class\"" : "\"chars4\""},
      {"preview_head", std::to_string(s.preview_head)},
      {"preview_tail", std::to_string(s.preview_tail)},
      {"read_limit", std::to_string(s.read_limit)},
      {"page_tokens", std::to_string(s.page_tokens)},
  };
  for (const auto& [tool, tokens] : s.tool_tokens) {
    out[std::string(kToolPrefix) + tool] = std::to_string(tokens);
  }
  return out;
}

}  // namespace ebla::context
