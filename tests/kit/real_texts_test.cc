#include "tests/kit/real_texts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "schema/base/json.h"
#include "schema/base/utf8.h"
#include "tests/kit/temp_dir.h"

namespace ebla::kit {
namespace {

TEST(RealTexts, HaveTheSizesTheyPromise) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{79'000}, size_t{80'001}}) {
    EXPECT_EQ(prose(size).size(), size);
    EXPECT_EQ(numbered_rows(size).size(), size);
    EXPECT_EQ(one_line(size).size(), size);
    EXPECT_EQ(chinese(size).size(), 3 * size);
    EXPECT_EQ(emoji(size).size(), 4 * size);
    EXPECT_EQ(utf8::count(emoji(size)), size);
    EXPECT_TRUE(utf8::is_valid(chinese(size)));
    EXPECT_EQ(with_nul(size).size(), size);
    EXPECT_EQ(random_bytes(size, 1).size(), size);
  }
  EXPECT_EQ(one_line(240'000).find('\n'), std::string::npos);
  const std::string even = even_lines(240'000, 3886);
  EXPECT_EQ(even.size(), 240'000u);
  EXPECT_EQ(std::ranges::count(even, '\n'), 3886);
  EXPECT_TRUE(even.ends_with(".\n"));
}

TEST(RealTexts, AreWhatTheyAreCalled) {
  EXPECT_FALSE(utf8::is_valid(invalid_utf8(1000)));
  EXPECT_NE(with_nul(10).find('\0'), std::string::npos);
  EXPECT_NE(crlf_rows(3).find("\r\n"), std::string::npos);
  EXPECT_NE(ansi_log(20).find("\x1b["), std::string::npos);
  for (const size_t size : {size_t{50}, size_t{51}, size_t{52}, size_t{20'000}}) {
    EXPECT_EQ(minified_json(size).size(), size);
    EXPECT_TRUE(parse_json(minified_json(size)).has_value()) << minified_json(size);
  }
  EXPECT_NE(random_bytes(64, 1), random_bytes(64, 2));
  EXPECT_EQ(random_bytes(64, 1), random_bytes(64, 1));
}

TEST(TempDir, IsPrivateAndGoes) {
  std::string path;
  {
    const TempDir dir("kit");
    path = dir.path();
    struct stat info{};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777u, 0700u);
    std::ofstream(dir / "file") << "x";
    EXPECT_EQ(access((dir / "file").c_str(), F_OK), 0);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace ebla::kit
