// Bodies that are no good: one error with the place, never a crash.
#include <gtest/gtest.h>

#include "context/formats/json_tree.h"
#include "context/list/identity.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "tests/context/formats/histories.h"

namespace ebla::context {
namespace {

Error fault_of(std::string_view body, FormatId format = FormatId::anthropic) {
  const auto conversation = format_of(format).parse(body);
  EXPECT_FALSE(conversation) << body;
  return conversation ? Error{} : conversation.error();
}

TEST(Faults, NameThePlace) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {R"({"messages":[{"role":"user","content":"\q"}]})", "messages[0].content: "},
      {R"({"messages":[{"role":"user","content":"\u12g4"}]})", "messages[0].content: "},
      {R"({"messages":[{"role":"user"},{"role":"user","content":[{"type":"text","text":01}]}]})",
       "messages[1].content[0].text: "},
      {R"({"messages":[{"role":"user","content":nul}]})", "messages[0].content: "},
      {R"({"messages":[{"role":"user","content":"a"b}]})", "messages[0]"},
      {R"({"messages":[{"role":"user"},7]})", "messages[1]: must be an object"},
      {R"({"messages":[{"content":"a"}]})", "messages[0]: role is missing"},
      {R"({"messages":{}})", "messages: must be a list"},
      {R"({"message":[]})", "messages: missing"},
      {R"("text")", "the request"},
      {R"({"messages":[]} x)", "the request"},
      {R"({"messages":[)", ""},
      {"", ""},
      {"\xef\xbb\xbf{\"messages\":[]}", ""},
      {"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", ""},
      {"{\"messages\":[{\"role\":\"user\",\"content\":\"\n\"}]}", ""},
  };
  for (const auto& [body, place] : kCases) {
    const Error error = fault_of(body);
    EXPECT_EQ(error.code, Code::invalid_params) << body;
    EXPECT_TRUE(error.text.starts_with(place)) << error.text << " for " << body;
  }
}

TEST(Faults, DepthAndCountsAreLimited) {
  const std::string deep = R"({"messages":)" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_EQ(fault_of(deep).code, Code::invalid_params);
  EXPECT_EQ(fault_of(std::string(5'000'000, '[')).code, Code::invalid_params);
  std::string many = "[";
  for (size_t i = 0; i <= limits::kMessages; ++i) many += R"({"role":"user","content":"a"},)";
  many.back() = ']';
  EXPECT_EQ(fault_of(many).code, Code::too_large);
  std::string values = "[";
  for (size_t i = 0; i <= limits::kJsonValues; ++i) values += "1,";
  values.back() = ']';
  EXPECT_EQ(fault_of(values).code, Code::too_large);
}

TEST(Faults, WhatIsNoListSaysSo) {
  for (const auto& [body, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"5", "neither a list of messages"},
           {"\"x\"", "neither a list of messages"},
           {"null", "neither a list of messages"},
           {"\xef\xbb\xbf[]", "byte order mark"},
           {R"([{"role":"user","content":"x"},5])", "messages[1]"}}) {
    const auto read = parse_any(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, Code::invalid_params);
    EXPECT_NE(read.error().text.find(wanted), std::string::npos) << read.error().text;
  }
}

// Any byte of a body lost, doubled or changed: an answer, and the same from both ways of reading.
TEST(Faults, DamagedBodies) {
  for (uint32_t round = 0; round < 400; ++round) {
    std::mt19937 random(round);
    const test::Dialect dialect = test::kDialects[round % std::size(test::kDialects)];
    const test::History history = test::random_history(random, {.steps = 6});
    const std::string before = test::request_of(test::messages_of(history, dialect), dialect);
    std::string body = before;
    const size_t at = test::below(random, body.size());
    switch (test::below(random, 3)) {
      case 0:
        body.erase(at, 1 + test::below(random, 3));
        break;
      case 1:
        body.insert(at, 1, body[test::below(random, body.size())]);
        break;
      default:
        body[at] = static_cast<char>(random());
    }
    const Format& format = format_of(test::format_id(dialect));
    const auto all = format.parse(body);
    const auto on = parse_after(format, body, common_prefix(body, before), *format.parse(before));
    ASSERT_EQ(all.has_value(), on.has_value()) << body;
    const auto detected = parse_any(body);
    const auto detected_on = parse_any_after(body, common_prefix(body, before), *parse_any(before));
    ASSERT_EQ(detected.has_value(), detected_on.has_value()) << body;
    if (detected) {
      ASSERT_EQ(detected->format, detected_on->format) << body;
    }
    // What one reader of JSON takes the other takes too.
    if (parse_json(body).has_value()) {
      EXPECT_TRUE(JsonTree::read(body)) << body;
    } else {
      EXPECT_FALSE(all) << body;
    }
    if (!all) {
      EXPECT_EQ(all.error().text, on.error().text);
      continue;
    }
    ASSERT_EQ(all->messages.size(), on->messages.size());
    for (size_t m = 0; m < all->messages.size(); ++m) {
      ASSERT_EQ(all->messages[m].identity, on->messages[m].identity);
      ASSERT_EQ(all->messages[m].span, on->messages[m].span);
    }
  }
}

TEST(CanonicalJson, OneForm) {
  EXPECT_EQ(
      canonical_json(R"( { "b" : [ 1.0 , 1e2 , -0 , true , null ] , "a" : "\u0041\/\u000a" } )"),
      R"({"a":"A/\n","b":[1.0,1e2,-0,true,null]})");
  EXPECT_EQ(canonical_json(R"({"a":1,"a":2})"), R"({"a":2})");
  EXPECT_EQ(canonical_json(R"({"a":"\u0000\"\\"})"), R"({"a":"\u0000\"\\"})");
  EXPECT_EQ(canonical_json(R"({"a":"\ud800"})"), "{\"a\":\"\xed\xa0\x80\"}");
  EXPECT_EQ(canonical_json(R"({"a":"\ud83d\ude80"})"), "{\"a\":\"\xf0\x9f\x9a\x80\"}");
  EXPECT_EQ(canonical_json("[]"), "[]");
  EXPECT_EQ(canonical_json("{}"), "{}");
  EXPECT_EQ(canonical_json("*** Begin Patch"), "*** Begin Patch");
}

TEST(Detection, NothingFits) {
  const auto format = detect_format(R"({"prompt":"x"})");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().code, Code::invalid_params);
  EXPECT_EQ(find_format("gemini"), nullptr);
  EXPECT_EQ(find_format("langchain"), &format_of(FormatId::langchain));
}

TEST(Detection, OneStringIsAResponsesRequest) {
  const std::string body = R"({"model":"gpt-5","input":"do \"it\""})";
  const Conversation c = *parse_any(body);
  ASSERT_EQ(c.format, FormatId::responses);
  ASSERT_EQ(c.messages.size(), 1u);
  EXPECT_EQ(text_of(body, c.messages[0].parts[0]), "do \"it\"");
  const PartEdit edit{.part = 0, .what = PartEdit::What::content, .argument = {}, .text = "short"};
  const Splice one{0, 1, {format_of(c.format).edit(body, c.messages[0], {&edit, 1})}};
  EXPECT_EQ(apply_splices(body, c, {&one, 1}), R"({"model":"gpt-5","input":"short"})");
  const Splice front{0, 0, {format_of(c.format).user_message(c, "before")}};
  const Conversation d = *parse_any(apply_splices(body, c, {&front, 1}));
  ASSERT_EQ(d.messages.size(), 2u);
  EXPECT_EQ(d.messages[1].identity, c.messages[0].identity);
}

}  // namespace
}  // namespace ebla::context
