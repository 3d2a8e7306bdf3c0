// Random work on a mount and in a native folder, the same on both: every call comes to the same,
// and so do the trees.
//
// EBLA_RANDOM_SEED (1), EBLA_RANDOM_OPERATIONS (2500).
#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include <array>
#include <cstdlib>
#include <random>

#include "tests/kit/real_texts.h"
#include "tests/parity/both_sides.h"
#include "tests/parity/calls.h"

namespace ebla {
namespace {

using kit::came_to;
using kit::content;
using kit::opened;
using kit::status;
using RandomParity = kit::BothSides;

uint64_t from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}
uint64_t seed() {
  return from_environment("EBLA_RANDOM_SEED", 1);
}
uint64_t operations() {
  return from_environment("EBLA_RANDOM_OPERATIONS", 2500);
}

constexpr uint64_t kMostBytes = 600'000;

struct Change {
  uint64_t kind = 0;
  off_t offset = 0;
  size_t length = 1;
  char byte = 'x';
};

std::string change_map(int fd, const Change& change) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || info.st_size == 0) return "empty";
  const auto size = static_cast<size_t>(info.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return "no map";
  auto* bytes = static_cast<char*>(at);
  const size_t first = static_cast<size_t>(change.offset) % size;
  const size_t end = std::min(size, first + change.length);
  for (size_t i = first; i < end; i += 997) bytes[i] = change.byte;
  std::string sum = xxh3_128({bytes, size}).hex();
  // What is stored into a map and not synced is the kernel's alone.
  ::msync(at, size, MS_SYNC);
  ::munmap(at, size);
  return sum;
}

std::string change_file(int fd, const Change& change, const std::string& bytes) {
  const auto length = static_cast<off_t>(change.length);
  switch (change.kind) {
    case 0:
      return came_to(::ftruncate(fd, change.offset));
    case 1:
      return came_to(
          ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, change.offset, length));
    case 2:
      return came_to(::fallocate(fd, FALLOC_FL_ZERO_RANGE, change.offset, length));
    case 3:
      return came_to(::fallocate(fd, 0, change.offset, length));
    case 4:
      return came_to(::fsync(fd));
    case 5:
      return change_map(fd, change);
    case 6: {
      off64_t from = change.offset;
      off64_t to = (change.offset + 7919 * length) % static_cast<off64_t>(kMostBytes);
      return came_to(::copy_file_range(fd, &from, fd, &to, change.length, 0));
    }
    case 7:
    case 8: {
      std::string out(change.length, '\0');
      const ssize_t n = ::pread(fd, out.data(), out.size(), change.offset);
      return came_to(n) + xxh3_128(out).hex();
    }
    default:
      return came_to(::pwrite(fd, bytes.data(), change.length, change.offset));
  }
}

