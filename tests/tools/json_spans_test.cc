// Members and items by their bytes: one goes, every other byte stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/base/json.h"
#include "tools/json_spans.h"

namespace ebla::tools {
namespace {

using testing::ElementsAre;

std::string without(std::string_view object, std::string_view name) {
  const auto members = member_spans(object);
  EXPECT_TRUE(members) << object;
  return members ? without_member(object, *members, name) : "";
}

TEST(JsonSpans, MembersKeepTheirBytes) {
  const auto members = member_spans(
      "  {\"a\" : [1, {\"b\":\"]}\\\"\"}] ,\n\"\\u0062\":1.0e2, \"a\":null,\"\":{}} \n");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 4U);
  EXPECT_EQ((*members)[0].value, "[1, {\"b\":\"]}\\\"\"}]");
  EXPECT_EQ((*members)[1].name, "b");
  EXPECT_EQ((*members)[1].whole, "\"\\u0062\":1.0e2");
  EXPECT_EQ(find_span(*members, "a")->value, "null") << "the last of equal names";
  EXPECT_EQ(find_span(*members, "")->value, "{}");
  EXPECT_EQ(find_span(*members, "c"), nullptr);
}

TEST(JsonSpans, ItemsKeepTheirBytes) {
  const auto items = item_spans(" [ {\"a\":\"中,\"} , 1.0,\"x]\",[] ] ");
  ASSERT_TRUE(items);
  EXPECT_THAT(*items, ElementsAre("{\"a\":\"中,\"}", "1.0", "\"x]\"", "[]"));
  EXPECT_TRUE(item_spans("[]")->empty());
}

TEST(JsonSpans, WhatIsCutOffOrFollowedByMoreIsRefused) {
  for (const char* text : {"", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{\"a\":1} {}",
                           "[]", "{\"a\":\"x}", "{\"a\":[}", "{a:1}", "{\"a\" 1}", "{\"a\":\"\\"}) {
    EXPECT_FALSE(member_spans(text)) << text;
  }
  for (const char* text : {"", "[", "[1", "[1,]", "[1] 2", "{}", "[,1]", "[\"\\"}) {
    EXPECT_FALSE(item_spans(text)) << text;
  }
}

TEST(JsonSpans, AMemberGoesWithOneCommaWhereverItStands) {
  EXPECT_EQ(without("{\"w\":1, \"a\":2}", "w"), "{\"a\":2}");
  EXPECT_EQ(without("{\"a\":2 , \"w\":1 }", "w"), "{\"a\":2 }");
  EXPECT_EQ(without("{\"a\":2,\n \"w\":1,\n \"b\":3}", "w"), "{\"a\":2,\n \"b\":3}");
  EXPECT_EQ(without("{ \"w\":1 }", "w"), "{  }");
  EXPECT_EQ(without("{\"w\":1,\"w\":2,\"a\":{\"w\":3},\"w\":4,\"w\":5}", "w"), "{\"a\":{\"w\":3}}");
  EXPECT_EQ(without("{\"a\":1.0}", "w"), "{\"a\":1.0}");
  // For every set of places the rest is whole.
  for (unsigned places = 0; places < 64; ++places) {
    std::string object = "{";
    std::string rest;
    for (unsigned i = 0; i < 6; ++i) {
      const bool goes = ((places >> i) & 1U) != 0;
      object += (i > 0 ? "," : "") + std::string(goes ? "\"w\":0" : "\"k\":1");
      rest += goes ? "" : std::string(rest.empty() ? "" : ",") + "\"k\":1";
    }
    EXPECT_EQ(without(object + "}", "w"), "{" + rest + "}") << object;
  }
}

}  // namespace
}  // namespace ebla::tools
