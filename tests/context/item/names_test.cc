#include "context/item/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schema/base/limits.h"

namespace ebla::context {
namespace {

const Hash128 kContent = xxh3_128("content");

std::string stem(std::string_view id) {
  return file_stem(ArtifactKind::tool_result, id, kContent);
}

TEST(Names, PlainIdsAreTheName) {
  EXPECT_EQ(stem("toolu_01A09q90qw90lq917835lq9"), "toolu_01A09q90qw90lq917835lq9");
  EXPECT_EQ(stem(std::string(40, 'a')), std::string(40, 'a'));
  EXPECT_EQ(stem("default"), "default");
}

TEST(Names, OthersAreCleanedAndTold) {
  EXPECT_EQ(stem("a/b"), "a_b-" + xxh3_128("a/b").hex().substr(0, 8));
  EXPECT_EQ(stem("admin_view_sessions:11").substr(0, 23), "admin_view_sessions_11-");
  EXPECT_NE(stem("a/b"), stem("a_b"));
  EXPECT_NE(stem("a/b"), stem("a\\b"));
  EXPECT_NE(stem("call_1#fc_2"), stem("call_1|fc_2"));
  const std::string lengthy = "call_x__thought__" + std::string(1400, 'A');
  EXPECT_NE(stem(lengthy), stem(lengthy.substr(0, lengthy.size() - 1) + "B"));
}

TEST(Names, AlwaysSafeOnePathElement) {
  std::vector<std::string> ids = {"../../etc/passwd",
                                  "a/b",
                                  ".",
                                  "..",
                                  "-rf",
                                  "x\ny",
                                  "😀",
                                  "\xff",
                                  std::string("x\0y", 3),
                                  std::string(1500, 'x'),
                                  " ",
                                  "a.b",
                                  std::string(41, 'a'),
                                  "-"};
  std::set<std::string> seen;
  for (const std::string& id : ids) {
    const std::string name = stem(id);
    EXPECT_LE(name.size(), limits::kPlainIdBytes) << id;
    EXPECT_NE(name.front(), '-');
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    })) << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Names, WithoutAnIdTheContentNames) {
  EXPECT_EQ(stem(""), "result-" + kContent.hex().substr(0, 8));
  EXPECT_EQ(file_stem(ArtifactKind::human, "", kContent), "message-" + kContent.hex().substr(0, 8));
  EXPECT_EQ(file_extension(ArtifactKind::human), ".md");
  EXPECT_EQ(file_extension(ArtifactKind::tool_result), "");
}

TEST(Names, SessionIds) {
  const std::vector<std::string> ids = session_id_candidates("/home/me/app", 42);
  EXPECT_GE(ids.size(), 4u);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(ids, session_id_candidates("/home/me/app", 42));
  EXPECT_NE(ids, session_id_candidates("/home/me/app", 43));
  for (const std::string& id : ids) EXPECT_EQ(id.substr(0, 12), "home_me_app-");
  for (const char* key : {"", "../../large_tool_results/x", "-rf", "中文", ".", "a", "\xff\xfe",
                          "0123456789abcdef", "a----------------b", "x\ny"}) {
    for (const std::string& id : session_id_candidates(key, 7)) {
      EXPECT_LE(id.size(), limits::kReadableSessionBytes + 6);
      EXPECT_NE(id.front(), '-');
      EXPECT_EQ(id[id.size() - 6], '-');
      EXPECT_EQ(
          id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
          std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ebla::context
