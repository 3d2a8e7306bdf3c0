// A disk that is full and comes back, a limit on file sizes: an error with a name, the content
// stays with the client, reads go on.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <fstream>

#include "tests/daemon/eblad_fixture.h"
#include "tests/kit/private_mounts.h"

namespace ebla::daemon {
namespace {

using EbladTroubleTest = EbladFixture;

TEST_F(EbladTroubleTest, AFullDiskRefusesGrowthAndRecovers) {
  EBLA_NEED_ROOT();
  ASSERT_TRUE(kit::keep_mounts_private());
  const std::string disk = folder_ / "disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", 0, "size=64m"), 0);
  {
    Eblad::Setup setup = unmounted();
    setup.store = disk + "/store.db";
    Eblad eblad(setup);
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    const std::string kept = kit::numbered_rows(500'000);
    client.must("evict", evict_params("kept"), {kept});
    // Somebody else fills the disk.
    const UniqueFd filler(::open((disk + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string zeros(1 << 20, 'z');
    while (write_full(filler.get(), zeros)) {
    }
    CallAnswer answer;
    int taken = 0;
    for (int i = 0; i < 200; ++i, ++taken) {
      const std::string id = "more" + std::to_string(i);
      answer = client.call("evict", evict_params(id),
                           {kit::random_bytes(900'000, static_cast<uint64_t>(1000 + i))});
      if (!answer.result) break;
    }
    EXPECT_EQ(answer.error, "no_space") << answer.text;
    EXPECT_EQ(read_all(client, "/large_tool_results/kept"), kept);
    EXPECT_EQ(text_of(client.must("status", "{}"), "state"), "degraded");
    // It has room again.
    ASSERT_EQ(::unlink((disk + "/filler").c_str()), 0);
    ASSERT_EQ(::ftruncate(filler.get(), 0), 0);
    for (int i = 0; i < 100; ++i) {
      answer = client.call("evict", evict_params("again"), {kit::numbered_rows(500'001)});
      if (answer.result) break;
      ::usleep(100'000);  // the store looks at the disk from time to time
    }
    ASSERT_TRUE(answer.result) << answer.error << ": " << answer.text;
    EXPECT_EQ(read_all(client, "/large_tool_results/again"), kit::numbered_rows(500'001));
    EXPECT_EQ(read_all(client, "/large_tool_results/kept"), kept);
    for (int i = 0; i < taken; ++i) {
      EXPECT_EQ(read_all(client, "/large_tool_results/more" + std::to_string(i)),
                kit::random_bytes(900'000, static_cast<uint64_t>(1000 + i)));
    }
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(EbladTroubleTest, ALimitOnFileSizesIsAnErrorNotTheEnd) {
  Eblad::Setup setup = unmounted();
  setup.in_child = [] {
    const rlimit limit{.rlim_cur = 24 << 20, .rlim_max = 24 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const std::string kept = kit::numbered_rows(500'000);
  client.must("evict", evict_params("kept"), {kept});
  CallAnswer answer;
  int taken = 0;
  for (int i = 0; i < 100; ++i, ++taken) {
    answer = client.call("evict", evict_params("more" + std::to_string(i)),
                         {kit::random_bytes(900'000, static_cast<uint64_t>(1000 + i))});
    if (!answer.result) break;
  }
  EXPECT_TRUE(answer.error == "no_space" || answer.error == "io_error")
      << answer.error << ": " << answer.text;
  EXPECT_LT(taken, 40);
  EXPECT_EQ(read_all(client, "/large_tool_results/kept"), kept);
  for (int i = 0; i < taken; ++i) {
    EXPECT_EQ(read_all(client, "/large_tool_results/more" + std::to_string(i)),
              kit::random_bytes(900'000, static_cast<uint64_t>(1000 + i)));
  }
}

}  // namespace
}  // namespace ebla::daemon