// One descriptor stays open, so that what others cut and write is seen through it.
TEST_F(RandomParity, ContentOfAFile) {
  std::mt19937_64 random(seed());
  const std::string bytes = kit::random_bytes(100'000, 3);
  const std::string there = mounted() + "/f";
  const std::string here = native() + "/f";
  ASSERT_EQ(opened(there, O_WRONLY | O_CREAT), opened(here, O_WRONLY | O_CREAT));
  const auto kept_there = open_file(there, O_RDWR);
  const auto kept_here = open_file(here, O_RDWR);
  ASSERT_TRUE(kept_there && kept_here);
  for (uint64_t i = 0; i < operations(); ++i) {
    const Change change{.kind = random() % 18,
                        .offset = static_cast<off_t>(random() % kMostBytes),
                        .length = random() % (random() % 4 == 0 ? 90'000 : 5000) + 1,
                        .byte = static_cast<char>('a' + random() % 26)};
    if (random() % 2 == 0) {
      ASSERT_EQ(change_file(kept_there->get(), change, bytes),
                change_file(kept_here->get(), change, bytes))
          << i << " kind " << change.kind;
    } else {
      const auto work = [&](int fd) { return change_file(fd, change, bytes); };
      ASSERT_EQ(opened(there, O_RDWR, work), opened(here, O_RDWR, work))
          << i << " kind " << change.kind;
    }
    if (i % 50 == 0) {
      ASSERT_EQ(content(there) + status(there), content(here) + status(here)) << i;
    }
  }
}

struct NameCall {
  uint64_t kind = 0;
  std::string from;
  std::string to;
  uint32_t number = 0;
};

std::string call(const NameCall& op, const std::string& root) {
  const std::string from = root + op.from;
  const std::string to = root + op.to;
  switch (op.kind) {
    case 0:
    case 1:
      return came_to(::mkdir(from.c_str(), 0700 + op.number % 0100));
    case 2:
      return came_to(::rmdir(from.c_str()));
    case 3:
      return came_to(::unlink(from.c_str()));
    case 4:
      return came_to(::link(from.c_str(), to.c_str()));
    case 5:
      // Relative: it never leads out of the tree.
      return came_to(::symlink(op.to.c_str() + 1, from.c_str()));
    case 6:
      return came_to(::chmod(from.c_str(), op.number % 07777 | 0700));
    case 7:
      return came_to(::chown(from.c_str(), op.number % 3, op.number % 5));
    case 8:
      return came_to(::setxattr(from.c_str(), op.number % 2 == 0 ? "user.a" : "user.b", "v", 1,
                                static_cast<int>(op.number / 2 % 3)));
    case 9:
      return came_to(::removexattr(from.c_str(), op.number % 2 == 0 ? "user.a" : "user.b"));
    case 10:
      return came_to(::truncate(from.c_str(), static_cast<off_t>(op.number % 3000)));
    case 11:
    case 12:
    case 13:
    case 14:
      return came_to(::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                                 static_cast<unsigned>(op.number % 4)));
    default:
      return opened(from, O_WRONLY | O_CREAT | (op.number % 2 == 0 ? O_APPEND : O_TRUNC),
                    [&](int fd) { return came_to(::write(fd, "some bytes", op.number % 11)); });
  }
}

TEST_F(RandomParity, NamesAndAttributes) {
  std::mt19937_64 random(seed());
  constexpr std::array<const char*, 6> kNames = {"a", "b", "c", "d", "\xff e", "f"};
  const auto some_path = [&] {
    std::string path;
    for (uint64_t depth = random() % 3 + 1; depth > 0; --depth) {
      path += std::string("/") + kNames.at(random() % kNames.size());
    }
    return path;
  };
  for (uint64_t i = 0; i < operations(); ++i) {
    const NameCall op{.kind = random() % 19,
                      .from = some_path(),
                      .to = some_path(),
                      .number = static_cast<uint32_t>(random())};
    ASSERT_EQ(call(op, mounted()), call(op, native()))
        << i << " kind " << op.kind << " " << op.from << " " << op.to << " " << op.number;
    ASSERT_EQ(status(mounted() + op.from), status(native() + op.from)) << i << " " << op.from;
    if (i % 250 == 0) {
      ASSERT_EQ(tree_of(mounted()), tree_of(native())) << i;
    }
  }
  EXPECT_EQ(tree_of(mounted()), tree_of(native()));
}

// Every entry that lives through a scan comes once, however many others go meanwhile.
TEST_F(RandomParity, DeletingWhileScanning) {
  const std::string root = mounted() + "/";
  for (int i = 0; i < 3000; ++i) opened(fmt::format("{}f{}", root, i), O_WRONLY | O_CREAT);
  size_t seen = 0;
  DIR* dir = ::opendir(root.c_str());
  ASSERT_NE(dir, nullptr);
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != 'f') continue;
    ++seen;
    ::unlink((root + entry->d_name).c_str());
  }
  ::closedir(dir);
  EXPECT_EQ(seen, 3000U);
  EXPECT_EQ(::rmdir(root.c_str()), 0);
}

}  // namespace
}  // namespace ebla
