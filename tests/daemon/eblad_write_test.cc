// The writing methods beside a real mount: both doors see the same files at once.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <thread>

#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

class EbladWriteTest : public EbladFixture {
 protected:
  static std::string at(std::string_view path, std::string_view more) {
    return "{\"path\":" + json_string(path) + "," + std::string(more) + "}";
  }
  static std::string text(std::string_view name, std::string_view value) {
    return "\"" + std::string(name) + "\":" + json_string(value);
  }
  void by_mount(std::string_view name, std::string_view bytes, int flags) {
    const std::string path = mount_ + std::string(name);
    const UniqueFd file(::open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(file) << path << ": " << errno;
    ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string seen(std::string_view name) { return whole_file(mount_ + std::string(name)); }
};

TEST_F(EbladWriteTest, BothDoorsSeeEachOtherAtOnce) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  EXPECT_NE(::access((mount_ + "/f").c_str(), F_OK), 0);  // the kernel remembers
  client.must("fs.write", at("/f", text("content", "one\n")));
  EXPECT_EQ(seen("/f"), "one\n");
  const UniqueFd reader(::open((mount_ + "/f").c_str(), O_RDONLY | O_CLOEXEC));
  client.must("fs.edit", at("/f", text("old", "one") + "," + text("new", "zwei")));
  EXPECT_EQ(seen("/f"), "zwei\n");
  std::array<char, 16> old{};
  EXPECT_EQ(::read(reader.get(), old.data(), old.size()), 4);
  EXPECT_EQ(std::string(old.data(), 4), "one\n");
  // Written through the mount and not committed: that is what is edited.
  const UniqueFd writer(::open((mount_ + "/d").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(writer.get(), "dirty bytes", 11), 11);
  client.must("fs.edit", at("/d", text("old", "dirty") + "," + text("new", "clean")));
  EXPECT_EQ(seen("/d"), "clean bytes");
  client.must("fs.mkdir", at("/x/y", R"("parents":true)"));
  EXPECT_EQ(kit::shell("ls " + mount_ + "/x").output, "y\n");
  client.must("fs.rename", at("/f", text("new_path", "/x/y/g")));
  EXPECT_NE(::access((mount_ + "/f").c_str(), F_OK), 0);
  EXPECT_EQ(seen("/x/y/g"), "zwei\n");
  client.must("fs.delete", at("/x", R"("session":null)"));
  EXPECT_NE(::access((mount_ + "/x").c_str(), F_OK), 0);
  EXPECT_EQ(kit::shell("ls " + mount_).output, "conversation_history\nd\nlarge_tool_results\n");
}

TEST_F(EbladWriteTest, TheSameChangeGivesTheSameNode) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const auto facts = [&](const std::string& name) {
    struct stat info{};
    EXPECT_EQ(::stat((mount_ + name).c_str(), &info), 0) << name;
    std::array<char, 64> value{};
    const ssize_t size = ::getxattr((mount_ + name).c_str(), "user.k", value.data(), value.size());
    return std::to_string(info.st_mode) + " " + std::to_string(info.st_nlink) + " " +
           std::to_string(info.st_uid) + ":" + std::to_string(info.st_gid) + " " +
           std::to_string(info.st_size) + " " + std::to_string(info.st_blocks) + " " +
           std::string(value.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))) + " " +
           seen(name);
  };
  const mode_t mask = ::umask(022);
  for (const std::string& body :
       {std::string(), std::string("abc\r\n\0\xff", 7), kit::numbered_rows(3'000'000)}) {
    for (const bool again : {false, true}) {
      by_mount("/m", body, O_TRUNC);
      const auto sent = client.call("fs.write", at("/s", R"("content":{"$blob":0})"), {body});
      ASSERT_TRUE(sent.result) << sent.text;
      EXPECT_TRUE(facts("/m") == facts("/s")) << body.size() << " " << again;
      for (const char* name : {"/m", "/s"}) {
        EXPECT_EQ(::chmod((mount_ + name).c_str(), 0605), 0);
        EXPECT_EQ(::setxattr((mount_ + name).c_str(), "user.k", "v", 1, 0), 0);
      }
    }
    by_mount("/m", "more\n", O_APPEND);
    client.must("fs.write", at("/s", text("content", "more\n") + R"(,"append":true)"));
    EXPECT_TRUE(facts("/m") == facts("/s"));
    EXPECT_EQ(::unlink((mount_ + "/m").c_str()), 0);
    client.must("fs.delete", at("/s", R"("session":null)"));
  }
  EXPECT_EQ(::mkdir((mount_ + "/dm").c_str(), 0777), 0);
  client.must("fs.mkdir", at("/ds", R"("session":null)"));
  struct stat one{};
  struct stat other{};
  ASSERT_EQ(::stat((mount_ + "/dm").c_str(), &one), 0);
  ASSERT_EQ(::stat((mount_ + "/ds").c_str(), &other), 0);
  EXPECT_EQ(one.st_mode, other.st_mode);
  EXPECT_EQ(one.st_nlink, other.st_nlink);
  ::umask(mask);
}

