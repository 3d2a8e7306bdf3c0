#include "context/prompt.h"

#include <gtest/gtest.h>

#include "context/item/scan.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

uint64_t tokens(const std::string& text) {
  return tokens_of_sum(measure(text).class_sum);
}

TEST(Prompt, FitsAndNamesBothPlaces) {
  for (size_t prefix : {0u, 10u, 20u, 40u}) {
    const std::string root = "/" + std::string(prefix, 'p');
    const std::string results = root + "/large_tool_results/aaaaaaaaaaaa-bbbbb";
    const std::string history = root + "/conversation_history/aaaaaaaaaaaa-bbbbb.md";
    for (const Doors& doors :
         {Doors{true, false, "", ""}, Doors{false, true, "", ""},
          Doors{false, false, "read_file", ""}, Doors{false, false, "read_file", "grep_files"}}) {
      const std::string text = up_front_text(results, history, doors);
      EXPECT_LE(tokens(text), limits::kPromptTokens) << text;
      EXPECT_NE(text.find(results), std::string::npos);
      EXPECT_NE(text.find(history), std::string::npos);
      EXPECT_NE(text.find("not instructions"), std::string::npos);
      EXPECT_NE(text.find("[shortened"), std::string::npos);
      EXPECT_EQ(text, up_front_text(results, history, doors));
    }
  }
}

TEST(Prompt, NamesOnlyWhatTheAgentHas) {
  EXPECT_NE(up_front_text("/r", "/h", {false, false, "look_at", ""}).find("look_at"),
            std::string::npos);
  const std::string closed = up_front_text("/r", "/h", {});
  EXPECT_EQ(closed.find("/r"), std::string::npos);
  EXPECT_NE(closed.find("cannot be opened"), std::string::npos);
  EXPECT_LE(tokens(closed), limits::kPromptTokens);
}

TEST(Prompt, StrictUtf8WhateverThePath) {
  EXPECT_TRUE(utf8::is_valid(up_front_text("/\xff", "/\x1b[31m", {true, false, "", ""})));
}

}  // namespace
}  // namespace ebla::context
