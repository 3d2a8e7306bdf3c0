#include "tests/daemon/writing_fixture.h"
#include "tests/kit/temp_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>

namespace ebla::daemon {
namespace {

using WriteTest = WritingFixture;

TEST_F(WriteTest, CreatesAndReplacesAsAWhole) {
  const Json made = write("/notes.txt", "你好\r\n");
  EXPECT_TRUE(flag_of(made, "created"));
  EXPECT_EQ(text_of(made, "path"), "/notes.txt");
  EXPECT_EQ(number_of(made, "size"), 8u);
  EXPECT_EQ(bytes("/notes.txt"), "你好\r\n");
  const Attr first = attr("/notes.txt");
  EXPECT_EQ(first.mode, 0644u);
  EXPECT_EQ(first.uid, kUid);
  chmod("/notes.txt", 0600);
  const Json again = write("/notes.txt", "", R"(,"mode":"0666")");
  EXPECT_FALSE(flag_of(again, "created"));
  EXPECT_EQ(bytes("/notes.txt"), "");
  EXPECT_EQ(attr("/notes.txt").mode, 0600u);
  EXPECT_NE(attr("/notes.txt").ino, first.ino);
  EXPECT_EQ(kit::read_file(*store_, first.ino), "你好\r\n");
  EXPECT_EQ(text_of(must("fs.stat", at("/notes.txt")), "etag"), text_of(again, "etag"));
  write("/script", "#!/bin/sh\n", R"(,"mode":"755")");
  EXPECT_EQ(attr("/script").mode, 0755u);
}

TEST_F(WriteTest, AnyBytesAreKept) {
  for (const std::string& body :
       {kit::with_nul(70'000), kit::invalid_utf8(5'000), kit::random_bytes(3'500'000, 7),
        std::string(limits::kInlineContentBytes, 'x'),
        std::string(limits::kInlineContentBytes + 1, 'y')}) {
    write_bytes("/f", body);
    EXPECT_EQ(bytes("/f"), body);
  }
}

TEST_F(WriteTest, MissingFoldersAreMadeWhenAsked) {
  expect_says(write_fails("/a/b/c.txt"), Code::file_not_found, "/a does not exist");
  write("/a/b/c.txt", "x", R"(,"parents":true)");
  EXPECT_EQ(bytes("/a/b/c.txt"), "x");
  EXPECT_EQ(attr("/a/b").mode, 0755u);
  expect_says(write_fails("/a/b/c.txt/d", R"(,"parents":true)"), Code::not_directory,
              "/a/b/c.txt is not a folder");
  expect_says(write_fails("/a/b"), Code::is_directory, "/a/b is a folder");
}

TEST_F(WriteTest, PathsAreCheckedBeforeAnything) {
  for (const char* path : {"", "relative", "/a/../b", "../x"}) {
    EXPECT_EQ(write_fails(path).code, Code::invalid_path) << path;
  }
  EXPECT_EQ(write_fails("/").code, Code::busy);
  EXPECT_EQ(write_fails("//./").code, Code::busy);
  EXPECT_EQ(write_fails("/" + std::string(256, 'n')).code, Code::name_too_long);
  EXPECT_EQ(write_fails("/" + std::string(5'000, 'n')).code, Code::invalid_path);
  EXPECT_EQ(write_fails("/.ebla").code, Code::operation_not_permitted);
  EXPECT_EQ(write_fails("/.ebla/put/x", R"(,"parents":true)").code, Code::operation_not_permitted);
  for (const char* mode : {"", "8", "0o644", "17777", "-1", "644 "}) {
    EXPECT_EQ(write_fails("/f", text_member("mode", mode)).code, Code::invalid_params) << mode;
  }
  EXPECT_EQ(must_fail("fs.write", at("/f", R"(,"content":[{"type":"text","text":"x"}])")).code,
            Code::invalid_params);
  EXPECT_FALSE(there("/f"));
}

TEST_F(WriteTest, AnEtagOfBeforeIsAConflict) {
  const std::string first = text_of(write("/f", "1"), "etag");
  const std::string second = text_of(write("/f", "2", text_member("if_etag", first)), "etag");
  expect_says(write_fails("/f", text_member("if_etag", first)), Code::conflict, second);
  ASSERT_TRUE(kit::write(*store_, {.ino = attr("/f").ino, .append = true}, "!").ok());
  EXPECT_EQ(write_fails("/f", text_member("if_etag", second)).code, Code::conflict);
  EXPECT_EQ(write_fails("/f", text_member("if_etag", "none")).code, Code::conflict);
  EXPECT_EQ(write_fails("/new", text_member("if_etag", second)).code, Code::conflict);
  EXPECT_EQ(bytes("/f"), "2!");
  write("/new", "n", text_member("if_etag", "none"));
  EXPECT_EQ(bytes("/new"), "n");
  const std::string now = text_of(must("fs.stat", at("/f")), "etag");
  const Json grown = write("/f", "?", text_member("if_etag", now) + R"(,"append":true)");
  EXPECT_EQ(number_of(grown, "offset"), 2u);
  EXPECT_EQ(write_fails("/f", text_member("if_etag", now) + R"(,"append":true)").code,
            Code::conflict);
  EXPECT_EQ(bytes("/f"), "2!?");
}

TEST_F(WriteTest, AppendGrowsInPlace) {
  const Json made = write("/log", "one\n", R"(,"append":true)");
  EXPECT_TRUE(flag_of(made, "created"));
  EXPECT_EQ(number_of(made, "offset"), 0u);
  const Ino ino = attr("/log").ino;
  const Json grown = write("/log", "two\n", R"(,"append":true)");
  EXPECT_FALSE(flag_of(grown, "created"));
  EXPECT_EQ(number_of(grown, "offset"), 4u);
  EXPECT_EQ(number_of(grown, "size"), 8u);
  EXPECT_EQ(attr("/log").ino, ino);
  const std::string large = kit::random_bytes(2 * limits::kMiB + 77, 5);
  const auto answer =
      send_bytes("fs.write", at("/log", R"(,"content":{"$blob":0},"append":true)"), {large});
  ASSERT_TRUE(answer.result) << answer.result.error().text;
  EXPECT_EQ(bytes("/log"), "one\ntwo\n" + large);
  write("/log", "", R"(,"append":true)");
  EXPECT_EQ(attr("/log").size, 8 + large.size());
}

TEST_F(WriteTest, AppendIsRefusedWhileAMountWrites) {
  mounts_.begin_growth = [](Ino) -> Result<std::shared_ptr<void>> {
    return fail(Code::busy, "it is open for writing");
  };
  start();
  write("/log", "one\n");
  expect_says(write_fails("/log", R"(,"append":true)"), Code::busy, "/log: it is open");
  write("/log", "whole");
  EXPECT_EQ(bytes("/log"), "whole");
}

TEST_F(WriteTest, AppendsOfManyNeverInterleave) {
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 25; ++i) {
        write("/log", std::string(300, static_cast<char>('a' + c)) + "\n", R"(,"append":true)");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const std::string all = bytes("/log");
  ASSERT_EQ(all.size(), 100u * 301);
  for (size_t line = 0; line < 100; ++line) {
    const std::string one = all.substr(line * 301, 301);
    EXPECT_EQ(one, std::string(300, one[0]) + "\n");
  }
}

TEST_F(WriteTest, AFileIsAppendedToItselfOnce) {
  const kit::TempDir folder("own");
  const std::string host = folder / "log";
  ASSERT_TRUE(open_file(host, O_WRONLY | O_CREAT, 0600));
  mounts_.tree_path_of = [&](std::string_view path) {
    return path == host ? std::string("/log") : std::string();
  };
  start();
  const std::string large = kit::random_bytes(limits::kMiB + 5, 3);
  write_bytes("/log", large);
  must("fs.write", at("/log", R"(,"append":true,"content":{"$path":)" + json_string(host) + "}"));
  EXPECT_TRUE(bytes("/log") == large + large);
}

TEST_F(WriteTest, APipeIsReadToItsEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string text = kit::numbered_rows(40'000);
  std::thread writer([&] {
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(ends[1], text.data() + at, text.size() - at);
      ASSERT_GT(n, 0);
      at += static_cast<size_t>(n);
    }
    ::close(ends[1]);
  });
  auto request = std::make_shared<Request>();
  request->fds.emplace_back(ends[0]);
  const auto answer = send("fs.write", at("/piped", R"(,"content":{"$fd":0})"), request);
  writer.join();
  ASSERT_TRUE(answer.result) << answer.result.error().text;
  EXPECT_EQ(bytes("/piped"), text);
}

TEST_F(WriteTest, WhatEblaKeepsStaysAndTheErrorSaysWhatToDo) {
  const std::string result = put(kit::prose(20'000), "call");
  const std::string before = bytes(result);
  for (const char* more : {"", R"(,"append":true)"}) {
    expect_says(write_fails(result, more), Code::operation_not_permitted,
                "write what you want to keep under another name");
  }
  must("session.open", R"({"key":"s"})");
  const Json listed = must("fs.ls", at("/conversation_history"));
  const std::string history =
      "/conversation_history/" + text_of(listed.find("entries")->items.at(0), "name");
  expect_says(write_fails(history), Code::operation_not_permitted, "only grows by it");
  EXPECT_EQ(bytes(result), before);
  must("fs.delete", at(result));
  const Error gone = write_fails(result);
  expect_says(gone, Code::operation_not_permitted, "a put-away result had this name");
  expect_says(gone, Code::operation_not_permitted, "by uid 1000");
  write("/large_tool_results/my notes", "x");
}

TEST_F(WriteTest, ThePeersRightsAreThoseOfModes) {
  write("/f", "daemon's");
  must("fs.mkdir", at("/shared"));
  run_as_root();
  chmod("/", 0755, 0);
  chmod("/shared", 01777, 0);
  chmod("/f", 0644, kUid);
  uid_ = kOther;
  EXPECT_EQ(write_fails("/f").code, Code::permission_denied);
  EXPECT_EQ(write_fails("/new").code, Code::permission_denied);
  write("/shared/own", "mine");
  EXPECT_EQ(attr("/shared/own").uid, kOther);
  uid_ = kUid;
  write("/f", "changed");
  EXPECT_EQ(attr("/f").uid, kUid);
  EXPECT_EQ(write_fails("/shared/own").code, Code::permission_denied);
  chmod("/shared/own", 0666, kOther);
  // The file may be written; that the folder is sticky says nothing about that.
  write("/shared/own", "by another");
  EXPECT_EQ(attr("/shared/own").uid, kOther);
  chmod("/shared", 0700, 0);
  expect_says(write_fails("/shared/own"), Code::permission_denied, "may not enter it");
  uid_ = 0;
}

TEST_F(WriteTest, SetuidGoesWithAWriteOfOthersThanRoot) {
  write("/s", "x");
  chmod("/s", 06755);
  write("/s", "y");
  EXPECT_EQ(attr("/s").mode, 0755u);
  chmod("/s", 06755);
  write("/s", "z", R"(,"append":true)");
  EXPECT_EQ(attr("/s").mode, 0755u);
}

TEST_F(WriteTest, TheSessionsFolderIsMeantWithASession) {
  const std::string own = put(kit::prose(20'000), "c", "s");
  const std::string folder = own.substr(0, own.rfind('/'));
  const Json made = write("/large_tool_results/note.txt", "x", R"(,"session":"s")");
  EXPECT_EQ(text_of(made, "path"), folder + "/note.txt");
  write(folder + "/two.txt", "y", R"(,"session":"s")");
  EXPECT_TRUE(there(folder + "/two.txt"));
  write("/top.txt", "z", R"(,"session":"s")");
  EXPECT_TRUE(there("/top.txt"));
}

TEST_F(WriteTest, LinksAreNeitherFollowedNorReplaced) {
  write("/f", "x");
  ASSERT_TRUE(kit::create(*store_, {.parent = store_->root(),
                                    .name = "link",
                                    .kind = NodeKind::symlink,
                                    .uid = kUid,
                                    .target = "f"})
                  .ok());
  expect_says(write_fails("/link"), Code::invalid_path, "symbolic link");
  expect_says(write_fails("/link/x", R"(,"parents":true)"), Code::not_directory, "/link");
  EXPECT_EQ(store_->readlink(attr("/link").ino).value_or(""), "f");
}

}  // namespace
}  // namespace ebla::daemon
