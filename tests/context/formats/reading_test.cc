// What each format's bodies say, and that one conversation is the same in all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "context/formats/format.h"
#include "context/list/identity.h"
#include "context/text/tokens.h"

namespace ebla::context {
namespace {

Conversation parsed(std::string_view body, FormatId expected) {
  auto conversation = parse_any(body);
  EXPECT_TRUE(conversation) << (conversation ? "" : conversation.error().text);
  if (!conversation) return {};
  EXPECT_EQ(conversation->format, expected);
  return std::move(*conversation);
}

constexpr std::string_view kAnthropic = R"({"model":"claude-sonnet-4-5","max_tokens":4096,
 "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
 "tools":[{"name":"read_file","input_schema":{"type":"object"}}],
 "messages":[
  {"role":"user","content":"Look at \u00e9t\u00e9."},
  {"role":"assistant","content":[
    {"type":"thinking","thinking":"hm","signature":"abc"},
    {"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"/a","n": 1.0}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","is_error":true,
    "content":[{"type":"text","text":"one"},{"type":"text","text":"two"},
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}],
    "cache_control":{"type":"ephemeral"}}]},
  {"role":"assistant","content":[{"type":"text","text":"Done."}]}]})";

constexpr std::string_view kOpenAi = R"({"messages":[
  {"role":"user","content":[{"type":"text","text":"Look at été."}]},
  {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",
    "function":{"name":"read_file","arguments":"{ \"n\": 1.0, \"path\": \"\\/a\" }"}}]},
  {"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"one\ntwo"},
    {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
  {"role":"assistant","content":"Done."}],
 "model":"gpt-5","max_completion_tokens":1000,"tools":[{"type":"function","function":{"name":"read_file"}}]})";

constexpr std::string_view kResponses = R"({"model":"gpt-5","instructions":"Be brief.","input":[
  {"role":"user","content":[{"type":"input_text","text":"Look at \u00e9té."}]},
  {"type":"function_call","id":"fc_9","call_id":"call_1","name":"read_file","status":"completed",
   "arguments":"{\"path\":\"/a\",\"n\":1.0}"},
  {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"one\ntwo"},
   {"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[]}]}],
 "max_output_tokens":500})";

constexpr std::string_view kPlainChain = R"([
  {"type":"human","content":"Look at été.","id":"x1"},
  {"type":"ai","content":"","tool_calls":[{"name":"read_file","args":{"n":1.0,"path":"/a"},"id":"call_1","type":"tool_call"}]},
  {"type":"tool","tool_call_id":"call_1","status":"error","artifact":[],"content":["one\ntwo",
    {"type":"image","source_type":"base64","mime_type":"image/png","data":"iVBORw0KGgo="}]},
  {"type":"ai","content":"Done.","usage_metadata":{"input_tokens":1}}])";

constexpr std::string_view kDataChain = R"({"messages":[
  {"type":"human","data":{"content":"Look at été.","type":"human"}},
  {"type":"ai","data":{"content":[{"type":"tool_use","id":"call_1","name":"read_file","input":{}}],
    "tool_calls":[{"name":"read_file","args":{"n":1.0,"path":"/a"},"id":"call_1"}]}},
  {"type":"tool","data":{"tool_call_id":"call_1","content":["one\ntwo",
    {"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgo="}]}},
  {"type":"ai","data":{"content":"Done."}}]})";

constexpr std::string_view kClassChain = R"([
  {"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],
   "kwargs":{"content":"Look at été."}},
  {"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],
   "kwargs":{"content":"","additional_kwargs":{"tool_calls":[{"id":"call_1","function":
     {"name":"read_file","arguments":"{\"path\": \"/a\", \"n\": 1.0}"},"type":"function"}]}}},
  {"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],
   "kwargs":{"tool_call_id":"call_1","content":["one\ntwo",
    {"type":"image","base64":"iVBORw0KGgo=","mime_type":"image/png"}]}},
  {"lc":1,"type":"constructor","id":["langchain_core","messages","ai","AIMessage"],
   "kwargs":{"content":"Done."}}])";

