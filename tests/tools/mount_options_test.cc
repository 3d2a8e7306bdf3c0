// The words of mount(8), and what its helper makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/mount_helper.h"
#include "tools/mount_options.h"

namespace ebla::tools {
namespace {

using testing::HasSubstr;

Result<HelperCall> parse(std::vector<std::string> words) {
  return parse_helper_words(words);
}

std::string error_of(std::vector<std::string> words) {
  auto call = parse(std::move(words));
  EXPECT_FALSE(call);
  if (call) {
    return "";
  }
  EXPECT_EQ(call.error().code, Code::usage);
  return call.error().text;
}

TEST(MountOptions, AsMountCallsIt) {
  const auto call =
      parse({"/s.db", "/mnt", "-n", "-v", "-o",
             "rw,nosuid,nodev,noauto,user=me,_netdev,nofail,x-systemd.automount,X-mount.mkdir=0755,"
             "comment=a b,relatime,defaults"});
  ASSERT_TRUE(call) << call.error().text;
  EXPECT_EQ(call->store, "/s.db");
  EXPECT_EQ(call->wish.directory, "/mnt");
  EXPECT_EQ(call->wish.subtree, "/");
  EXPECT_FALSE(call->wish.read_only || call->wish.no_exec || call->wish.allow_other);
  EXPECT_TRUE(call->verbose);
  EXPECT_FALSE(call->fake);
}

TEST(MountOptions, WhatIsPassedOn) {
  const auto call = parse({"-oro,noexec,allow_other", "s.db", "m//x/", "-t", "fuse.ebla", "-sfo",
                           "subtree=/a\\,b/c,socket=s.sock,config=/c.conf"});
  ASSERT_TRUE(call) << call.error().text;
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(call->store, here + "/s.db");
  EXPECT_EQ(call->wish.directory, here + "/m/x");
  EXPECT_EQ(call->wish.subtree, "/a,b/c");
  EXPECT_EQ(call->socket, here + "/s.sock");
  EXPECT_EQ(call->config, "/c.conf");
  EXPECT_TRUE(call->wish.read_only && call->wish.no_exec && call->wish.allow_other);
  EXPECT_TRUE(call->fake);
}

TEST(MountOptions, TheLastOneHolds) {
  const auto call = parse({"/s", "/m", "-o", "ro,noexec", "-o", "rw,exec,,"});
  ASSERT_TRUE(call) << call.error().text;
  EXPECT_FALSE(call->wish.read_only || call->wish.no_exec);
}

TEST(MountOptions, FaultsAreNamed) {
  EXPECT_THAT(error_of({"/s", "/m", "-o", "ro,subtre=/x"}),
              testing::AllOf(HasSubstr("'subtre'"), HasSubstr("'subtree' meant")));
  EXPECT_THAT(error_of({"/s", "/m", "-o", "uid=5"}), HasSubstr("'uid'"));
  EXPECT_THAT(error_of({"/s", "/m", "-o", "remount,ro"}), HasSubstr("'remount'"));
  EXPECT_THAT(error_of({"/s", "/m", "-o", "subtree"}), HasSubstr("needs a value"));
  EXPECT_THAT(error_of({"/s", "/m", "-o", "subtree=x"}), HasSubstr("begins with '/'"));
  EXPECT_THAT(error_of({"/s", "/m", "-o", "ro=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(error_of({"/s", "/m", "-o"}), HasSubstr("-o needs a value"));
  EXPECT_THAT(error_of({"/s", "/m", "-z"}), HasSubstr("-z"));
  EXPECT_THAT(error_of({"/s", "/m", "-N", "1"}), HasSubstr("-N"));
  EXPECT_THAT(error_of({"/s"}), HasSubstr("STORE DIR"));
  EXPECT_THAT(error_of({"/s", "/m", "/n"}), HasSubstr("STORE DIR"));
  EXPECT_THAT(error_of({"/s", ""}), HasSubstr("STORE DIR"));
  EXPECT_TRUE(parse({"/s", "/m", "-s", "-o", "uid=5"}));
}

TEST(MountOptions, TheNameOfTheHelper) {
  EXPECT_TRUE(is_mount_helper("/sbin/mount.fuse.ebla"));
  EXPECT_TRUE(is_mount_helper("mount.fuse.ebla"));
  EXPECT_FALSE(is_mount_helper("/usr/bin/ebla"));
  EXPECT_FALSE(is_mount_helper(""));
}

}  // namespace
}  // namespace ebla::tools
