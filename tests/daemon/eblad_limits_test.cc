// A daemon that may open few files or has little memory: whoever crosses the limit gets an error
// with a name, and it lives on.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fstream>
#include <set>

#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

using EbladLimitsTest = EbladFixture;

// A group of processes that have so much memory together; gone with the object.
class MemoryGroup {
 public:
  explicit MemoryGroup(uint64_t bytes)
      : folder_("/sys/fs/cgroup/memory/ebla-test-" + std::to_string(::getpid())) {
    if (::mkdir(folder_.c_str(), 0700) != 0) return;
    made_ = true;
    std::ofstream limit(folder_ + "/memory.limit_in_bytes");
    limited_ = static_cast<bool>(limit << bytes << std::flush);
  }
  ~MemoryGroup() {
    if (!made_) return;
    EXPECT_EQ(::rmdir(folder_.c_str()), 0) << folder_;
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  bool usable() const { return limited_; }
  std::string members() const { return folder_ + "/cgroup.procs"; }

 private:
  std::string folder_;
  bool made_ = false;
  bool limited_ = false;
};

TEST_F(EbladLimitsTest, FewDescriptorsAreWaitedForOrToldOf) {
  EBLA_NEED_DEVICE();
  EBLA_NEED_ROOT();
  Eblad::Setup setup = mounted();
  setup.in_child = [] {
    const rlimit limit{.rlim_cur = 64, .rlim_max = 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  };
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(socket_));
    ASSERT_TRUE(clients.back()->connected()) << i;
    clients.back()->send("evict", evict_params("c" + std::to_string(i)),
                         {kit::numbered_rows(100'000 + static_cast<size_t>(i))});
  }
  std::set<int> stored;
  for (int i = 0; i < 200; ++i) {
    const CallAnswer answer = clients[static_cast<size_t>(i)]->receive();
    if (answer.result) {
      stored.insert(i);
    } else {
      EXPECT_TRUE(answer.error == "unavailable" || answer.error == "busy")
          << i << ": " << answer.error << ": " << answer.text;
    }
    clients[static_cast<size_t>(i)].reset();  // lets in one that waits
  }
  EXPECT_GE(stored.size(), 12u);

  Client client(socket_);
  EXPECT_EQ(text_of(client.must("status", "{}"), "state"), "ready");
  for (const int i : stored) {
    const std::string name = "/large_tool_results/c" + std::to_string(i);
    const std::string bytes = kit::numbered_rows(100'000 + static_cast<size_t>(i));
    ASSERT_TRUE(read_all(client, name) == bytes) << name;
    ASSERT_TRUE(read_file(mount_ + name, 1 << 20).value_or("") == bytes) << name;
  }
  client.must("evict", evict_params("after"), {kit::prose(90'000)});
}

// Written and read through the mount, put away and read through the socket: twice what it has.
TEST_F(EbladLimitsTest, LittleMemoryIsEnoughForLargeFiles) {
  EBLA_NEED_DEVICE();
  EBLA_NEED_ROOT();
  struct statfs disk{};
  if (::statfs(folder_.path().c_str(), &disk) != 0 || disk.f_type == TMPFS_MAGIC)
    GTEST_SKIP() << "the store would lie in the memory that is measured";
  const MemoryGroup group(96 << 20);
  if (!group.usable()) GTEST_SKIP() << "no group of processes with a limit of memory can be made";
  Eblad::Setup setup = mounted();
  setup.in_child = [members = group.members()] {
    std::ofstream(members) << ::getpid() << std::flush;
  };
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  ASSERT_NE(whole_file(group.members()), "");
  const std::string piece = kit::random_bytes(1 << 20, 5);
  {
    const auto file = open_file(mount_ + "/large", O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(file.has_value());
    for (int i = 0; i < 192; ++i) ASSERT_TRUE(write_full(file->get(), piece).has_value()) << i;
    ASSERT_EQ(::fsync(file->get()), 0);
  }
  Client client(socket_);
  const std::string content = kit::numbered_rows(40'000'000);
  client.must("evict", evict_params("large"), {content});
  ASSERT_TRUE(read_all(client, "/large_tool_results/large") == content);
  const auto file = open_file(mount_ + "/large", O_RDONLY);
  ASSERT_TRUE(file.has_value());
  std::string back(piece.size(), '\0');
  for (size_t i = 0; i < 192; ++i) {
    ASSERT_EQ(pread_full(file->get(), back.data(), back.size(), i * back.size()).value_or(0),
              back.size());
    ASSERT_TRUE(back == piece) << i;
  }
  EXPECT_EQ(text_of(client.must("status", "{}"), "state"), "ready");
  EXPECT_EQ(eblad.stop(), 0) << eblad.log();
}

}  // namespace
}  // namespace ebla::daemon