TEST_F(EbladWriteTest, AppendWaitsForNoWriterAndLosesNothing) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const std::string more = at("/log", text("content", "socket\n") + R"(,"append":true)");
  {
    const UniqueFd open(::open((mount_ + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const auto refused = client.call("fs.write", more);
    EXPECT_EQ(refused.error, "busy");
    EXPECT_NE(refused.text.find("open for writing"), std::string::npos) << refused.text;
    ASSERT_EQ(::write(open.get(), "mount\n", 6), 6);
  }
  client.must("fs.write", more);
  by_mount("/log", "mount\n", O_APPEND);
  client.must("fs.write", more);
  EXPECT_EQ(seen("/log"), "mount\nsocket\nmount\nsocket\n");

  // A shell and the socket at once: whatever was taken is there, whole.
  constexpr int kLines = 120;
  std::atomic<bool> done = false;
  std::thread shell([&] {
    for (int i = 0; i < kLines; ++i) by_mount("/both", "m" + std::to_string(i) + "\n", O_APPEND);
    done = true;
  });
  int taken = 0;
  while (!done) {
    const auto answer = client.call(
        "fs.write",
        at("/both", text("content", "s" + std::to_string(taken) + "\n") + R"(,"append":true)"));
    if (answer.result) {
      ++taken;
    } else {
      EXPECT_EQ(answer.error, "busy") << answer.text;
    }
  }
  shell.join();
  const std::string both = seen("/both");
  EXPECT_EQ(std::ranges::count(both, '\n'), kLines + taken);
  for (int i = 0; i < taken; ++i) {
    EXPECT_NE(("\n" + both).find("\ns" + std::to_string(i) + "\n"), std::string::npos) << i;
  }
  for (int i = 0; i < kLines; ++i) {
    EXPECT_NE(("\n" + both).find("\nm" + std::to_string(i) + "\n"), std::string::npos) << i;
  }
}

TEST_F(EbladWriteTest, WhatIsAnsweredOutlivesAKill) {
  std::string expected;
  {
    Eblad eblad(unmounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    client.must("fs.write", at("/w", text("content", "base\n")));
    for (int i = 0; i < 20; ++i) {
      client.must("fs.write",
                  at("/w", text("content", std::to_string(i) + "\n") + R"(,"append":true)"));
    }
    client.must("fs.edit", at("/w", text("old", "base") + "," + text("new", "基础")));
    client.must("fs.mkdir", at("/a/b", R"("parents":true)"));
    client.must("fs.rename", at("/w", text("new_path", "/a/b/w")));
    expected = read_all(client, "/a/b/w");
    eblad.kill_hard();
  }
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  EXPECT_EQ(read_all(client, "/a/b/w"), expected);
  EXPECT_TRUE(expected.starts_with("基础\n0\n"));
  EXPECT_EQ(client.call("fs.stat", at("/w", R"("session":null)")).error, "file_not_found");
}

}  // namespace
}  // namespace ebla::daemon
