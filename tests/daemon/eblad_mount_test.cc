// Mounts that come and go by the control socket.
#include <sys/stat.h>

#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

class EbladMountTest : public EbladFixture {
 protected:
  static std::string directory(std::string_view path, std::string_view more = "") {
    return "{\"directory\":" + json_string(path) + std::string(more) + "}";
  }
};

TEST_F(EbladMountTest, ComeAndGoWhileOthersServe) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const Json gone = client.must("evict", evict_params("c"), {kit::prose(90'000)});
  const std::string second = folder_ / "second";
  const Json added =
      client.must("mount.add", directory(second, R"(,"subtree":"/large_tool_results")"));
  EXPECT_EQ(text_of(added, "subtree"), "/large_tool_results");
  EXPECT_TRUE(added.find("alive")->boolean);
  EXPECT_FALSE(added.find("writable")->boolean) << "the tree is written through the first";
  const std::string name = text_of(gone, "path").substr(20);
  EXPECT_EQ(whole_file(second + "/" + name), kit::prose(90'000));
  EXPECT_EQ(client.must("status", "{}").find("mounts")->items.size(), 2u);
  EXPECT_EQ(text_of(client.must("mount.remove", directory(second + "/")), "directory"), second);
  EXPECT_NE(::access(second.c_str(), F_OK), 0);
  // By umount(8): forgotten by itself.
  ASSERT_EQ(kit::shell("umount " + mount_).output, "");
  while (!client.must("status", "{}").find("mounts")->items.empty()) {
  }
  EXPECT_TRUE(client.must("mount.add", directory(mount_)).find("writable")->boolean);
  EXPECT_EQ(whole_file(mount_ + "/large_tool_results/" + name), kit::prose(90'000));
  EXPECT_EQ(eblad.stop(), kExitOk);
}

TEST_F(EbladMountTest, RefusalsAreClear) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  struct Row {
    const char* method;
    std::string params;
    const char* error;
    const char* says;
  };
  const Row table[] = {
      {"mount.add", directory(mount_), "mount_failed", "mounted already"},
      {"mount.add", directory(mount_ + "/large_tool_results"), "mount_failed", "overlap"},
      {"mount.add", directory(folder_ / "state"), "mount_failed", "would cover"},
      {"mount.add", directory(folder_ / "no/such"), "mount_failed", "mkdir -p"},
      {"mount.add", directory("relative"), "invalid_params", "absolute path"},
      {"mount.add", directory(folder_ / "n", R"(,"subtree":"/absent")"), "mount_failed", "/absent"},
      {"mount.add", directory(folder_ / "n", R"(,"subtree":"absent")"), "invalid_path", ""},
      {"mount.remove", directory(folder_ / "n"), "file_not_found", "nothing of this daemon"},
      {"mount.remove", directory("n"), "invalid_params", "absolute path"},
  };
  for (const Row& row : table) {
    const CallAnswer answer = client.call(row.method, row.params);
    EXPECT_EQ(answer.error, row.error) << row.params << " " << answer.text;
    EXPECT_NE(answer.text.find(row.says), std::string::npos) << answer.text;
  }
  EXPECT_EQ(kit::shell("ls " + mount_).output, "conversation_history\nlarge_tool_results\n");
  EXPECT_EQ(eblad.stop(), kExitOk);
}

TEST_F(EbladMountTest, GuestsMayNot) {
  EBLA_NEED_ROOT();
  Eblad::Setup setup = unmounted();
  setup.arguments.insert(setup.arguments.end(), {"--allow-uid", "65533"});
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ / "run").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket_.c_str(), 0666), 0);
  EXPECT_EQ(as_user(65533,
                    [&] {
                      Client guest(socket_);
                      const std::string params = directory(folder_ / "n");
                      if (guest.call("mount.add", params).error != "permission_denied") return 1;
                      if (guest.call("mount.remove", params).error != "permission_denied") return 2;
                      return 0;
                    }),
            0);
}

TEST_F(EbladMountTest, UntilUnmounted) {
  EBLA_NEED_DEVICE();
  Eblad::Setup setup = unmounted();
  setup.arguments.emplace_back("--until-unmounted");
  {
    Eblad eblad(setup);
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    client.must("mount.add", directory(mount_));
    EXPECT_EQ(client.call("mount.add", directory(mount_)).error, "mount_failed") << "and it stays";
    ASSERT_EQ(kit::shell("umount " + mount_).output, "");
    EXPECT_EQ(eblad.wait(), kExitOk) << eblad.log();
  }
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  EXPECT_EQ(client.call("mount.add", directory(folder_ / "no/such")).error, "mount_failed");
  EXPECT_EQ(eblad.wait(), kExitOk) << "the first could not be made";
}

TEST_F(EbladMountTest, TheLockSaysWhereItsHolderListens) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  EXPECT_EQ(whole_file(store_ + ".lock"), std::to_string(eblad.pid()) + "\n" + socket_ + "\n");
}

}  // namespace
}  // namespace ebla::daemon
