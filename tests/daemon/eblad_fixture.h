// Private folders for one eblad: store, socket, mount point.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/daemon/eblad_process.h"
#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"

namespace ebla::daemon {

class EbladFixture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::mkdir(mount_.c_str(), 0700), 0); }
  void TearDown() override {
    const std::string mounts = whole_file("/proc/self/mountinfo");
    if (mounts.find(folder_.path()) != std::string::npos) {
      ADD_FAILURE() << "a mount was left behind in " << folder_.path();
      kit::shell("umount -l " + mount_);
    }
  }

  Eblad::Setup mounted() const { return {store_, socket_, {"--mount", mount_}, {}, {}}; }
  Eblad::Setup unmounted() const { return {store_, socket_, {"--no-mount"}, {}, {}}; }

  static std::string evict_params(std::string_view id, std::string_view more = "") {
    return "{\"content\":{\"$blob\":0},\"id\":" + json_string(id) + std::string(more) + "}";
  }
  // All bytes of a file, by the socket.
  static std::string read_all(Client& client, std::string_view path) {
    client.must("hello", R"({"blobs":true})");
    std::string bytes;
    uint64_t offset = 0;
    for (;;) {
      auto page = client.call("fs.read_bytes", "{\"path\":" + json_string(path) +
                                                   ",\"offset\":" + std::to_string(offset) + "}");
      if (!page.result) {
        ADD_FAILURE() << page.error << ": " << page.text;
        return bytes;
      }
      bytes += page.blobs.at(0);
      if (page.result->find("next") == nullptr) return bytes;
      offset = number_of(*page.result, "next");
    }
  }

  kit::TempDir folder_{"eblad"};
  std::string store_ = folder_ / "state/store.db";
  std::string socket_ = folder_ / "run/ebla.sock";
  std::string mount_ = folder_ / "mnt";
};

// Why FUSE cannot be used here; empty if it can.
inline std::string no_fuse() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "/dev/fuse is not accessible";
  return {};
}

}  // namespace ebla::daemon

#define EBLA_NEED_DEVICE() \
  if (const auto why = ebla::daemon::no_fuse(); !why.empty()) GTEST_SKIP() << why
#define EBLA_NEED_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: to mount, or to be another user"
