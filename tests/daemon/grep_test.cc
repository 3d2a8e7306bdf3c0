#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "daemon/find/grep.h"
#include "schema/path.h"
#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

class GrepTest : public MethodsFixture {
 protected:
  // Every hit of all pages, `PATH` left out: `LINE:text`, context `LINE-text`.
  std::vector<std::string> joined(const std::string& params) {
    std::vector<std::string> lines;
    std::string after;
    for (int pages = 0; pages < 2'000; ++pages) {
      const Json page =
          must("fs.grep",
               "{" + params + (after.empty() ? "" : ",\"after\":" + json_string(after)) + "}");
      for (const Json& hit : page.find("hits")->items) {
        lines.push_back(text_of(hit, "line") + (flag_of(hit, "context") ? "-" : ":") +
                        text_of(hit, "text"));
      }
      EXPECT_EQ(flag_of(page, "truncated"), page.find("next") != nullptr);
      if (page.find("next") == nullptr) return lines;
      after = text_of(page, "next");
    }
    ADD_FAILURE() << "no end";
    return lines;
  }
  std::vector<std::string> first_page(const std::string& path, const std::string& word,
                                      uint64_t context, uint64_t max_count) {
    const Json page = must("fs.grep", "{\"context\":" + std::to_string(context) +
                                          ",\"max_count\":" + std::to_string(max_count) +
                                          ",\"path\":" + json_string(path) +
                                          ",\"pattern\":" + json_string(word) + "}");
    std::vector<std::string> shown;
    for (const Json& hit : page.find("hits")->items) {
      shown.push_back(text_of(hit, "line") + (flag_of(hit, "context") ? "-" : ":") +
                      text_of(hit, "text"));
    }
    return shown;
  }
  // What first_page should be, by the plainest way.
  static std::vector<std::string> with_context(const std::vector<std::string>& lines,
                                               const std::string& word, size_t context,
                                               size_t max_count) {
    std::vector<char> marks(lines.size(), ' ');
    size_t hits = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(word) == std::string::npos) continue;
      if (++hits > max_count) {
        std::fill(marks.begin() + static_cast<ptrdiff_t>(i), marks.end(), ' ');
        break;
      }
      for (size_t k = i - std::min(i, context); k <= i + context && k < lines.size(); ++k) {
        if (marks[k] != ':') marks[k] = k == i ? ':' : '-';
      }
    }
    std::vector<std::string> shown;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (marks[i] != ' ') shown.push_back(std::to_string(i + 1) + marks[i] + lines[i]);
    }
    return shown;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(GrepTest, JoinedPagesEqualWhatGrepPrints) {
  const kit::TempDir folder("grep");
  std::mt19937_64 random(5);
  const std::vector<std::string> words = {"error",        "at", "cache", "row 1",
                                          "\xE4\xB8\x80", "e",  "(",     "."};
  for (int round = 0; round < 25; ++round) {
    std::string text;
    const size_t lines = random() % 3'000;
    for (size_t i = 0; i < lines; ++i) {
      std::string line = kit::prose(random() % 120 + 1);
      std::ranges::replace(line, '\n', ' ');
      if (random() % 5 == 0) line += words[random() % words.size()];
      if (random() % 9 == 0) line = kit::chinese(random() % 100);
      text += line + "\n";
    }
    if (random() % 2 == 0) text += "no end, error";
    if (text.empty()) continue;
    std::ofstream(folder / "text", std::ios::binary) << text;
    const std::string path = put(text, "r" + std::to_string(round));
    ASSERT_FALSE(path.empty());
    for (const std::string& word : words) {
      const kit::ShellResult wanted =
          kit::shell("grep -nF -e '" + word + "' '" + (folder / "text") + "'");
      EXPECT_EQ(joined("\"path\":" + json_string(path) + ",\"pattern\":" + json_string(word)),
                lines_of(wanted.output))
          << word;
      EXPECT_EQ(first_page(path, word, 2, 5), with_context(lines_of(text), word, 2, 5)) << word;
    }
  }
}

