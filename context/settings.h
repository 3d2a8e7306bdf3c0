// The settings of the context engine: one table of names, defaults and ranges. A session's own
// settings lie over the daemon's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "schema/base/limits.h"
#include "schema/base/result.h"

namespace ebla::context {

enum class SizeRule : uint8_t { classes, chars4 };

struct HostLimit {  // what the host of the agent shows at most; 0: no limit
  uint64_t characters = 0;
  uint64_t bytes = 0;
  uint64_t lines = 0;
};

struct Settings {
  uint64_t tool_result_tokens = limits::kToolResultTokens;
  std::map<std::string, uint64_t> tool_tokens;  // tool_result_tokens.TOOL
  std::set<std::string> never;                  // tools whose results always stay
  std::set<std::string> always;                 // tools whose results always go
  uint64_t human_message_tokens = limits::kHumanMessageTokens;
  double item_window_share = 0.25;
  double trigger = 0.85;  // share of the window at which a late pass begins
  double keep = 0.10;     // share of the window that late steps leave alone
  uint64_t trigger_tokens = limits::kTriggerTokens;  // where the window is unknown
  uint64_t keep_messages = limits::kKeepMessages;    // tail where the window is unknown
  uint64_t argument_chars = limits::kArgumentChars;
  std::set<std::string> argument_tools = {"write_file", "edit_file"};
  bool old_results = true;
  std::string summariser = "extract";  // client, extract, or a command for `sh -c`
  uint64_t summariser_window = 0;      // tokens of the summariser's own window; 0: the session's
  uint64_t image_bytes = 0;            // byte budget of media in a request; 0: the provider's
  HostLimit host_limit;
  SizeRule size_rule = SizeRule::classes;
  uint64_t preview_head = limits::kPreviewLines;
  uint64_t preview_tail = limits::kPreviewLines;
  uint64_t read_limit = limits::kReadLines;
  uint64_t page_tokens = limits::kPageTokens;
  uint64_t grep_max_count = limits::kGrepMaxCount;
};

struct SettingInfo {
  std::string_view name;   // "tool_result_tokens.*" stands for the per-tool ones
  std::string_view kind;   // integer, fraction, list, choice, text, object
  std::string_view range;  // as an error shows it: "1 to 100000000"
  std::string_view help;
};
std::span<const SettingInfo> setting_table();

// Sets one by name from the JSON text of its value. invalid_params names setting, value and range.
Result<void> apply_setting(Settings& settings, std::string_view name, std::string_view json);
// invalid_params with the numbers: settings that are fit each by itself and cannot work together.
Result<void> check_settings(const Settings& settings);
// Daemon's settings with a session's own ones over them. Not checked together: what a session was
// given stays readable when the daemon's change under it; a pass checks.
Result<Settings> with_session(const Settings& base, const std::map<std::string, std::string>& own);
// Name to JSON text, sorted by name: what session.open and status show.
std::map<std::string, std::string> to_json_map(const Settings& settings);

}  // namespace ebla::context
