#include "schema/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/base/limits.h"
#include "schema/base/utf8.h"
#include "tests/kit/model_store.h"

namespace ebla {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Code code_of(std::string_view path) {
  const auto elements = split_path(path);
  EXPECT_FALSE(elements.has_value()) << path;
  if (elements) return Code::internal_error;
  EXPECT_TRUE(utf8::is_valid(elements.error().text));
  EXPECT_LT(elements.error().text.size(), 500u);
  return elements.error().code;
}

TEST(SplitPath, EmptyAndDotElementsVanish) {
  EXPECT_THAT(*split_path("/"), IsEmpty());
  EXPECT_THAT(*split_path("//"), IsEmpty());
  EXPECT_THAT(*split_path("/."), IsEmpty());
  EXPECT_THAT(*split_path("/d/"), ElementsAre("d"));
  EXPECT_THAT(*split_path("//d"), ElementsAre("d"));
  EXPECT_THAT(*split_path("/./d//e/./f.txt"), ElementsAre("d", "e", "f.txt"));
}

TEST(SplitPath, NamesAreBytes) {
  EXPECT_THAT(*split_path("/...hidden/-rf"), ElementsAre("...hidden", "-rf"));
  EXPECT_THAT(*split_path("/日本語/\xFF\xFE"), ElementsAre("日本語", "\xFF\xFE"));
  EXPECT_THAT(*split_path("/a\\b/x\ny"), ElementsAre("a\\b", "x\ny"));
}

TEST(SplitPath, RefusesWhatCouldLeaveTheTree) {
  EXPECT_EQ(code_of(""), Code::invalid_path);
  EXPECT_EQ(code_of("notes.txt"), Code::invalid_path);
  EXPECT_EQ(code_of("../x"), Code::invalid_path);
  EXPECT_EQ(code_of("/.."), Code::invalid_path);
  EXPECT_EQ(code_of("/a/../../x"), Code::invalid_path);
  EXPECT_EQ(code_of("/large_tool_results/../../etc/passwd"), Code::invalid_path);
  EXPECT_EQ(code_of(std::string_view("/a\0b", 4)), Code::invalid_path);
  EXPECT_EQ(code_of(std::string_view("\0", 1)), Code::invalid_path);
  EXPECT_EQ(code_of("\xFF\xFF"), Code::invalid_path);
}

TEST(SplitPath, LimitsAreExact) {
  const std::string name(limits::kNameBytes, 'n');
  EXPECT_THAT(*split_path("/" + name), ElementsAre(name));
  EXPECT_EQ(code_of("/" + name + "n"), Code::name_too_long);
  EXPECT_EQ(code_of("/a/" + std::string(300, 'x') + "/b"), Code::name_too_long);
  std::string path;
  while (path.size() < limits::kPathBytes) path += "/abc";
  path.resize(limits::kPathBytes);
  EXPECT_TRUE(split_path(path).has_value());
  EXPECT_EQ(code_of(path + "x"), Code::invalid_path);
  EXPECT_EQ(code_of(std::string(5000, '/')), Code::invalid_path);
}

TEST(SplitPath, ErrorsShowNoControlBytes) {
  const auto bad = split_path("a\x1b[8mb\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text.find('\x1b'), std::string::npos);
  EXPECT_EQ(bad.error().text.find('\n'), std::string::npos);
  // Cut in the middle of a run of multi-byte characters.
  std::string runes;
  for (int i = 0; i < 100; ++i) runes += "€";
  EXPECT_EQ(code_of(runes), Code::invalid_path);
  EXPECT_EQ(code_of("x" + runes), Code::invalid_path);
  EXPECT_EQ(code_of("xy" + runes), Code::invalid_path);
}

TEST(JoinPath, UndoesSplit) {
  EXPECT_EQ(join_path({}), "/");
  EXPECT_EQ(join_path({"a"}), "/a");
  EXPECT_EQ(join_path({"a", "b c", "d"}), "/a/b c/d");
  for (const char* path : {"/", "/a", "/a/b/c"}) EXPECT_EQ(join_path(*split_path(path)), path);
}

class Resolve : public testing::Test {
 protected:
  void SetUp() override {
    SessionPlan plan;
    plan.id_candidates = {"sub-abcde"};
    store_->open_session(std::move(plan), {}, [this](auto outcome, const ChangeSet&) {
      ASSERT_TRUE(outcome.has_value());
      session_ = outcome->session;
    });
  }
  ManualClock clock_;
  std::unique_ptr<Store> store_ = kit::make_model_store(clock_);
  Session session_;
};

TEST_F(Resolve, WalksTheTree) {
  EXPECT_EQ(resolve(*store_, "/")->ino, store_->root());
  EXPECT_EQ(resolve(*store_, "//large_tool_results/./sub-abcde/")->ino, session_.folder);
  EXPECT_EQ(resolve(*store_, "/conversation_history/sub-abcde.md")->ino, session_.history);
}

TEST_F(Resolve, ErrorsNameThePath) {
  const auto missing = resolve(*store_, "/large_tool_results/none/x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::file_not_found);
  EXPECT_THAT(missing.error().text, HasSubstr("/large_tool_results/none"));
  const auto file = resolve(*store_, "/conversation_history/sub-abcde.md/x");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::not_directory);
  EXPECT_THAT(file.error().text, HasSubstr("/conversation_history/sub-abcde.md is"));
  EXPECT_EQ(resolve(*store_, "/a/../b").error().code, Code::invalid_path);
  EXPECT_EQ(resolve(*store_, "").error().code, Code::invalid_path);
}

}  // namespace
TEST(LexicalPath, IsWrittenInOneWay) {
  for (const char* path : {"/", "/a", "/a/b.c", "/.git/config", "/a/..b", "/a/...", "/a/b."}) {
    EXPECT_EQ(lexical_path(path), path);
  }
  const std::pair<const char*, const char*> kOthers[] = {
      {"//", "/"},      {"/a/", "/a"},           {"/a//b", "/a/b"}, {"/./a", "/a"},
      {"/a/.", "/a"},   {"/a/b/..", "/a"},       {"/a/../b", "/b"}, {"/..", "/"},
      {"/../a/", "/a"}, {"/a/./b/../c", "/a/c"}, {"///a", "/a"},
  };
  for (const auto& [given, clean] : kOthers) EXPECT_EQ(lexical_path(given), clean) << given;
}

}  // namespace ebla
