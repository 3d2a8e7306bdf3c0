// Two files on a mount of a store on disk, worked on by random operations as fsx does it, beside
// two strings that say what must be read. A failure names its seed and its last operations.
//
// EBLA_RANDOM_OPERATIONS: how many in all (2,000); EBLA_RANDOM_SEED: the first seed (1), each has
// 1,000 of them; EBLA_RANDOM_FOLDER: a folder to work in instead, to try the test itself.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>

#include "schema/base/fd.h"
#include "tests/kit/check_store.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/real_texts.h"
#include "tests/mount/on_disk.h"

namespace ebla {
namespace {

using kit::MountedChild;
using kit::on_disk;
using kit::TempDir;

constexpr size_t kMostBytes = 700'000;
constexpr size_t kPageBytes = 4096;
constexpr size_t kChunkBytes = 128 << 10;
constexpr uint64_t kOperationsOfASeed = 1'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct File {
  std::string path;
  std::string bytes;  // what it holds
  UniqueFd fd = {};
};

class RandomFiles {
 public:
  RandomFiles(const std::string& folder, uint64_t seed) : random_(seed), seed_(seed) {
    for (size_t i = 0; i < files_.size(); ++i) {
      files_[i].path = fmt::format("{}/r{}", folder, i);
      ::unlink(files_[i].path.c_str());
      reopen(files_[i]);
    }
  }

  void run(uint64_t count);

 private:
  struct Range {
    size_t offset = 0;
    size_t length = 0;
    size_t end() const { return offset + length; }
  };

  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  // Near a border of a page or a chunk more often than not.
  size_t place(size_t most);
  Range range(size_t most);
  std::string fresh(size_t length) { return kit::random_bytes(length, random_()); }
  File& any() { return files_[below(files_.size())]; }
  void note(std::string text);
  std::string history() const;

