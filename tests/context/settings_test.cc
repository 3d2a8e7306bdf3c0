#include "context/settings.h"

#include <gtest/gtest.h>

#include "schema/base/json.h"

namespace ebla::context {
namespace {

std::string refused(std::string_view name, std::string_view json) {
  Settings settings;
  const auto before = to_json_map(settings);
  const Result<void> result = apply_setting(settings, name, json);
  EXPECT_FALSE(result) << name << " = " << json;
  EXPECT_EQ(to_json_map(settings), before);
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::invalid_params);
  return result.error().text;
}

TEST(Settings, Defaults) {
  const auto map = to_json_map(Settings{});
  EXPECT_EQ(map.at("tool_result_tokens"), "20000");
  EXPECT_EQ(map.at("human_message_tokens"), "50000");
  EXPECT_EQ(map.at("item_window_share"), "0.25");
  EXPECT_EQ(map.at("host_limit"), "{}");
  EXPECT_EQ(map.at("size_rule"), "\"class\"");
  EXPECT_EQ(map.at("preview_head"), "5");
  EXPECT_EQ(map.at("preview_tail"), "5");
  EXPECT_EQ(map.at("read_limit"), "100");
  EXPECT_EQ(map.at("page_tokens"), "8000");
  EXPECT_EQ(map.at("grep_max_count"), "1000");
  EXPECT_EQ(map.at("never"), "[]");
  EXPECT_EQ(map.at("trigger"), "0.85");
  EXPECT_EQ(map.at("keep"), "0.1");
  EXPECT_EQ(map.at("trigger_tokens"), "170000");
  EXPECT_EQ(map.at("keep_messages"), "6");
  EXPECT_EQ(map.at("argument_chars"), "2000");
  EXPECT_EQ(map.at("argument_tools"), R"(["edit_file","write_file"])");
  EXPECT_EQ(map.at("old_results"), "\"on\"");
  EXPECT_EQ(map.at("summariser"), "\"extract\"");
  EXPECT_EQ(map.at("summariser_window"), "0");
  EXPECT_EQ(map.at("image_bytes"), "0");
}

TEST(Settings, ReadBackWhatWasSet) {
  Settings s;
  const std::map<std::string, std::string> values = {
      {"tool_result_tokens", "2000"},
      {"tool_result_tokens.web_search", "500"},
      {"tool_result_tokens.a.b", "7"},
      {"never", R"(["ls","task"])"},
      {"always", R"(["dump"])"},
      {"human_message_tokens", "1"},
      {"item_window_share", "0.5"},
      {"host_limit", R"({"bytes":10000,"lines":256})"},
      {"size_rule", "\"chars4\""},
      {"preview_head", "0"},
      {"preview_tail", "50"},
      {"read_limit", "500"},
      {"page_tokens", "1000"},
      {"grep_max_count", "7"},
      {"trigger", "0.5"},
      {"keep", "0.25"},
      {"trigger_tokens", "3000"},
      {"keep_messages", "3"},
      {"argument_chars", "500"},
      {"argument_tools", R"(["put"])"},
      {"old_results", "\"off\""},
      {"summariser", R"("jq -r .prompt | llm \"-m\" x")"},
      {"summariser_window", "32000"},
      {"image_bytes", "20000000"}};
  for (const auto& [name, json] : values) ASSERT_TRUE(apply_setting(s, name, json)) << name;
  EXPECT_EQ(to_json_map(s), values);
  EXPECT_EQ(s.tool_tokens.at("web_search"), 500u);
  EXPECT_EQ(s.host_limit.lines, 256u);
  EXPECT_EQ(s.size_rule, SizeRule::chars4);
}

TEST(Settings, BareWordsOfAConfigurationFile) {
  Settings s;
  ASSERT_TRUE(apply_setting(s, "size_rule", "chars4"));
  ASSERT_TRUE(apply_setting(s, "never", "read_file, grep,"));
  EXPECT_EQ(s.size_rule, SizeRule::chars4);
  EXPECT_EQ(s.never, (std::set<std::string>{"read_file", "grep"}));
  ASSERT_TRUE(apply_setting(s, "old_results", "off"));
  EXPECT_FALSE(s.old_results);
  ASSERT_TRUE(apply_setting(s, "old_results", "true"));
  EXPECT_TRUE(s.old_results);
  ASSERT_TRUE(apply_setting(s, "summariser", "[ -x /bin/s ] && /bin/s --short"));
  EXPECT_EQ(s.summariser, "[ -x /bin/s ] && /bin/s --short");
}

TEST(Settings, WhatCannotWorkTogetherIsRefusedWithTheNumbers) {
  Settings s;
  EXPECT_TRUE(check_settings(s));
  s.keep = 0.79;
  EXPECT_TRUE(check_settings(s));
  s.keep = 0.81;
  ASSERT_FALSE(check_settings(s));
  EXPECT_EQ(check_settings(s).error().code, Code::invalid_params);
  EXPECT_EQ(check_settings(s).error().text,
            "settings keep 0.81 and trigger 0.85 leave a late pass nothing to do: keep must be "
            "smaller than trigger by more than 0.05");
  s.keep = 0.1;
  s.trigger = 0.1;
  EXPECT_FALSE(check_settings(s));
  s.trigger = 0.16;
  EXPECT_TRUE(check_settings(s));
}

TEST(Settings, ErrorsNameSettingValueAndRange) {
  EXPECT_EQ(refused("tool_result_tokens", "0"),
            "setting tool_result_tokens cannot be 0: it takes 1 to 1000000000");
  EXPECT_EQ(refused("size_rule", "\"words\""),
            "setting size_rule cannot be \"words\": it takes class or chars4");
  EXPECT_EQ(refused("tool_result_token", "5"), "unknown setting tool_result_token");
  for (auto [name, json] : std::vector<std::pair<const char*, const char*>>{
           {"tool_result_tokens", "-1"},
           {"tool_result_tokens", "1.5"},
           {"tool_result_tokens", "\"20000\""},
           {"tool_result_tokens", "99999999999999999999"},
           {"tool_result_tokens", ""},
           {"tool_result_tokens", "null"},
           {"tool_result_tokens.", "5"},
           {"tool_result_tokens.*", "0"},
           {"item_window_share", "0"},
           {"item_window_share", "1.2"},
           {"item_window_share", "-0.1"},
           {"item_window_share", "NaN"},
           {"preview_head", "51"},
           {"read_limit", "0"},
           {"page_tokens", "99"},
           {"never", "[1]"},
           {"never", "{}"},
           {"never", "[\"\"]"},
           {"host_limit", "{\"words\":5}"},
           {"host_limit", "{\"bytes\":-5}"},
           {"host_limit", "5"},
           {"trigger", "0"},
           {"trigger", "1.2"},
           {"trigger", "\"0.5\""},
           {"keep", "-1"},
           {"keep", "1.01"},
           {"trigger_tokens", "0"},
           {"keep_messages", "0"},
           {"keep_messages", "100001"},
           {"argument_chars", "0"},
           {"argument_tools", "5"},
           {"old_results", "1"},
           {"old_results", "maybe"},
           {"summariser", ""},
           {"summariser", "\" \""},
           {"summariser", "[\"a\"]"},
           {"summariser", R"("a\u0000b")"},
           {"summariser_window", "3999"},
           {"image_bytes", "-1"},
           {"size_rule", "1"},
           {"size_rule", "words"}}) {
    EXPECT_FALSE(refused(name, json).empty());
  }
  EXPECT_LT(refused("size_rule", std::string(5000, 'x')).size(), 200u);
  EXPECT_EQ(refused("a\x1b[31m", "1").find('\x1b'), std::string::npos);
}

TEST(Settings, SessionLiesOverTheDaemon) {
  Settings base;
  base.tool_result_tokens = 7;
  base.tool_tokens["x"] = 8;
  const auto own = with_session(
      base, {{"tool_result_tokens.y", "9"}, {"preview_head", "2"}, {"preview_tail", "null"}});
  ASSERT_TRUE(own);
  EXPECT_EQ(own->tool_result_tokens, 7u);
  EXPECT_EQ(own->tool_tokens, (std::map<std::string, uint64_t>{{"x", 8}, {"y", 9}}));
  EXPECT_EQ(own->preview_head, 2u);
  EXPECT_EQ(own->preview_tail, 5u);
  EXPECT_FALSE(with_session(base, {{"nonsense", "1"}}));
}

TEST(Settings, TableNamesEverySettingOnce) {
  std::set<std::string> names;
  for (const SettingInfo& info : setting_table()) {
    EXPECT_TRUE(names.insert(std::string(info.name)).second);
    EXPECT_FALSE(info.range.empty());
    EXPECT_FALSE(info.help.empty());
  }
  for (const auto& [name, json] : to_json_map(Settings{})) EXPECT_TRUE(names.contains(name));
  EXPECT_EQ(names.size(), to_json_map(Settings{}).size() + 1);
}

}  // namespace
}  // namespace ebla::context
