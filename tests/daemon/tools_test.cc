// The reading tools for agent loops. To write the golden files anew after a wanted change:
// EBLA_GOLDEN_UPDATE=1 daemon_methods_test --gtest_filter='Tools*'
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "context/item/scan.h"
#include "daemon/agent_tools.h"
#include "schema/base/utf8.h"
#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

void compare(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(EBLA_SOURCE_FOLDER) / "tests" / "golden" / name;
  if (std::getenv("EBLA_GOLDEN_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "no golden file " << name;
  EXPECT_EQ(text, std::string((std::istreambuf_iterator<char>(file)), {})) << name;
}

class ToolsTest : public MethodsFixture {
 protected:
  struct Said {
    std::string text;
    bool is_error = false;
  };
  Said say(std::string_view name, std::string_view arguments, std::string_view session = "s") {
    const Json answer = must("tools.call", "{\"session\":" + json_string(session) +
                                               ",\"name\":" + json_string(name) +
                                               ",\"arguments\":" + std::string(arguments) + "}");
    return {text_of(answer, "text"), flag_of(answer, "is_error")};
  }
  std::string good(std::string_view name, std::string_view arguments,
                   std::string_view session = "s") {
    const Said said = say(name, arguments, session);
    EXPECT_FALSE(said.is_error) << said.text;
    return said.text;
  }
  std::string bad(std::string_view name, std::string_view arguments) {
    const Said said = say(name, arguments);
    EXPECT_TRUE(said.is_error) << said.text;
    return said.text;
  }
};

TEST_F(ToolsTest, DefinitionsHaveTheShapeOfTheirProviderAndAreShort) {
  for (const char* format : {"anthropic", "openai", "responses", "langchain", "gemini"}) {
    const Json answer =
        must("tools.list", std::string(R"({"session":"s","format":")") + format + "\"}");
    const std::string tools = to_json(*answer.find("tools"));
    EXPECT_LE(context::tokens_of_sum(context::measure(tools).class_sum), limits::kToolTokens)
        << format;
    compare(std::string("tools-") + format + ".json", tools + "\n");
  }
  const Error error = must_fail("tools.list", R"({"session":"s","format":"grok"})");
  EXPECT_EQ(error.code, Code::invalid_params);
  EXPECT_NE(error.text.find("anthropic, openai, responses, langchain, gemini"), std::string::npos);
}

TEST_F(ToolsTest, ReadFileSaysWhichLinesAndWhereToGoOn) {
  put(kit::numbered_rows(100'000), "rows", "s");
  EXPECT_EQ(good("read_file", R"({"path":"/large_tool_results/rows","offset":10,"limit":2})"),
            "[lines 11-12 of 11111; next offset 12]\nrow 11\nrow 12\n");
  EXPECT_EQ(good("read_file", R"({"path":"large_tool_results/rows","offset":"11110","limit":3.0})")
                .substr(0, 24),
            "[line 11111 of 11111]\nro");
  EXPECT_EQ(
      good("read_file", R"({"path":"/large_tool_results/rows","offset":-3,"limit":1})"),
      "[line 1 of 11111; next offset 1; offset -3 is before the start: read from 0]\nrow 1\n");
  // As chat completions give them: JSON text.
  EXPECT_EQ(good("read_file", json_string(R"({"path":"/large_tool_results/rows","limit":1})")),
            "[line 1 of 11111; next offset 1]\nrow 1\n");
  put(kit::with_nul(20'000), "bin", "s");
  EXPECT_EQ(good("read_file", R"({"path":"/large_tool_results/bin"})"),
            "[data, 20000 bytes: no text]\n");
}

TEST_F(ToolsTest, PagesOfAnyFileJoinAndNeverExceedTheLimit) {
  must("session.open", R"({"key":"s","settings":{"tool_result_tokens":700}})");
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += kit::one_line(20'000) + "\n" + kit::chinese(500) + "\nshort\n";
  const std::string path = put(text, "mixed", "s");
  std::string joined;
  std::string where;
  for (int pages = 0; pages < 300; ++pages) {
    const std::string page = good("read_file", "{\"path\":" + json_string(path) + where + "}");
    EXPECT_LE(context::tokens_of_sum(context::measure(page).class_sum), 700u);
    const size_t head = page.find('\n');
    joined += page.substr(head + 1);
    const size_t next = page.find("next offset ");
    if (next == std::string::npos || next > head) break;
    where = ",\"offset\":" + std::to_string(std::stoull(page.substr(next + 12)));
    const size_t column = page.find(", column ");
    if (column < head)
      where += ",\"column\":" + std::to_string(std::stoull(page.substr(column + 9)));
  }
  EXPECT_EQ(joined, text);
}

TEST_F(ToolsTest, GrepPrintsAHitALine) {
  put("one\nThe needle\nthree\nfour\nfive\nneedle two\n" + kit::prose(20'000), "hay", "s");
  const std::string path =
      put(kit::one_line(5'000) + "needle" + kit::one_line(5'000), "zline", "s");
  const std::string folder = path.substr(0, path.rfind('/'));
  std::string text = good("grep", R"({"pattern":"needle"})");
  EXPECT_EQ(text.substr(0, text.find("zline")),
            folder + "/hay:2:The needle\n" + folder + "/hay:6:needle two\n" + folder + "/");
  EXPECT_NE(text.find("zline:1:[column 5000] \u2026"), std::string::npos) << text;
  text = good("grep", R"({"pattern":"needle","path":"/large_tool_results/hay","context":1})");
  EXPECT_EQ(text.substr(0, text.find("needle two")),
            folder + "/hay-1-one\n" + folder + "/hay:2:The needle\n" + folder +
                "/hay-3-three\n--\n" + folder + "/hay-5-five\n" + folder + "/hay:6:");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","mode":"count","glob":"h*"})"),
            folder + "/hay:2\n");
  text = good("grep", R"({"pattern":"zqzqzq"})");
  EXPECT_EQ(text, "No line holds this, in 3 files.\n");
  text = good("grep", R"({"pattern":"need.*e"})");
  EXPECT_NE(text.find("regex: true"), std::string::npos) << text;
  EXPECT_NE(good("grep", R"({"pattern":"the NEEDLE"})").find("Nearest lines"), std::string::npos);
  EXPECT_NE(good("grep", R"({"pattern":"need.*e","regex":"true"})").find("hay:2:"),
            std::string::npos);
}

TEST_F(ToolsTest, GrepStaysWithinThePageAndSaysThatThereIsMore) {
  must("session.open", R"({"key":"s","settings":{"tool_result_tokens":500}})");
  put(kit::numbered_rows(200'000), "rows", "s");
  const std::string text = good("grep", R"({"pattern":"row","context":3})");
  EXPECT_LE(context::tokens_of_sum(context::measure(text).class_sum), 500u);
  EXPECT_NE(text.find("there is more"), std::string::npos) << text;
}

TEST_F(ToolsTest, ListingsArePagedWithATotal) {
  for (int i = 0; i < 130; ++i)
    put(kit::prose(9'000 + static_cast<size_t>(i)), "c" + std::to_string(i), "s");
  std::string page = good("ls", R"({"path":"/large_tool_results"})");
  EXPECT_EQ(page.substr(0, 24), "[100 of 130 entries; nex");
  EXPECT_EQ(std::ranges::count(page, '\n'), 101);
  const std::string after =
      page.substr(page.find("after ") + 6, page.find(']') - page.find("after ") - 6);
  page = good("ls", R"({"path":"/large_tool_results","after":")" + after + "\"}");
  EXPECT_EQ(page.substr(0, 23), "[30 of 130 entries]\n   ");
  EXPECT_NE(good("ls", "{}").find("large_tool_results/\n"), std::string::npos);
  page = good("glob", R"({"pattern":"c[0-9]*"})");
  EXPECT_EQ(page.substr(0, 24), "[100 of 130 entries; nex");
  const std::string key =
      page.substr(page.find("after ") + 6, page.find(']') - page.find("after ") - 6);
  page = good("glob", R"({"pattern":"c[0-9]*","after":)" + json_string(key) + "}");
  EXPECT_EQ(page.substr(0, 20), "[30 of 130 entries]\n");
  EXPECT_EQ(good("glob", R"({"pattern":"*.py"})"), "No name matches.\n");
}

TEST_F(ToolsTest, FaultsTellTheModelWhatToDo) {
  put(kit::prose(20'000), "a", "s");
  EXPECT_EQ(bad("read", "{}"), "There is no tool read; there are read_file, grep, ls, glob.");
  EXPECT_EQ(bad("read_file", "{}"), "read_file needs path.");
  EXPECT_EQ(
      bad("read_file", R"({"file_path":"/x"})"),
      "read_file takes no file_path: did you mean path?; it takes path, offset, limit, column.");
  EXPECT_EQ(bad("grep", R"({"patern":"x"})"),
            "grep takes no patern: did you mean pattern?; it takes pattern, path, glob, regex, "
            "ignore_case, context, mode.");
  EXPECT_EQ(bad("read_file", R"({"path":"/x","limit":"many"})"),
            "limit: \"many\" is not a whole number.");
  EXPECT_EQ(bad("read_file", R"({"path":"/x","limit":1.5})"), "limit: 1.5 is not a whole number.");
  EXPECT_EQ(bad("grep", R"({"pattern":"x","regex":"maybe"})"),
            "regex: \"maybe\" is not true or false.");
  EXPECT_EQ(bad("grep", R"({"pattern":["x"]})"), "pattern: [\"x\"] is not a text.");
  EXPECT_EQ(bad("grep", json_string("{\"pattern\":")).substr(0, 42),
            "The arguments must be one JSON object: not");
  EXPECT_EQ(bad("grep", json_string("[1]")), "The arguments must be one JSON object.");
  EXPECT_NE(bad("read_file", R"({"path":"/large_tool_results"})").find("list it with ls"),
            std::string::npos);
  EXPECT_NE(bad("read_file", R"({"path":"/nowhere"})").find("/nowhere does not exist"),
            std::string::npos);
  EXPECT_NE(
      bad("read_file", R"({"path":"/large_tool_results/a","offset":100000})").find("past the end"),
      std::string::npos);
  EXPECT_NE(bad("grep", R"({"pattern":"(","regex":true})").find("no regular expression"),
            std::string::npos);
  for (const std::string_view none : {R"("")", "null", R"("null")", R"(" null ")", "{}"}) {
    EXPECT_EQ(good("ls", none), good("ls", R"({"path":null})")) << none;
    EXPECT_EQ(bad("read_file", none), "read_file needs path.") << none;
  }
  EXPECT_FALSE(flag_of(must("tools.call", R"({"session":"s","name":"ls"})"), "is_error"));
  good("grep", R"({"pattern":7,"path":null})");
}

TEST_F(ToolsTest, NobodyWaitsForACallThatWasCutOff) {
  put(kit::prose(20'000), "a", "s");
  auto request = std::make_shared<Request>();
  request->cancelled = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(
      send("tools.call", R"({"session":"s","name":"grep","arguments":{"pattern":"x"}})", request)
          .result.error()
          .code,
      Code::unavailable);
}

}  // namespace
}  // namespace ebla::daemon