  void step();
  void reopen(File& file);
  void write(File& file);
  void append(File& file);
  void read(File& file);
  void map_read(File& file);
  void map_write(File& file);
  void truncate(File& file);
  void allocate(File& file);
  void copy(File& from, File& to);
  void seek(File& file);
  void forget_pages(File& file);
  void check_whole(File& file);
  void must(bool good, std::string_view what) {
    ASSERT_TRUE(good) << what << ": errno " << errno << history();
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  uint64_t done_ = 0;
  std::array<File, 2> files_;
  std::deque<std::string> notes_;
};

size_t RandomFiles::place(size_t most) {
  const size_t border = below(3) == 0 ? kChunkBytes : kPageBytes;
  size_t at = below(most + 1);
  if (below(2) == 0) at = at / border * border + below(3) - (at >= border ? below(3) : 0);
  return std::min(at, most);
}

RandomFiles::Range RandomFiles::range(size_t most) {
  const size_t first = place(most);
  size_t last = below(3) == 0 ? place(most) : std::min(most, first + below(20'000));
  if (below(8) == 0) last = first;
  return {std::min(first, last), std::max(first, last) - std::min(first, last)};
}

void RandomFiles::note(std::string text) {
  notes_.push_back(fmt::format("{} {}", done_, std::move(text)));
  if (notes_.size() > 40) notes_.pop_front();
}

std::string RandomFiles::history() const {
  std::string out = fmt::format("\nseed {}", seed_);
  for (const std::string& one : notes_) out += "\n  " + one;
  return out;
}

void RandomFiles::reopen(File& file) {
  note("reopen " + file.path);
  file.fd.reset();
  file.fd = UniqueFd(::open(file.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  must(file.fd.get() >= 0, "open");
}

void RandomFiles::write(File& file) {
  const Range to = range(kMostBytes);
  note(fmt::format("write {} {}+{} of {}", file.path, to.offset, to.length, file.bytes.size()));
  const std::string bytes = fresh(to.length);
  must(pwrite_full(file.fd.get(), bytes, to.offset).has_value(), "write");
  if (to.length == 0) return;
  if (file.bytes.size() < to.end()) file.bytes.resize(to.end());
  file.bytes.replace(to.offset, to.length, bytes);
}

void RandomFiles::append(File& file) {
  const std::string bytes = fresh(below(9'000));
  if (file.bytes.size() + bytes.size() > kMostBytes) return;
  note(fmt::format("append {} {}+{}", file.path, file.bytes.size(), bytes.size()));
  const UniqueFd fd(::open(file.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  must(write_full(fd.get(), bytes).has_value(), "append");
  file.bytes += bytes;
}

void RandomFiles::read(File& file) {
  const Range from = range(kMostBytes);
  note(fmt::format("read {} {}+{} of {}", file.path, from.offset, from.length, file.bytes.size()));
  std::string bytes(from.length, '?');
  const auto n = pread_full(file.fd.get(), bytes.data(), bytes.size(), from.offset);
  must(n.has_value(), "read");
  bytes.resize(*n);
  const std::string wanted =
      from.offset < file.bytes.size() ? file.bytes.substr(from.offset, from.length) : "";
  must(bytes == wanted, "other bytes were read");
}

void RandomFiles::map_read(File& file) {
  if (file.bytes.empty()) return;
  const Range from = range(file.bytes.size());
  note(fmt::format("map {} {}+{} of {}", file.path, from.offset, from.length, file.bytes.size()));
  void* at = ::mmap(nullptr, file.bytes.size(), PROT_READ, MAP_SHARED, file.fd.get(), 0);
  must(at != MAP_FAILED, "mmap");
  const std::string_view all(static_cast<const char*>(at), file.bytes.size());
  const bool same = all.substr(from.offset, from.length) ==
                    std::string_view(file.bytes).substr(from.offset, from.length);
  // What lies behind the end in its last page is never anything but zeros.
  const size_t tail = (kPageBytes - file.bytes.size() % kPageBytes) % kPageBytes;
  const std::string_view behind(all.data() + all.size(), tail);
  const bool zeros = behind.find_first_not_of('\0') == std::string_view::npos;
  ::munmap(at, file.bytes.size());
  must(same, "other bytes are mapped");
  must(zeros, "bytes behind the end");
}

void RandomFiles::map_write(File& file) {
  if (file.bytes.empty()) return;
  const Range to = range(file.bytes.size());
  note(fmt::format("store {} {}+{} of {}", file.path, to.offset, to.length, file.bytes.size()));
  const std::string bytes = fresh(to.length);
  void* at =
      ::mmap(nullptr, file.bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd.get(), 0);
  must(at != MAP_FAILED, "mmap");
  std::ranges::copy(bytes, static_cast<char*>(at) + to.offset);
  if (below(2) == 0) must(::msync(at, file.bytes.size(), MS_SYNC) == 0, "msync");
  ::munmap(at, file.bytes.size());
  file.bytes.replace(to.offset, to.length, bytes);
}

void RandomFiles::truncate(File& file) {
  const size_t size = below(6) == 0 ? 0 : place(kMostBytes);
  note(fmt::format("truncate {} {} of {}", file.path, size, file.bytes.size()));
  const bool by_name = below(2) == 0;
  must((by_name ? ::truncate(file.path.c_str(), static_cast<off_t>(size))
                : ::ftruncate(file.fd.get(), static_cast<off_t>(size))) == 0,
       "truncate");
  file.bytes.resize(size);
}

void RandomFiles::allocate(File& file) {
  constexpr std::array kModes = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE};
  const int mode = kModes[below(kModes.size())];
  const Range what = range(kMostBytes);
  if (what.length == 0) return;
  note(fmt::format("allocate {} {}+{} of {} mode {}", file.path, what.offset, what.length,
                   file.bytes.size(), mode));
  const int failed = ::fallocate(file.fd.get(), mode, static_cast<off_t>(what.offset),
                                 static_cast<off_t>(what.length));
  must(failed == 0, "fallocate");
  if ((mode & FALLOC_FL_KEEP_SIZE) == 0 && file.bytes.size() < what.end()) {
    file.bytes.resize(what.end());
  }
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) return;
  const size_t last = std::min(what.end(), file.bytes.size());
  if (what.offset >= last) return;
  file.bytes.replace(what.offset, last - what.offset, last - what.offset, '\0');
}

void RandomFiles::copy(File& from, File& to) {
  const Range what = range(from.bytes.size());
  const size_t target = place(kMostBytes - what.length);
  const bool overlaps = &from == &to && target < what.end() && what.offset < target + what.length;
  if (what.length == 0 || overlaps) return;
  note(fmt::format("copy {} {}+{} of {} to {} {} of {}", from.path, what.offset, what.length,
                   from.bytes.size(), to.path, target, to.bytes.size()));
  auto in = static_cast<off64_t>(what.offset);
  auto out = static_cast<off64_t>(target);
  for (size_t left = what.length; left != 0;) {
    const ssize_t n = ::copy_file_range(from.fd.get(), &in, to.fd.get(), &out, left, 0);
    must(n > 0, "copy_file_range");
    if (n <= 0) return;
    left -= static_cast<size_t>(n);
  }
  const std::string bytes = from.bytes.substr(what.offset, what.length);
  if (to.bytes.size() < target + bytes.size()) to.bytes.resize(target + bytes.size());
  to.bytes.replace(target, bytes.size(), bytes);
}

// A hole must read as zeros; where data is said to be is up to the store.
void RandomFiles::seek(File& file) {
  if (file.bytes.empty()) return;
  const size_t from = below(file.bytes.size());
  note(fmt::format("seek {} {} of {}", file.path, from, file.bytes.size()));
  const off_t data = ::lseek(file.fd.get(), static_cast<off_t>(from), SEEK_DATA);
  must(data >= 0 || errno == ENXIO, "SEEK_DATA");
  const size_t next = data < 0 ? file.bytes.size() : static_cast<size_t>(data);
  const bool zeros = file.bytes.find_first_not_of('\0', from) >= next;
  must(next >= from && zeros, "a hole with bytes in it");
  const off_t hole = ::lseek(file.fd.get(), static_cast<off_t>(from), SEEK_HOLE);
  must(hole >= static_cast<off_t>(from) && hole <= static_cast<off_t>(file.bytes.size()),
       "SEEK_HOLE");
}

void RandomFiles::forget_pages(File& file) {
  note("forget pages of " + file.path);
  must(::fsync(file.fd.get()) == 0, "fsync");
  ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void RandomFiles::check_whole(File& file) {
  struct stat info = {};
  must(::stat(file.path.c_str(), &info) == 0, "stat");
  must(info.st_size == static_cast<off_t>(file.bytes.size()),
       fmt::format("{} has {} bytes, not {}", file.path, info.st_size, file.bytes.size()));
  const auto bytes = read_file(file.path, kMostBytes);
  must(bytes.has_value(), "read");
  const auto at = std::ranges::mismatch(*bytes, file.bytes).in1 - bytes->begin();
  must(*bytes == file.bytes, fmt::format("{} differs at {}", file.path, at));
}

void RandomFiles::step() {
  File& file = any();
  switch (below(20)) {
    case 0:
      return reopen(file);
    case 1:
    case 2:
      return append(file);
    case 3:
    case 4:
      return map_write(file);
    case 5:
    case 6:
      return map_read(file);
    case 7:
    case 8:
      return truncate(file);
    case 9:
    case 10:
      return allocate(file);
    case 11:
    case 12:
      return copy(file, any());
    case 13:
      return seek(file);
    case 14:
      return forget_pages(file);
    case 15:
      return check_whole(file);
    case 16:
    case 17:
      return read(file);
    default:
      return write(file);
  }
}

void RandomFiles::run(uint64_t count) {
  for (; done_ < count && !testing::Test::HasFatalFailure(); ++done_) step();
  for (File& file : files_) {
    if (!testing::Test::HasFatalFailure()) check_whole(file);
  }
}

TEST(MountRandom, FilesHoldWhatWasDoneToThem) {
  const char* elsewhere = std::getenv("EBLA_RANDOM_FOLDER");
  const TempDir dir("random");
  std::optional<MountedChild> child;
  if (elsewhere == nullptr) {
    EBLA_NEED_FUSE();
    ASSERT_TRUE(kit::keep_mounts_private());
    child.emplace(on_disk(dir / "store", dir / "m"));
    ASSERT_EQ(child->mount_error(), "");
  }
  const std::string folder = elsewhere == nullptr ? dir / "m" : elsewhere;
  const uint64_t count = from_environment("EBLA_RANDOM_OPERATIONS", 2'000);
  uint64_t seed = from_environment("EBLA_RANDOM_SEED", 1);
  for (uint64_t done = 0; done < count && !HasFatalFailure(); done += kOperationsOfASeed) {
    RandomFiles(folder, seed++).run(std::min(kOperationsOfASeed, count - done));
  }
  if (!child || HasFatalFailure()) return;
  child->stop();
  EXPECT_THAT(kit::check_store(dir / "store"), testing::IsEmpty());
}

}  // namespace
}  // namespace ebla
