#include "context/windows.h"

#include <gtest/gtest.h>

namespace ebla::context {
namespace {

uint64_t window(const WindowTable& table, std::string_view model) {
  const ModelWindow* row = table.find(model);
  return row == nullptr ? 0 : row->window;
}

TEST(Windows, ShippedModels) {
  const WindowTable table = WindowTable::shipped();
  EXPECT_EQ(window(table, "claude-sonnet-4-5-20250929"), 200'000u);
  EXPECT_EQ(window(table, "us.anthropic.claude-opus-4-1-20250805-v1:0"), 200'000u);
  EXPECT_EQ(window(table, "anthropic/claude-haiku-4.5"), 200'000u);
  EXPECT_EQ(window(table, "gpt-4"), 8'192u);
  EXPECT_EQ(window(table, "GPT-4o-mini"), 128'000u);
  EXPECT_EQ(window(table, "gpt-4.1-mini"), 1'047'576u);
  EXPECT_EQ(window(table, "openai/gpt-5.1-codex"), 400'000u);
  EXPECT_EQ(window(table, "o3-mini"), 200'000u);
  EXPECT_EQ(window(table, "models/gemini-2.5-pro"), 1'048'576u);
  for (std::string_view model : {"deepseek-chat", "qwen3-32b", "llama-3.3-70b",
                                 "mistral-large-2411", "kimi-k2-0905-preview", "glm-4.6"}) {
    EXPECT_GT(window(table, model), 100'000u) << model;
  }
  EXPECT_EQ(table.find("some-model"), nullptr);
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(Windows, UserRowsWin) {
  WindowTable table = WindowTable::shipped();
  ASSERT_TRUE(table.add("# mine\n\ngpt-4o 64000 # less\r\nHouse-Model\t32000 1000\n"));
  EXPECT_EQ(window(table, "gpt-4o-mini"), 64'000u);
  EXPECT_EQ(table.find("gpt-4o")->max_output, 0u);
  EXPECT_EQ(table.find("house-model-7b")->max_output, 1'000u);
  EXPECT_EQ(window(table, "gpt-4"), 8'192u);
}

TEST(Windows, FaultsNameTheLine) {
  for (const std::string_view text : {"a 1\nb\n", "a 1\nb x\n", "a 1\nb 5 y", "a 1\nb 5 1 1",
                                      "a 1\nb 0", "a 1\nb -5", "a 1\nb 5 5"}) {
    WindowTable table;
    const auto added = table.add(text);
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().code, Code::bad_configuration);
    EXPECT_TRUE(added.error().text.starts_with("line 2: ")) << added.error().text;
    EXPECT_EQ(table.find("a"), nullptr);  // nothing of a faulty file counts
  }
}

}  // namespace
}  // namespace ebla::context
