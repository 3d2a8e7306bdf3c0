#include "tools/host.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/fd.h"
#include "tests/kit/temp_dir.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HostTest : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text, unsigned mode = 0600) const {
    std::string path = folder_ / name;
    auto fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    EXPECT_TRUE(fd && write_full(fd->get(), text));
    return path;
  }
  Environment programs_in_folder() const {
    return [path = folder_.path()](const std::string& name) -> std::optional<std::string> {
      return name == "PATH" ? std::optional("/nowhere::" + path) : std::nullopt;
    };
  }

  kit::TempDir folder_{"host"};
};

TEST_F(HostTest, NoDeviceTellsWhatAContainerNeeds) {
  Host host;
  host.device = folder_ / "fuse";
  const auto able = check_fuse(host, programs_in_folder());
  ASSERT_FALSE(able);
  EXPECT_EQ(code_info(able.error().code).exit_status, kExitMountFailed);
  EXPECT_THAT(able.error().text,
              AllOf(HasSubstr("--device /dev/fuse --cap-add SYS_ADMIN"), HasSubstr("--no-mount")));
}

TEST_F(HostTest, AClosedDeviceTellsTheMode) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may open everything";
  }
  Host host;
  host.device = file("fuse", "", 0);
  host.uid = geteuid();
  EXPECT_THAT(check_fuse(host, programs_in_folder()).error().text, HasSubstr("chmod 666"));
}

TEST_F(HostTest, AFusermountWithoutItsRightIsNamed) {
  Host host;
  host.uid = 1000;
  const std::string helper = file("fusermount3", "#!/bin/sh\n", 0700);
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, false),
              ElementsAre(HasSubstr("chmod u+s " + helper)));
  host.uid = 0;
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, false), IsEmpty());
}

TEST_F(HostTest, OnlyRootMountsWithoutFusermount) {
  Host host;
  host.device = file("fuse", "");
  EXPECT_TRUE(check_fuse(host, programs_in_folder()));
  host.uid = 1000;
  const auto able = check_fuse(host, programs_in_folder());
  ASSERT_FALSE(able);
  EXPECT_THAT(able.error().text, HasSubstr("apt install fuse3"));
  file("fusermount3", "#!/bin/sh\n", 0700);
  EXPECT_TRUE(check_fuse(host, programs_in_folder()));
}

TEST_F(HostTest, UserAllowOtherIsAskedForWhereItIsMissing) {
  Host host;
  host.uid = 1000;
  host.fuse_conf = folder_ / "fuse.conf";
  const std::string remedy = "echo user_allow_other >> " + host.fuse_conf;
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, true), ElementsAre(HasSubstr(remedy)));
  file("fuse.conf", "#user_allow_other\nmount_max = 5\n");
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, true), ElementsAre(HasSubstr(remedy)));
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, false), IsEmpty());
  file("fuse.conf", "mount_max = 5\n user_allow_other # said so\n");
  EXPECT_THAT(mount_hints(host, programs_in_folder(), {}, true), IsEmpty());
}

TEST_F(HostTest, HealthyFoldersNeedNoHint) {
  EXPECT_THAT(
      mount_hints(Host{}, programs_in_folder(), {folder_.path(), folder_ / "not there"}, false),
      IsEmpty());
}

TEST(Host, MountDirectories) {
  EXPECT_THAT(mount_directories({"--mount", "/a", "--mount=/large_tool_results=/b=c", "--store",
                                 "--mount", "rel=ative", "--mount=", "--mount"}),
              ElementsAre("/a", "/b=c", "rel=ative", ""));
}

TEST(Host, MountsAreFoundByTypeAndPlace) {
  constexpr std::string_view kMountinfo =
      "36 35 98:0 / /m rw,noatime shared:1 - ext4 /dev/root rw\n"
      "40 35 0:52 / /home/u/a\\040b\\134c rw,nosuid - fuse.ebla /s.db rw\n"
      "41 35 0:53 / /other rw - fuse.sshfs host: rw\n";
  EXPECT_TRUE(ebla_mounted_at(kMountinfo, "/home/u/a b\\c"));
  EXPECT_FALSE(ebla_mounted_at(kMountinfo, "/home/u/a"));
  EXPECT_FALSE(ebla_mounted_at(kMountinfo, "/m"));
  EXPECT_FALSE(ebla_mounted_at(kMountinfo, "/other"));
  EXPECT_FALSE(ebla_mounted_at("", "/m"));
}

TEST(Host, DetachCommandsAreReadyToPaste) {
  EXPECT_EQ(detach_command("/a b", 0), "umount -l '/a b'");
  EXPECT_EQ(detach_command("/a", 1000), "fusermount3 -uz /a");
}

}  // namespace
}  // namespace ebla::tools
