// Several processes in one tree at once, each with files of its own under names that nobody else
// takes, in folders where all of them make, rename, link and remove shared names without end.
//
// EBLA_RANDOM_OPERATIONS: how many each does (600); EBLA_RANDOM_SEED: the first seed (1).
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "schema/base/fd.h"
#include "tests/kit/check_store.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/real_texts.h"
#include "tests/mount/on_disk.h"

namespace ebla {
namespace {

using kit::MountedChild;
using kit::TempDir;

constexpr size_t kProcesses = 4;
constexpr size_t kFolders = 3;
constexpr size_t kMostBytes = 1 << 20;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What one process does, and what its own files must hold. Names of one file share their bytes.
class Member {
 public:
  Member(std::string root, uint64_t number, uint64_t seed)
      : root_(std::move(root)), number_(number), random_(seed * kProcesses + number) {}

  void run(uint64_t count) {
    for (uint64_t i = 0; i < count && fault_.empty(); ++i) below(3) == 0 ? own() : shared();
    check();
  }
  const std::string& fault() const { return fault_; }

 private:
  using Bytes = std::shared_ptr<std::string>;

  size_t below(size_t bound) { return random_() % bound; }
  std::string folder() { return fmt::format("{}/d{}", root_, below(kFolders)); }
  std::string own_name() { return fmt::format("{}/own{}-{}", folder(), number_, below(20)); }
  std::string shared_name() { return fmt::format("{}/any{}", folder(), below(8)); }
  std::pair<const std::string, Bytes>& one_of_own() {
    return *std::next(own_.begin(), static_cast<ptrdiff_t>(below(own_.size())));
  }
  void must(bool good, const std::string& what) {
    if (!good && fault_.empty()) fault_ = fmt::format("{}: errno {}", what, errno);
  }

  void own();
  void shared();
  void check();
  void put(const std::string& name, int flags, const std::string& bytes) {
    const UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600));
    must(fd && write_full(fd.get(), bytes).has_value(), "write " + name);
  }

  std::string root_;
  uint64_t number_;
  std::mt19937_64 random_;
  std::map<std::string, Bytes> own_;
  std::string fault_;
};

void Member::own() {
  const std::string name = own_name();
  const auto there = own_.find(name);
  const size_t what = own_.empty() ? 0 : below(5);
  if (what == 0) {
    const std::string bytes =
        kit::random_bytes(below(4) == 0 ? below(200'000) : below(5'000), random_());
    put(name, O_TRUNC, bytes);
    if (there == own_.end()) own_[name] = std::make_shared<std::string>();
    *own_[name] = bytes;
  } else if (what == 1) {
    auto& [path, bytes] = one_of_own();
    const std::string more = kit::random_bytes(below(3'000), random_());
    put(path, O_APPEND, more);
    *bytes += more;
  } else if (what == 2) {
    const auto [path, bytes] = one_of_own();
    must(::rename(path.c_str(), name.c_str()) == 0, "rename " + path + " to " + name);
    if (there != own_.end() && there->second == bytes) return;  // names of one file: nothing moves
    own_.erase(path);
    own_[name] = bytes;
  } else if (what == 3) {
    const auto [path, bytes] = one_of_own();
    const bool linked = ::link(path.c_str(), name.c_str()) == 0;
    must(linked == (there == own_.end()), "link " + path + " as " + name);
    if (linked) own_[name] = bytes;
  } else {
    const std::string path = one_of_own().first;
    must(::unlink(path.c_str()) == 0, "unlink " + path);
    own_.erase(path);
  }
}

// Whatever others did to the names meanwhile: it works, or fails for a reason that they gave.
void Member::shared() {
  const std::string one = shared_name();
  const std::string other = shared_name();
  const auto attempt = [&]() -> int {
    switch (below(9)) {
      case 0:
        return ::close(::open(one.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
      case 1:
        return ::unlink(one.c_str());
      case 2:
        return ::rename(one.c_str(), other.c_str());
      case 3:
        return ::link(one.c_str(), other.c_str());
      case 4:
        return ::symlink("nowhere", one.c_str());
      case 5:
        return ::mkdir(one.c_str(), 0700);
      case 6:
        return ::rmdir(one.c_str());
      case 7:
        return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
      default: {
        const UniqueFd fd(::open(one.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        const auto at = static_cast<off_t>(below(100'000));
        return fd && ::pwrite(fd.get(), "some bytes", 10, at) != 10 ? -1 : 0;
      }
    }
  };
  errno = 0;
  if (attempt() == 0) return;
  const std::set<int> reasons = {EEXIST, ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EPERM, EBADF, ELOOP};
  must(reasons.contains(errno), "a shared name, " + one);
}

void Member::check() {
  for (const auto& [path, bytes] : own_) {
    const auto now = read_file(path, kMostBytes);
    must(now && *now == *bytes, fmt::format("{} does not hold its {} bytes", path, bytes->size()));
  }
  size_t listed = 0;
  const std::string prefix = fmt::format("own{}-", number_);
  for (size_t i = 0; i < kFolders; ++i) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/d{}", root_, i), error)) {
      listed += entry.path().filename().string().starts_with(prefix) ? 1u : 0u;
    }
    must(!error, "list a folder");
  }
  must(listed == own_.size(), fmt::format("{} names are listed, not {}", listed, own_.size()));
}

TEST(MountCrowd, NobodyLosesWhatIsHis) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("crowd");
  const uint64_t count = from_environment("EBLA_RANDOM_OPERATIONS", 600);
  const uint64_t seed = from_environment("EBLA_RANDOM_SEED", 1);
  MountedChild child(kit::on_disk(dir / "store", dir / "m"));
  ASSERT_EQ(child.mount_error(), "");
  for (size_t i = 0; i < kFolders; ++i) {
    ASSERT_EQ(::mkdir((dir / fmt::format("m/d{}", i)).c_str(), 0700), 0);
  }
  std::array<pid_t, kProcesses> members{};
  for (size_t i = 0; i < kProcesses; ++i) {
    members.at(i) = ::fork();
    if (members.at(i) != 0) continue;
    Member member(dir / "m", i, seed);
    member.run(count);
    if (!member.fault().empty()) {
      std::fprintf(stderr, "seed %llu, process %zu: %s\n", static_cast<unsigned long long>(seed), i,
                   member.fault().c_str());
    }
    std::_Exit(member.fault().empty() ? 0 : 1);
  }
  for (const pid_t member : members) {
    int status = -1;
    ASSERT_EQ(::waitpid(member, &status, 0), member);
    EXPECT_EQ(status, 0) << "see what it said above";
  }
  child.stop();
  EXPECT_THAT(kit::check_store(dir / "store"), testing::IsEmpty());
}

}  // namespace
}  // namespace ebla
