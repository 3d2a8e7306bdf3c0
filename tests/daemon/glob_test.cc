#include "daemon/find/glob.h"

#include <set>

#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

bool fits(std::string_view pattern, std::string_view path, bool folder = false) {
  auto glob = Glob::compile(pattern);
  if (!glob) {
    ADD_FAILURE() << glob.error().text;
    return false;
  }
  return glob->matches(path, folder);
}

TEST(Glob, WithoutASlashTheNameAtAnyDepth) {
  for (const char* path : {"a.py", "src/a.py", "src/deep/er/a.py"}) EXPECT_TRUE(fits("*.py", path));
  for (const char* path : {"a.pyc", "py", "a.py/b", ""}) EXPECT_FALSE(fits("*.py", path)) << path;
  EXPECT_TRUE(fits("?", "\xE4\xB8\xAD"));
  EXPECT_FALSE(fits("?", "ab"));
  EXPECT_TRUE(fits("call_*_*", "call_1_2"));
  EXPECT_FALSE(fits("call_*_*", "call_12"));
}

TEST(Glob, WithASlashThePathFromTheRoot) {
  EXPECT_TRUE(fits("src/*.py", "src/a.py"));
  EXPECT_FALSE(fits("src/*.py", "lib/src/a.py"));
  EXPECT_FALSE(fits("src/*.py", "src/x/a.py"));
  EXPECT_TRUE(fits("/*.py", "a.py"));
  EXPECT_FALSE(fits("/*.py", "src/a.py"));
  EXPECT_TRUE(fits("**/*.py", "a.py"));
  EXPECT_TRUE(fits("**/x/**/*.py", "a/x/b/c/d.py"));
  EXPECT_TRUE(fits("a/**", "a/b/c"));
  EXPECT_FALSE(fits("a/**", "a"));
  EXPECT_TRUE(fits("a/**/b", "a/b"));
  EXPECT_TRUE(fits("a/**/b/**/c", "a/x/b/b/y/c"));
  EXPECT_FALSE(fits("a/**/b/**/c", "a/x/b/b/y"));
  EXPECT_TRUE(fits("src/", "x/src", true));
  EXPECT_FALSE(fits("src/", "x/src", false));
}

TEST(Glob, BracesAndBrackets) {
  for (const char* path : {"a.c", "a.h", "x/b.h"}) EXPECT_TRUE(fits("*.{c,h}", path)) << path;
  EXPECT_FALSE(fits("*.{c,h}", "a.cc"));
  EXPECT_TRUE(fits("{src,lib/{a,b}}/*.py", "lib/b/x.py"));
  EXPECT_TRUE(fits("a{b}c", "a{b}c"));
  EXPECT_TRUE(fits("a{,b}", "a"));
  EXPECT_TRUE(fits("[a-c]x", "bx"));
  EXPECT_FALSE(fits("[!a-c]x", "bx"));
  EXPECT_TRUE(fits("[^a-c]x", "\xC3\xA9x"));
  EXPECT_TRUE(fits("[]]", "]"));
  EXPECT_TRUE(fits("[\xC3\xA0-\xC3\xBF]", "\xC3\xA9"));
  EXPECT_TRUE(fits("\\*", "*"));
  EXPECT_FALSE(fits("\\*", "a"));
}

TEST(Glob, DotNamesOnlyWhenAsked) {
  EXPECT_FALSE(fits("*", ".env"));
  EXPECT_FALSE(fits("*.py", ".venv/a.py"));
  EXPECT_FALSE(fits("**/*", "a/.git/config"));
  EXPECT_TRUE(fits(".*", ".env"));
  EXPECT_TRUE(fits(".git/**", ".git/config"));
  EXPECT_TRUE(fits("**/.env", "a/b/.env"));
}

TEST(Glob, FaultsAndHardPatternsEnd) {
  EXPECT_FALSE(Glob::compile(""));
  EXPECT_FALSE(Glob::compile("/"));
  EXPECT_FALSE(Glob::compile("a[b"));
  EXPECT_FALSE(Glob::compile(std::string(5'000, '*')));
  EXPECT_FALSE(Glob::compile("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"));
  EXPECT_FALSE(fits("*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(250, 'a')));
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "a/";
  EXPECT_FALSE(fits("**/a/**/a/**/a/**/a/**/b", deep + "c"));
}

class GlobTest : public MethodsFixture {};

TEST_F(GlobTest, PagesWithATotal) {
  std::set<std::string> wanted;
  for (int i = 0; i < 37; ++i)
    wanted.insert(put(kit::prose(9'000), "c" + std::to_string(i), i % 2 == 0 ? "s" : ""));
  put(kit::prose(9'000), "other");
  std::vector<std::string> paths;
  std::string after;
  do {
    const Json page =
        must("fs.glob", R"({"pattern":"c[0-9]*","limit":10,"after":)" + json_string(after) + "}");
    EXPECT_EQ(number_of(page, "total"), 37u);
    EXPECT_FALSE(flag_of(page, "timed_out"));
    for (const Json& entry : page.find("entries")->items) {
      paths.push_back(text_of(entry, "path"));
      EXPECT_EQ(text_of(entry, "kind"), "file");
      EXPECT_EQ(number_of(entry, "size"), 9'000u);
    }
    after = page.find("next") == nullptr ? "" : text_of(page, "next");
  } while (!after.empty());
  EXPECT_EQ(paths.size(), 37u);
  EXPECT_TRUE(std::ranges::is_sorted(paths));
  EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()), wanted);
}

TEST_F(GlobTest, FoldersAndPathsOfTheSession) {
  const std::string path = put(kit::prose(9'000), "x", "s");
  const std::string folder = path.substr(0, path.rfind('/'));
  Json page = must("fs.glob", R"({"pattern":"large_tool_results/*/"})");
  ASSERT_EQ(page.find("entries")->items.size(), 1u);
  EXPECT_EQ(text_of(page.find("entries")->items[0], "path"), folder);
  EXPECT_EQ(text_of(page.find("entries")->items[0], "kind"), "directory");
  page = must("fs.glob", R"({"pattern":"*","session":"s","path":"/large_tool_results"})");
  ASSERT_EQ(page.find("entries")->items.size(), 1u);
  EXPECT_EQ(text_of(page.find("entries")->items[0], "path"), path);
  page = must("fs.glob", "{\"pattern\":" + json_string(folder + "/*") +
                             ",\"path\":" + json_string(folder) + "}");
  EXPECT_EQ(number_of(page, "total"), 1u);
  EXPECT_EQ(must_fail("fs.glob", R"({"pattern":"*","after":"%"})").code, Code::invalid_params);
  EXPECT_EQ(must_fail("fs.glob", R"({"pattern":"[","path":"/"})").code, Code::invalid_params);
}

}  // namespace
}  // namespace ebla::daemon