TEST_F(GrepTest, RealOutputsAreSearchedAsGrepDoes) {
  for (const kit::NamedText& real : kit::real_outputs()) {
    const std::string path = put(real.text, xxh3_128(real.name).hex().substr(0, 8));
    const kit::ShellResult wanted = kit::shell("grep -nF -e usr '" + real.name + "'");
    const auto lines = lines_of(wanted.output);
    if (path.empty() || lines.empty() || lines.size() > 20'000) continue;
    EXPECT_EQ(joined("\"pattern\":\"usr\",\"path\":" + json_string(path)), lines) << real.name;
  }
}

TEST_F(GrepTest, AMillionHitsStopAtTheCap) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "error here\n";
  put(text, "all");
  const Json page = must("fs.grep", R"({"pattern":"error","path":"/large_tool_results/all"})");
  EXPECT_TRUE(flag_of(page, "truncated"));
  EXPECT_GT(page.find("hits")->items.size(), 500u);
  EXPECT_LE(page.find("hits")->items.size(), 1'000u);
  EXPECT_LE(to_json(*page.find("hits")).size(), 200'000u);
  const Json few =
      must("fs.grep", R"({"pattern":"error","path":"/large_tool_results/all","max_count":7})");
  EXPECT_EQ(few.find("hits")->items.size(), 7u);
  EXPECT_TRUE(flag_of(few, "truncated"));
  const Json counted =
      must("fs.grep", R"({"pattern":"error","path":"/large_tool_results/all","mode":"count"})");
  EXPECT_EQ(number_of(counted.find("files")->items.at(0), "lines"), 200'000u);
  EXPECT_FALSE(flag_of(counted, "truncated"));
  const Json exact =
      must("fs.grep",
           R"({"pattern":"error","max_count":3,"path":)" +
               json_string(put("error\nerror\nerror\nfine\n" + kit::prose(9'000), "three")) + "}");
  EXPECT_EQ(exact.find("hits")->items.size(), 3u);
  EXPECT_FALSE(flag_of(exact, "truncated")) << "there is no fourth";
}

TEST_F(GrepTest, AMinifiedBundleGivesWindowsWithColumns) {
  std::string bundle;
  for (int i = 0; i < 3'000; ++i) bundle += kit::one_line(1'660) + "needle";
  put(bundle, "bundle");
  std::set<uint64_t> columns;
  std::string after;
  do {
    const Json page =
        must("fs.grep", R"({"pattern":"needle","path":"/large_tool_results/bundle","after":)" +
                            json_string(after) + "}");
    EXPECT_LE(page.find("hits")->items.size(), 1'000u);
    size_t bytes = 0;
    for (const Json& hit : page.find("hits")->items) {
      EXPECT_EQ(number_of(hit, "line"), 1u);
      EXPECT_LE(text_of(hit, "text").size(), 400u);
      const uint64_t column = number_of(hit, "column");
      EXPECT_EQ(bundle.substr(column, 6), "needle");
      const uint64_t from = hit.find("text_column") == nullptr ? 0 : number_of(hit, "text_column");
      EXPECT_EQ(bundle.substr(from, text_of(hit, "text").size()), text_of(hit, "text"));
      EXPECT_TRUE(columns.insert(column).second);
      bytes += text_of(hit, "text").size();
    }
    EXPECT_LE(bytes, 32'000u);
    EXPECT_EQ(flag_of(page, "truncated"), page.find("next") != nullptr);
    after = page.find("next") == nullptr ? "" : text_of(page, "next");
  } while (!after.empty());
  EXPECT_EQ(columns.size(), 3'000u);
}

TEST_F(GrepTest, NoHitIsExplained) {
  put("fooXbar\nThe Cache was cold\n" + kit::prose(9'000), "a");
  Json page = must("fs.grep", R"({"pattern":"foo.*bar"})");
  EXPECT_TRUE(page.find("hits")->items.empty());
  EXPECT_NE(page.find("hint"), nullptr);
  EXPECT_EQ(page.find("nearest"), nullptr);
  page = must("fs.grep", R"({"pattern":"foo.*bar","regex":true})");
  EXPECT_EQ(page.find("hits")->items.size(), 1u);
  EXPECT_EQ(page.find("hint"), nullptr);
  page = must("fs.grep", R"({"pattern":"the cache WAS cold"})");
  EXPECT_TRUE(page.find("hits")->items.empty());
  EXPECT_EQ(number_of(page.find("nearest")->items.at(0), "line"), 2u);
  page = must("fs.grep", R"({"pattern":"a compiler frobnicated","path":"/large_tool_results/a"})");
  EXPECT_EQ(page.find("nearest"), nullptr);
  put("foo.*bar\n" + kit::prose(9'000), "b");
  page = must("fs.grep", R"({"pattern":"foo.*bar"})");
  EXPECT_EQ(page.find("hits")->items.size(), 1u);
  EXPECT_EQ(page.find("hint"), nullptr);
}

TEST_F(GrepTest, FilesAreInTheOrderOfTheirPaths) {
  for (const char* id : {"b", "a.txt", "a", "c-1", "c"})
    put(std::string("needle ") + id + "\n" + kit::prose(9'000), id);
  put("needle\n" + kit::prose(9'000), "x", "s");
  const Json page = must("fs.grep", R"({"pattern":"needle","mode":"files"})");
  std::vector<std::string> paths;
  for (const Json& file : page.find("files")->items) paths.push_back(text_of(file, "path"));
  EXPECT_EQ(paths.size(), 6u);
  EXPECT_TRUE(std::ranges::is_sorted(paths));
  const Json first = must("fs.grep", R"({"pattern":"needle","mode":"files","max_count":2})");
  EXPECT_TRUE(flag_of(first, "truncated"));
  const Json rest = must("fs.grep", R"({"pattern":"needle","mode":"files","after":)" +
                                        json_string(text_of(first, "next")) + "}");
  EXPECT_EQ(rest.find("files")->items.size(), 4u);
  const Json some = must("fs.grep", R"({"pattern":"needle","mode":"files","glob":"c*"})");
  EXPECT_EQ(some.find("files")->items.size(), 2u);
}

TEST_F(GrepTest, ASessionSeesItsOwnTree) {
  must("session.open", R"({"key":"root"})");
  must("session.open", R"({"key":"child","parent":"root"})");
  must("session.open", R"({"key":"other"})");
  const auto text = [](const char* word) {
    return std::string(word) + " needle\n" + kit::prose(9'000);
  };
  put(text("root"), "r", "root");
  put(text("child"), "c", "child");
  put(text("other"), "o", "other");
  put(text("shared"), "d");
  const auto seen = [&](const std::string& params) {
    std::set<std::string> words;
    const Json page = must("fs.grep", "{\"pattern\":\"needle\"" + params + "}");
    for (const Json& hit : page.find("hits")->items) {
      words.insert(text_of(hit, "text").substr(0, text_of(hit, "text").find(' ')));
    }
    return words;
  };
  EXPECT_EQ(seen(R"(,"session":"child")"), (std::set<std::string>{"child", "root", "shared"}));
  EXPECT_EQ(seen(R"(,"session":"other")"), (std::set<std::string>{"other", "shared"}));
  EXPECT_EQ(seen(""), (std::set<std::string>{"child", "other", "root", "shared"}));
  EXPECT_EQ(seen(R"(,"session":"child","path":"/large_tool_results")"),
            std::set<std::string>{"child"});
  EXPECT_EQ(seen(R"(,"session":"child","path":"/large_tool_results/c")"),
            std::set<std::string>{"child"});
  EXPECT_EQ(seen(R"(,"path":"/large_tool_results/d")"), std::set<std::string>{"shared"});
  uid_ = 2000;
  must("session.open", R"({"key":"stranger"})");
  put(text("stranger"), "s", "stranger");
  EXPECT_EQ(seen(""), std::set<std::string>{"stranger"});
  EXPECT_EQ(must_fail("fs.grep", R"({"pattern":"needle","path":"/"})").code,
            Code::permission_denied);
}

TEST_F(GrepTest, BadParametersAreNamed) {
  const auto refused = [&](const char* params) {
    const Error error = must_fail("fs.grep", params);
    EXPECT_EQ(error.code, Code::invalid_params) << params;
    return error.text;
  };
  EXPECT_NE(refused(R"({"pattern":""})").find("pattern"), std::string::npos);
  EXPECT_NE(refused(R"({"pattern":"a","mode":"all"})").find("content, files, count"),
            std::string::npos);
  EXPECT_NE(refused(R"({"pattern":"a","context":51})").find("context"), std::string::npos);
  EXPECT_NE(refused(R"({"pattern":"a","max_count":0})").find("max_count"), std::string::npos);
  EXPECT_NE(refused(R"({"pattern":"a","glob":"[a"})").find("not closed"), std::string::npos);
  for (const char* after :
       {"x", "1:2", "5:1:2:/a", "1:2:1:/a", "0:0:0:a", "0:0:0:/%", "0:0:0:/%zz"}) {
    refused((R"({"pattern":"a","after":)" + json_string(after) + "}").c_str());
  }
  EXPECT_EQ(must_fail("fs.grep", R"({"pattern":"a","path":"/nowhere"})").code,
            Code::file_not_found);
}

TEST_F(GrepTest, AReaderThatLeftEndsTheSearch) {
  put(kit::prose(1'000'000), "c");
  auto request = std::make_shared<Request>();
  request->cancelled = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(send("fs.grep", R"({"pattern":"zzz"})", request).result.error().code,
            Code::unavailable);
}

// The search itself, with a store and a clock that do what they are told.
class GrepSearchTest : public MethodsFixture {
 protected:
  GrepReport search(const GrepRequest& request, std::function<bool()> out_of_time) {
    auto root = resolve(*store_, "/");
    const SearchScope scope{"/", *root, [](const std::string&, const DirEntry&) { return true; }};
    auto report = grep({*store_, [] { return false; }, std::move(out_of_time)}, scope, request);
    EXPECT_TRUE(report);
    return report ? *std::move(report) : GrepReport();
  }
};

TEST_F(GrepSearchTest, OutOfTimeTellsWhatItHasAndWhereToGoOn) {
  for (int i = 0; i < 5; ++i)
    put("needle " + std::to_string(i) + "\n" + kit::prose(3'000'000 + static_cast<size_t>(i)),
        "f" + std::to_string(i));
  GrepRequest request;
  request.pattern = "needle";
  std::vector<std::string> found;
  int rounds = 0;
  for (;; ++rounds) {
    int asked = 0;
    const GrepReport report = search(request, [&] { return ++asked > 4; });
    for (const GrepRow& row : report.rows) found.push_back(row.shown.text);
    if (!report.timed_out) break;
    ASSERT_TRUE(report.next);
    request.start = *GrepCursor::parse(report.next->text());
    ASSERT_LT(rounds, 50);
  }
  EXPECT_GT(rounds, 3);
  EXPECT_EQ(found,
            (std::vector<std::string>{"needle 0", "needle 1", "needle 2", "needle 3", "needle 4"}));
  request = {};
  request.pattern = "needle";
  const GrepReport none = search(request, [] { return true; });
  EXPECT_TRUE(none.timed_out);
  EXPECT_EQ(none.hits, 0u);
}

}  // namespace
}  // namespace ebla::daemon