TEST(Formats, OneConversationIsTheSameInAll) {
  const Conversation first = parsed(kAnthropic, FormatId::anthropic);
  ASSERT_EQ(first.messages.size(), 4u);
  const std::pair<std::string_view, FormatId> kOthers[] = {
      {kOpenAi, FormatId::openai},        {kResponses, FormatId::responses},
      {kPlainChain, FormatId::langchain}, {kDataChain, FormatId::langchain},
      {kClassChain, FormatId::langchain},
  };
  for (const auto& [body, format] : kOthers) {
    const Conversation other = parsed(body, format);
    ASSERT_EQ(other.messages.size(), 4u) << body;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(other.messages[i].identity, first.messages[i].identity)
          << "message " << i << " of " << format_name(format) << "\n"
          << body;
      EXPECT_EQ(other.messages[i].role, first.messages[i].role);
    }
    EXPECT_EQ(other.messages[2].parts[0].tool, "read_file");
    EXPECT_TRUE(format_of(format).breaches(body, other).empty());
  }
}

TEST(Formats, PartsOfAnAnthropicRequest) {
  const Conversation c = parsed(kAnthropic, FormatId::anthropic);
  EXPECT_TRUE(c.whole_request);
  EXPECT_EQ(c.model, "claude-sonnet-4-5");
  EXPECT_EQ(c.max_output, 4096u);
  EXPECT_GT(c.overhead_tokens, 10u);
  EXPECT_EQ(text_of(kAnthropic, c.messages[0].parts[0]), "Look at été.");
  ASSERT_EQ(c.messages[1].parts.size(), 2u);
  EXPECT_EQ(c.messages[1].parts[0].kind, PartKind::reasoning);
  EXPECT_EQ(c.messages[1].parts[1].kind, PartKind::tool_call);
  EXPECT_EQ(text_of(kAnthropic, c.messages[1].parts[1]), R"({"n":1.0,"path":"/a"})");
  ASSERT_EQ(c.messages[2].parts.size(), 2u);
  EXPECT_EQ(c.messages[2].role, Role::tool);
  const Part& result = c.messages[2].parts[0];
  EXPECT_TRUE(result.error);
  EXPECT_EQ(result.tool, "read_file");
  EXPECT_EQ(text_of(kAnthropic, result), "one\ntwo");
  EXPECT_EQ(result.facts.bytes, 7u);
  EXPECT_EQ(result.facts.hash, xxh3_128("one\ntwo"));
  EXPECT_EQ(c.messages[2].parts[1].kind, PartKind::image);
  EXPECT_EQ(c.messages[2].parts[1].media_type, "image/png");
  EXPECT_EQ(media_bytes(kAnthropic, c.messages[2].parts[1]).value_or(""), "\x89PNG\r\n\x1a\n");
}

TEST(Formats, ReplacedResultKeepsAllElse) {
  const Conversation c = parsed(kAnthropic, FormatId::anthropic);
  const PartEdit edit{
      .part = 0, .what = PartEdit::What::content, .argument = {}, .text = "gone \"x\""};
  const std::string out = format_of(c.format).edit(kAnthropic, c.messages[2], {&edit, 1});
  EXPECT_EQ(
      out,
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","is_error":true,
    "content":[{"type":"text","text":"gone \"x\""},
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}],
    "cache_control":{"type":"ephemeral"}}]})");
}

