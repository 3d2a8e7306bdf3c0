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
constexpr uint64_t kMaxGrepCount = 100'000;
constexpr size_t kMaxListed = 1'000;
constexpr size_t kMaxCommandBytes = 4096;
constexpr uint64_t kMinSummariserWindow = 4'000;
constexpr uint64_t kMaxImageBytes = 1'000'000'000'000;
constexpr size_t kShownValueBytes = 80;

constexpr std::string_view kTokenRange = "1 to 1000000000";
constexpr std::string_view kListRange = "an array of tool names, at most 1000 of 1 to 256 bytes";
constexpr std::string_view kPreviewRange = "0 to 50";
constexpr std::string_view kShareRange = "above 0, at most 1";

constexpr std::array<SettingInfo, 23> kTable = {{
    {"tool_result_tokens", "integer", kTokenRange, "a tool result above this is put away"},
    {"tool_result_tokens.*", "integer", kTokenRange, "the same for one tool: its name for *"},
    {"never", "list", kListRange, "tools whose results always stay"},
    {"always", "list", kListRange, "tools whose results are always put away"},
    {"human_message_tokens", "integer", kTokenRange, "a human message above this is put away"},
    {"item_window_share", "fraction", kShareRange, "no item may take more of the window than this"},
    {"trigger", "fraction", kShareRange, "share of the window at which a late pass begins"},
    {"keep", "fraction", kShareRange, "share of the window, the newest, that a late pass leaves"},
    {"trigger_tokens", "integer", kTokenRange, "where a late pass begins, window unknown"},
    {"keep_messages", "integer", "1 to 100000",
     "newest messages that a summary leaves, window unknown"},
    {"argument_chars", "integer", kTokenRange,
     "a text argument of an old call above this is put away"},
    {"argument_tools", "list", kListRange, "tools whose old arguments may be put away"},
    {"old_results", "choice", "on or off", "old results may become one line with a path"},
    {"summariser", "text", "client, extract, or a command of 1 to 4096 bytes",
     "who writes summaries"},
    {"summariser_window", "integer", "0 (the session's), or 4000 to 1000000000",
     "tokens that one request to the summariser may have"},
    {"image_bytes", "integer", "0 (the provider's) to 1000000000000",
     "media that a request may carry, as base64"},
    {"host_limit", "object", "members characters, bytes, lines, each 0 (none) to 1000000000000",
     "what the host of the agent shows of a result"},
    {"size_rule", "choice", "class or chars4", "how the size of one item is counted"},
    {"preview_head", "integer", kPreviewRange, "first lines in a preview"},
    {"preview_tail", "integer", kPreviewRange, "last lines in a preview"},
    {"read_limit", "integer", "1 to 100000", "lines of a page when the reader names no limit"},
    {"page_tokens", "integer", "100 to 1000000", "tokens of a page at most"},
    {"grep_max_count", "integer", "1 to 100000", "hits of a search when it names no limit"},
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

// JSON has a word of its own for it.
bool set_switch(bool& target, const Json& value) {
  if (value.is(Json::Kind::boolean)) {
    target = value.boolean;
    return true;
  }
  if (!value.is(Json::Kind::string) || (value.text != "on" && value.text != "off")) return false;
  target = value.text == "on";
  return true;
}

bool set_command(std::string& target, const Json& value) {
  if (!value.is(Json::Kind::string) || value.text.size() > kMaxCommandBytes ||
      value.text.find_first_not_of(" \t\n") == std::string::npos ||
      value.text.find('\0') != std::string::npos) {
    return false;
  }
  target = value.text;
  return true;
}

bool set_summariser_window(uint64_t& target, const Json& value) {
  uint64_t window = 0;
  if (!set_number(window, value, 0, kMaxTokens)) return false;
  if (window > 0 && window < kMinSummariserWindow) return false;
  target = window;
  return true;
}

// Settings of the late pass; nullopt: another one.
std::optional<bool> set_pass_value(Settings& s, std::string_view name, const Json& v) {
  if (name == "trigger") return set_share(s.trigger, v);
  if (name == "keep") return set_share(s.keep, v);
  if (name == "trigger_tokens") return set_number(s.trigger_tokens, v, 1, kMaxTokens);
  if (name == "keep_messages") return set_number(s.keep_messages, v, 1, limits::kMessages);
  if (name == "argument_chars") return set_number(s.argument_chars, v, 1, kMaxTokens);
  if (name == "argument_tools") return set_list(s.argument_tools, v);
  if (name == "old_results") return set_switch(s.old_results, v);
  if (name == "summariser") return set_command(s.summariser, v);
  if (name == "summariser_window") return set_summariser_window(s.summariser_window, v);
  if (name == "image_bytes") return set_number(s.image_bytes, v, 0, kMaxImageBytes);
  return std::nullopt;
}

bool set_value(Settings& s, std::string_view name, const Json& v) {
  if (name == "tool_result_tokens") return set_number(s.tool_result_tokens, v, 1, kMaxTokens);
  if (name == "human_message_tokens") return set_number(s.human_message_tokens, v, 1, kMaxTokens);
  if (name == "preview_head") return set_number(s.preview_head, v, 0, kMaxPreviewLines);
  if (name == "preview_tail") return set_number(s.preview_tail, v, 0, kMaxPreviewLines);
  if (name == "read_limit") return set_number(s.read_limit, v, 1, kMaxReadLines);
  if (name == "page_tokens") return set_number(s.page_tokens, v, kMinPageTokens, kMaxPageTokens);
  if (name == "grep_max_count") return set_number(s.grep_max_count, v, 1, kMaxGrepCount);
  if (name == "never") return set_list(s.never, v);
  if (name == "always") return set_list(s.always, v);
  if (name == "item_window_share") return set_share(s.item_window_share, v);
  if (name == "host_limit") return set_host_limit(s.host_limit, v);
  if (name == "size_rule") return set_rule(s.size_rule, v);
  if (const std::optional<bool> set = set_pass_value(s, name, v)) return *set;
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
  const bool words = info->kind == "list" || info->kind == "choice" || info->kind == "text";
  if (!value && words) {
    value = bare_words(info->kind, json);
  }
  if (!value || !set_value(settings, name, *value)) return refuse(*info, name, json);
  return {};
}

Result<void> check_settings(const Settings& settings) {
  if (settings.keep + limits::kRelief < settings.trigger) return {};
  return fail(Code::invalid_params,
              fmt::format("settings keep {} and trigger {} leave a late pass nothing to do: keep "
                          "must be smaller than trigger by more than {}",
                          settings.keep, settings.trigger, limits::kRelief));
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
      {"trigger", JsonWriter().number(s.trigger).take()},
      {"keep", JsonWriter().number(s.keep).take()},
      {"trigger_tokens", std::to_string(s.trigger_tokens)},
      {"keep_messages", std::to_string(s.keep_messages)},
      {"argument_chars", std::to_string(s.argument_chars)},
      {"argument_tools", json_list(s.argument_tools)},
      {"old_results", s.old_results ? "\"on\"" : "\"off\""},
      {"summariser", JsonWriter().string(s.summariser).take()},
      {"summariser_window", std::to_string(s.summariser_window)},
      {"image_bytes", std::to_string(s.image_bytes)},
      {"host_limit", json_host_limit(s.host_limit)},
      {"size_rule", s.size_rule == SizeRule::classes ? "\"class\"" : "\"chars4\""},
      {"preview_head", std::to_string(s.preview_head)},
      {"preview_tail", std::to_string(s.preview_tail)},
      {"read_limit", std::to_string(s.read_limit)},
      {"page_tokens", std::to_string(s.page_tokens)},
      {"grep_max_count", std::to_string(s.grep_max_count)},
  };
  for (const auto& [tool, tokens] : s.tool_tokens) {
    out[std::string(kToolPrefix) + tool] = std::to_string(tokens);
  }
  return out;
}

}  // namespace ebla::context
