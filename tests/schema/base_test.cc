// The small kit below everything: errors, UTF-8, hashes, descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>

#include "schema/base/edit_distance.h"
#include "schema/base/fd.h"
#include "schema/base/hash.h"
#include "schema/base/host_path.h"
#include "schema/base/result.h"
#include "schema/base/utf8.h"

namespace ebla {
namespace {

using namespace std::string_literals;

TEST(ErrorTable, SystemErrorsKeepTheirMeaning) {
  for (int value : {ENOENT, EACCES, EPERM, ENOSPC, EDQUOT, EROFS, ENAMETOOLONG, ENOTDIR, EISDIR}) {
    EXPECT_EQ(code_info(errno_error(value, "open x").code).errno_value, value);
  }
  EXPECT_EQ(errno_error(ENOSPC, "write x").text, "write x: No space left on device");
  EXPECT_EQ(code_info(errno_error(EIO, "x").code).errno_value, EIO);
}

TEST(ErrorTable, StartFailuresHaveExitStatusesOfTheirOwn) {
  std::set<int> seen;
  for (Code code : {Code::store_locked, Code::store_newer, Code::store_foreign, Code::store_damaged,
                    Code::unsafe_filesystem, Code::mount_failed, Code::socket_in_use,
                    Code::bad_configuration, Code::usage, Code::not_running}) {
    EXPECT_TRUE(seen.insert(code_info(code).exit_status).second) << code_info(code).name;
  }
}

TEST(Utf8, DecodesStrictly) {
  EXPECT_TRUE(utf8::is_valid("a\u00e9中😀\U0010FFFF"));
  for (const std::string& bad :
       {"\x80"s, "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s,
        "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xe4\xb8"s, "\xff"s}) {
    EXPECT_FALSE(utf8::is_valid(bad));
    EXPECT_EQ(utf8::count(bad), bad.size()) << "an invalid byte counts one";
    EXPECT_TRUE(utf8::is_valid(utf8::to_valid(bad)));
  }
}

TEST(Utf8, NeverCutsACharacter) {
  const std::string text = "ab中😀é";
  for (size_t limit = 0; limit <= text.size() + 1; ++limit) {
    const size_t at = utf8::floor_boundary(text, limit);
    EXPECT_LE(at, limit);
    EXPECT_TRUE(utf8::is_valid(text.substr(0, at))) << limit;
    EXPECT_LE(limit - at, limit > text.size() ? 1u : 3u);
  }
  EXPECT_EQ(utf8::floor_boundary("\xff\xff\xff", 2), 2u) << "invalid bytes are no character";
}

TEST(Utf8, KnowsAnIncompleteTail) {
  const std::string text = "😀";
  EXPECT_EQ(utf8::incomplete_tail("a" + text.substr(0, 1)), 1u);
  EXPECT_EQ(utf8::incomplete_tail("a" + text.substr(0, 3)), 3u);
  EXPECT_EQ(utf8::incomplete_tail("a" + text), 0u);
  EXPECT_EQ(utf8::incomplete_tail("a\xff"), 0u);
  EXPECT_EQ(utf8::incomplete_tail("\xed\xa0"), 0u) << "half a surrogate becomes nothing";
}

TEST(Hash, MatchesThePublishedTool) {
  // As xxh128sum prints for the same bytes.
  EXPECT_EQ(xxh3_128("").hex(), "99aa06d3014798d86001c324468d497f");
  const std::string text(1'000'000, 'x');
  Hasher128 hasher;
  hasher.update(std::string_view(text).substr(0, 12345));
  hasher.update(std::string_view(text).substr(12345));
  EXPECT_EQ(hasher.digest(), xxh3_128(text));
  EXPECT_EQ(Hash128::from_bytes(xxh3_128(text).bytes().data()), xxh3_128(text));
  const std::string hex = xxh3_128(text).hex();
  EXPECT_EQ(Hash128::from_hex(hex), xxh3_128(text));
  for (const std::string& none : {std::string(), hex.substr(1), hex + "0", "+" + hex.substr(1),
                                  "g" + hex.substr(1), hex.substr(0, 31) + " "}) {
    EXPECT_EQ(Hash128::from_hex(none), std::nullopt) << none;
  }
}

TEST(Fd, ReadsAndWritesInFull) {
  char path[] = "/tmp/ebla-fd-XXXXXX";
  UniqueFd fd(::mkostemp(path, O_CLOEXEC));
  ASSERT_TRUE(fd);
  ::unlink(path);
  ASSERT_TRUE(write_full(fd.get(), "hello "));
  ASSERT_TRUE(pwrite_full(fd.get(), "world", 6));
  char buffer[32];
  EXPECT_EQ(pread_full(fd.get(), buffer, sizeof buffer, 0).value(), 11u);
  EXPECT_EQ(std::string(buffer, 11), "hello world");
  EXPECT_EQ(open_file("/nonexistent/x", O_RDONLY).error().code, Code::file_not_found);
  EXPECT_EQ(read_file("/proc/self/maps", 1).error().code, Code::too_large);
}

TEST(HostPath, FolderOfTheLastElement) {
  EXPECT_EQ(folder_of("/a/b/c"), "/a/b");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("/"), "/");
  EXPECT_EQ(folder_of("a/b"), "a");
  EXPECT_EQ(folder_of("a"), ".");
}

TEST(EditDistance, CountsSwapsOnce) {
  EXPECT_EQ(edit_distance("evict", "evict"), 0u);
  EXPECT_EQ(edit_distance("evict", "evcit"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace ebla