TEST(Formats, MediaOfProvidersAndServersAreMedia) {
  constexpr std::string_view kPng = "iVBORw0KGgo=";
  const std::string big(40'000, 'A');  // base64 of an image that a model made
  const std::string body = R"({"input":[{"role":"user","content":"a"},
    {"type":"image_generation_call","id":"ig","status":"completed","result":")" +
                           big + R"("},
    {"type":"function_call","call_id":"1","name":"t","arguments":"{}"},
    {"type":"function_call_output","call_id":"1","output":[{"type":"image","mimeType":"image/png",
       "data":")" + std::string(kPng) +
                           R"("}]},
    {"type":"computer_call","call_id":"2","action":{}},
    {"type":"computer_call_output","call_id":"2","output":{"type":"computer_screenshot",
       "image_url":"data:image/png;base64,iVBORw0KGgo="}}]})";
  const Conversation c = parsed(body, FormatId::responses);
  ASSERT_EQ(c.messages.size(), 6u);
  const Part& made = c.messages[1].parts.at(0);
  EXPECT_EQ(made.kind, PartKind::image);
  EXPECT_LT(c.messages[1].tokens, 2'000u) << "an image, not 40,000 characters";
  EXPECT_EQ(made.facts.bytes, 30'000u);
  EXPECT_EQ(c.messages[3].parts.at(1).kind, PartKind::image);
  EXPECT_EQ(c.messages[3].parts.at(1).media_type, "image/png");
  // No text can stand where these are.
  for (const size_t m : {size_t{1}, size_t{5}}) {
    const Message& message = c.messages[m];
    const size_t image = message.parts.size() - 1;
    EXPECT_TRUE(message.parts[image].immovable);
    const PartEdit edit{
        .part = image, .what = PartEdit::What::content, .argument = {}, .text = "a link"};
    EXPECT_EQ(format_of(c.format).edit(body, message, {&edit, 1}), message.span.of(body));
  }
}

TEST(Formats, ADocumentOfBlocksCountsByItsText) {
  const std::string text(40'000, 'x');
  const std::string body = R"([{"role":"user","content":[{"type":"document","source":
    {"type":"content","content":[{"type":"text","text":")" +
                           text + R"("}]},"citations":{"enabled":true}}]}])";
  const Conversation c = parsed(body, FormatId::anthropic);
  EXPECT_EQ(c.messages[0].parts.at(0).kind, PartKind::unknown);
  EXPECT_GT(c.messages[0].tokens, 4'000u);
}

}  // namespace
// What names the format may come late, and may go again.
TEST(Reading, AListThatGoesOnIsDetectedByAllOfIt) {
  const auto list = [](std::string_view tail) {
    return fmt::format(R"({{"max_tokens":9,"messages":[{{"role":"user","content":"a"}},)"
                       R"({{"role":"assistant","content":"b"}}{}]}})",
                       tail);
  };
  const std::string plain = list("");
  const std::string chat =
      list(R"(,{"role":"user","content":"c"},{"role":"tool","tool_call_id":"1","content":"d"})");
  const std::string blocks =
      list(R"(,{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]})");
  const std::string models = R"({"model":"gpt-5",)" + chat.substr(1);
  const std::vector<std::string> bodies = {plain, chat, blocks, models};
  std::set<FormatId> seen;
  for (const std::string& before : bodies) {
    const auto earlier = parse_any(before);
    ASSERT_TRUE(earlier);
    for (const std::string& after : bodies) {
      const auto on = parse_any_after(after, common_prefix(after, before), *earlier);
      ASSERT_TRUE(on);
      EXPECT_EQ(on->format, parse_any(after)->format) << before << "\n" << after;
      seen.insert(on->format);
      // The next one knows of the messages that this one took over.
      const auto next = parse_any_after(chat, common_prefix(chat, after), *on);
      ASSERT_TRUE(next);
      EXPECT_EQ(next->format, FormatId::openai);
    }
  }
  EXPECT_GE(seen.size(), 2u);
}

// Messages of all kinds and lengths, 5 MB of them, as each format says them.
std::vector<std::string> long_list(FormatId format, size_t bytes) {
  const std::string_view said = format == FormatId::langchain ? "type" : "role";
  std::vector<std::string> list;
  for (size_t i = 0, length = 0; length < bytes; length += list.back().size(), ++i) {
    std::string text = fmt::format("{} \\\"\\u00e9\\n\u6f22", i);
    text.append(i % 40 == 0 ? 100'000 : i * 37 % 5'000, i % 3 == 0 ? ' ' : 'x');
    list.push_back(fmt::format(R"({{"{}":"{}","content":"{}"}})", said,
                               format == FormatId::langchain ? "human" : "user", text));
  }
  return list;
}

std::string joined(const std::vector<std::string>& list) {
  return fmt::format("[{}]", fmt::join(list, " , "));
}

TEST(Formats, ALongListSaysWhatItsMessagesSayAlone) {
  for (const Format* format : formats()) {
    const std::vector<std::string> list = long_list(format->id(), 5'000'000);
    const std::string body = joined(list);
    const auto all = format->parse(body);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->messages.size(), list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const Message& message = all->messages[i];
      ASSERT_EQ(message.span.of(body), list[i]);
      const auto alone = format->parse("[" + list[i] + "]");
      ASSERT_TRUE(alone);
      ASSERT_EQ(message.identity, alone->messages[0].identity) << i;
      ASSERT_EQ(message.bytes_hash, alone->messages[0].bytes_hash) << i;
      ASSERT_EQ(message.tokens, alone->messages[0].tokens) << i;
      ASSERT_EQ(message.parts.size(), 1u) << i;
    }
  }
}

TEST(Formats, TheFirstFaultOfALongListIsTold) {
  for (const Format* format : formats()) {
    std::vector<std::string> list = long_list(format->id(), 5'000'000);
    const size_t last = list.size() - 1;
    for (const size_t fault : {last, last / 2 + 3, last / 3, size_t{0}}) {
      list[fault] = "7";
      const auto read = format->parse(joined(list));
      ASSERT_FALSE(read);
      EXPECT_TRUE(read.error().text.contains(fmt::format("[{}]", fault))) << read.error().text;
    }
  }
}

}  // namespace ebla::context
