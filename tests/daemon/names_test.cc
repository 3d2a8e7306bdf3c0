#include "tests/daemon/writing_fixture.h"

namespace ebla::daemon {
namespace {

class NamesTest : public WritingFixture {
 protected:
  static std::string both(std::string_view path, std::string_view new_path,
                          std::string_view more = "") {
    return at(path, text_member("new_path", new_path) + std::string(more));
  }
};

TEST_F(NamesTest, MkdirMakesOneFolderOrAllOnTheWay) {
  const Json made = must("fs.mkdir", at("/a"));
  EXPECT_TRUE(flag_of(made, "created"));
  EXPECT_EQ(attr("/a").mode, 0755u);
  EXPECT_EQ(attr("/a").uid, kUid);
  expect_says(must_fail("fs.mkdir", at("/a")), Code::already_exists, "a directory");
  expect_says(must_fail("fs.mkdir", at("/x/y")), Code::file_not_found, "\"parents\":true");
  EXPECT_FALSE(flag_of(must("fs.mkdir", at("/a", R"(,"parents":true)")), "created"));
  must("fs.mkdir", at("/x/y/z", R"(,"parents":true,"mode":"0700")"));
  EXPECT_EQ(attr("/x/y/z").mode, 0700u);
  write("/f", "x");
  EXPECT_EQ(must_fail("fs.mkdir", at("/f", R"(,"parents":true)")).code, Code::already_exists);
  EXPECT_EQ(must_fail("fs.mkdir", at("/")).code, Code::busy);
  EXPECT_EQ(must_fail("fs.mkdir", at("/.ebla")).code, Code::operation_not_permitted);
  must("fs.mkdir", at("/large_tool_results/mine"));
}

TEST_F(NamesTest, RenameReplacesOnlyWhenAsked) {
  write("/a", "1");
  write("/b", "2");
  const Ino ino = attr("/a").ino;
  expect_says(must_fail("fs.rename", both("/a", "/b")), Code::already_exists, "replace");
  const Json moved = must("fs.rename", both("/a", "/b", R"(,"replace":true)"));
  EXPECT_TRUE(flag_of(moved, "replaced"));
  EXPECT_EQ(text_of(moved, "path"), "/b");
  EXPECT_FALSE(there("/a"));
  EXPECT_EQ(attr("/b").ino, ino);
  EXPECT_EQ(bytes("/b"), "1");
  EXPECT_EQ(text_of(moved, "etag"), text_of(must("fs.stat", at("/b")), "etag"));
  must("fs.mkdir", at("/d/e", R"(,"parents":true)"));
  must("fs.rename", both("/b", "/d/e/c"));
  EXPECT_EQ(bytes("/d/e/c"), "1");
  expect_says(must_fail("fs.rename", both("/d", "/d/e/x")), Code::invalid_path, "into itself");
  expect_says(must_fail("fs.rename", both("/d/e/c", "/d", R"(,"replace":true)")),
              Code::is_directory, "name the new path in it");
  expect_says(must_fail("fs.rename", both("/gone", "/x")), Code::file_not_found, "/gone");
  expect_says(must_fail("fs.rename", both("/d", "/x/y")), Code::file_not_found, "/x does not");
}

TEST_F(NamesTest, WhatEblaKeepsKeepsItsName) {
  const std::string result = put(kit::prose(20'000), "call");
  write("/f", "x");
  EXPECT_EQ(must_fail("fs.rename", both(result, "/mine")).code, Code::operation_not_permitted);
  EXPECT_EQ(must_fail("fs.rename", both("/f", result, R"(,"replace":true)")).code,
            Code::operation_not_permitted);
  EXPECT_EQ(must_fail("fs.rename", both("/large_tool_results", "/r")).code,
            Code::operation_not_permitted);
  must("fs.delete", at(result));
  expect_says(must_fail("fs.rename", both("/f", result)), Code::operation_not_permitted,
              "a put-away result had this name");
  EXPECT_EQ(bytes("/f"), "x");
}

TEST_F(NamesTest, DeleteTakesAFolderWithAllThatIsInIt) {
  for (int folder = 0; folder < 5; ++folder) {
    for (int file = 0; file < 150; ++file) {
      write("/t/d" + std::to_string(folder) + "/f" + std::to_string(file), "12",
            R"(,"parents":true)");
    }
  }
  must("fs.mkdir", at("/t/d0/x/y/z", R"(,"parents":true)"));
  const Json gone = must("fs.delete", at("/t"));
  EXPECT_EQ(number_of(gone, "files"), 750u);
  EXPECT_EQ(number_of(gone, "folders"), 9u);
  EXPECT_EQ(number_of(gone, "bytes"), 1'500u);
  EXPECT_EQ(number_of(gone, "kept"), 0u);
  EXPECT_FALSE(there("/t"));
  EXPECT_EQ(must_fail("fs.delete", at("/t")).code, Code::file_not_found);
  EXPECT_EQ(must_fail("fs.delete", at("/")).code, Code::busy);
  write("/one", "123");
  EXPECT_EQ(number_of(must("fs.delete", at("/one")), "bytes"), 3u);
}

TEST_F(NamesTest, DeleteNeverTouchesHistoriesAndSaysWhatStayed) {
  const std::string result = put(kit::prose(20'000), "call");
  must("session.open", R"({"key":"s"})");
  const size_t histories = must("fs.ls", at("/conversation_history")).find("entries")->items.size();
  ASSERT_GE(histories, 1u);
  write("/conversation_history/own.txt", "x");
  const Json gone = must("fs.delete", at("/conversation_history"));
  EXPECT_EQ(number_of(gone, "files"), 1u);
  EXPECT_EQ(number_of(gone, "kept"), histories);
  EXPECT_NE(text_of(gone.find("kept_paths")->items.at(0), "reason").find("only grows"),
            std::string::npos);
  EXPECT_EQ(must("fs.ls", at("/conversation_history")).find("entries")->items.size(), histories);
  expect_says(must_fail("fs.delete", at("/conversation_history")), Code::operation_not_permitted,
              "only grows by it");
  const Json results = must("fs.delete", at("/large_tool_results"));
  EXPECT_EQ(number_of(results, "files"), 1u);
  expect_says(must_fail("fs.read", at(result)), Code::file_not_found, "by uid 1000 (delete)");
}

TEST_F(NamesTest, DeleteLeavesWhatThePeerMayNotRemove) {
  must("fs.mkdir", at("/t"));
  write("/t/a", "x");
  run_as_root();
  chmod("/", 0755, 0);
  chmod("/t", 01777, 0);
  chmod("/t/a", 0666, kUid);
  uid_ = kOther;
  write("/t/b", "y");
  must("fs.mkdir", at("/t/d"));
  write("/t/d/e", "z");
  const Json gone = must("fs.delete", at("/t"));
  EXPECT_EQ(number_of(gone, "files"), 2u);
  EXPECT_EQ(number_of(gone, "folders"), 1u);
  EXPECT_EQ(number_of(gone, "kept"), 1u);
  EXPECT_TRUE(there("/t/a"));
  expect_says(must_fail("fs.delete", at("/t/a")), Code::operation_not_permitted, "sticky");
  expect_says(must_fail("fs.rename", both("/t/a", "/t/mine")), Code::operation_not_permitted,
              "sticky");
  expect_says(must_fail("fs.mkdir", at("/new")), Code::permission_denied, "may not write to it");
}

TEST_F(NamesTest, AMountedSubtreeStays) {
  mounts_.list = [] {
    return std::vector<fs::MountInfo>{{.id = 1, .spec = {"/a/b", "/host/b"}, .alive = true},
                                      {.id = 2, .spec = {"/gone", "/host/gone"}, .alive = false}};
  };
  start();
  must("fs.mkdir", at("/a/b/c", R"(,"parents":true)"));
  must("fs.mkdir", at("/gone"));
  for (const char* path : {"/a", "/a/b"}) {
    expect_says(must_fail("fs.delete", at(path)), Code::busy, "mounted at /host/b");
    expect_says(must_fail("fs.rename", both(path, "/x")), Code::busy, "unmount it first");
  }
  must("fs.delete", at("/a/b/c"));
  must("fs.delete", at("/gone"));
}

TEST_F(NamesTest, NothingIsWrittenWhileTheDaemonStops) {
  services_->stopping = true;
  for (const char* method : {"fs.mkdir", "fs.delete"}) {
    EXPECT_EQ(must_fail(method, at("/a")).code, Code::unavailable);
  }
  EXPECT_EQ(write_fails("/a").code, Code::unavailable);
}

}  // namespace
}  // namespace ebla::daemon
