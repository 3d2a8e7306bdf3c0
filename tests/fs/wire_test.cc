#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <set>

#include "schema/base/log.h"
#include "tests/fs/wire.h"
#include "tests/kit/real_texts.h"

namespace ebla::fs {
namespace {

constexpr uint64_t kFarSeconds = 100'000'000;

std::string xattr_body(uint32_t size, const std::string& name) {
  fuse_getxattr_in in{};
  in.size = size;
  return bytes_of(in) + name + '\0';
}

class WireTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(wire.init().error, 0); }
  Wire wire;
};

TEST(WireInit, AsksForWhatTheDesignWants) {
  Wire wire;
  const Answer answer = wire.init();
  ASSERT_EQ(answer.error, 0);
  const auto out = answer.as<fuse_init_out>();
  const auto has = [&](uint32_t flag) { return (out.flags & flag) != 0; };
  EXPECT_TRUE(has(FUSE_DO_READDIRPLUS));
  EXPECT_TRUE(has(FUSE_READDIRPLUS_AUTO));
  EXPECT_TRUE(has(FUSE_EXPLICIT_INVAL_DATA));
  EXPECT_TRUE(has(FUSE_ASYNC_READ));
  EXPECT_FALSE(has(FUSE_AUTO_INVAL_DATA));
  EXPECT_FALSE(has(FUSE_ATOMIC_O_TRUNC));
  EXPECT_FALSE(has(FUSE_WRITEBACK_CACHE));
  EXPECT_FALSE(has(FUSE_HANDLE_KILLPRIV));
  EXPECT_FALSE(has(FUSE_NO_OPEN_SUPPORT));
  EXPECT_FALSE(has(FUSE_NO_OPENDIR_SUPPORT));
  EXPECT_FALSE(has(FUSE_SPLICE_READ));
  EXPECT_FALSE(has(FUSE_SPLICE_WRITE));
  EXPECT_FALSE(has(FUSE_SPLICE_MOVE));
  EXPECT_FALSE(has(FUSE_POSIX_LOCKS));
  EXPECT_FALSE(has(FUSE_FLOCK_LOCKS));
  EXPECT_EQ(wire.init().error, EIO) << "a second one";
}

TEST(WireInit, NothingBeforeIt) {
  Wire wire;
  EXPECT_EQ(wire.lookup(1, "x").error, EIO);
}

TEST_F(WireTest, LookupGivesTheNumberOfTheStoreForEver) {
  const Ino ino = wire.put("log", "text");
  const uint64_t folder = wire.find("/large_tool_results");
  const Answer answer = wire.lookup(folder, "log");
  ASSERT_EQ(answer.error, 0);
  const auto entry = answer.as<fuse_entry_out>();
  EXPECT_EQ(entry.nodeid, ino);
  EXPECT_EQ(entry.attr.ino, ino);
  EXPECT_EQ(entry.attr.size, 4U);
  EXPECT_EQ(entry.attr.mode, 0100400U);
  EXPECT_EQ(entry.attr.nlink, 1U);
  EXPECT_EQ(entry.attr.blksize, 128U * 1024);
  EXPECT_GT(entry.entry_valid, kFarSeconds);
  EXPECT_GT(entry.attr_valid, kFarSeconds);
}

TEST_F(WireTest, AbsentNamesAreKeptToo) {
  const auto entry = wire.lookup(1, "absent").as<fuse_entry_out>();
  EXPECT_EQ(entry.nodeid, 0U);
  EXPECT_GT(entry.entry_valid, kFarSeconds);
}

TEST_F(WireTest, NamesThatCannotBe) {
  EXPECT_EQ(wire.lookup(1, std::string(256, 'n')).error, ENAMETOOLONG);
  EXPECT_EQ(wire.lookup(1, std::string(100'000, 'n')).error, ENAMETOOLONG);
  EXPECT_EQ(wire.lookup(1, "").error, EINVAL);
  EXPECT_EQ(wire.lookup(1, ".").error, EINVAL);
  EXPECT_EQ(wire.lookup(1, "..").error, EINVAL);
  EXPECT_EQ(wire.lookup(4711, "x").as<fuse_entry_out>().nodeid, 0U);
  const uint64_t file = (wire.put("log", "x"), wire.find("/large_tool_results/log"));
  EXPECT_EQ(wire.lookup(file, "x").error, ENOTDIR);
}

TEST_F(WireTest, GetattrOfRootAndOfNothing) {
  const auto root = wire.call(FUSE_GETATTR, 1, bytes_of(fuse_getattr_in{}));
  ASSERT_TRUE(root && root->error == 0);
  EXPECT_EQ(root->as<fuse_attr_out>().attr.mode, 040700U);
  EXPECT_EQ(wire.call(FUSE_GETATTR, 4711, bytes_of(fuse_getattr_in{}))->error, ENOENT);
}

TEST_F(WireTest, ReadGivesEveryRange) {
  const std::string text = kit::random_bytes(300'000, 1);
  wire.put("log", text);
  const uint64_t node = wire.find("/large_tool_results/log");
  for (const uint64_t offset :
       std::initializer_list<uint64_t>{0, 1, 4095, 131072, 131071, 299999, 300000, 400000}) {
    for (const uint32_t size : {1U, 4096U, 131'072U, 1'048'576U}) {
      const Answer answer = wire.read(node, offset, size);
      ASSERT_EQ(answer.error, 0);
      const std::string expected = offset < text.size() ? text.substr(offset, size) : "";
      ASSERT_TRUE(answer.body == expected) << offset << " " << size;
    }
  }
  EXPECT_EQ(wire.read(node, uint64_t{1} << 63, 10).error, EINVAL);
  EXPECT_EQ(wire.read(1, 0, 10).error, EISDIR);
}

TEST_F(WireTest, OpenToReadKeepsPagesAndNoState) {
  wire.put("log", "x");
  const uint64_t node = wire.find("/large_tool_results/log");
  const auto answer = wire.call(FUSE_OPEN, node, bytes_of(fuse_open_in{}));
  ASSERT_TRUE(answer && answer->error == 0);
  const auto out = answer->as<fuse_open_out>();
  EXPECT_EQ(out.fh, 0U);
  EXPECT_EQ(out.open_flags & (FOPEN_KEEP_CACHE | FOPEN_NOFLUSH | FOPEN_DIRECT_IO),
            static_cast<uint32_t>(FOPEN_KEEP_CACHE | FOPEN_NOFLUSH));
  fuse_open_in to_write{};
  to_write.flags = O_WRONLY;
  EXPECT_EQ(wire.call(FUSE_OPEN, node, bytes_of(to_write))->error, EPERM);
  EXPECT_EQ(wire.call(FUSE_RELEASE, node, bytes_of(fuse_release_in{}))->error, 0);
  EXPECT_EQ(wire.call(FUSE_FLUSH, node, bytes_of(fuse_flush_in{}))->error, 0);
  EXPECT_EQ(wire.call(FUSE_FSYNC, node, bytes_of(fuse_fsync_in{}))->error, 0);
}

TEST_F(WireTest, ListingsResumeAndNamesComeOnce) {
  for (int i = 0; i < 1000; ++i) wire.put("f" + std::to_string(i), "x");
  const uint64_t folder = wire.find("/large_tool_results");
  for (const bool plus : {false, true}) {
    std::multiset<std::string> seen;
    uint64_t offset = 0;
    for (;;) {
      const auto part = wire.list(folder, offset, 4096, plus);
      if (part.empty()) break;
      for (const auto& entry : part) {
        seen.insert(entry.name);
        if (plus && entry.name.front() == 'f') {
          EXPECT_EQ(entry.entry.attr.ino, entry.entry.nodeid);
          EXPECT_GT(entry.entry.entry_valid, kFarSeconds);
          EXPECT_TRUE(wire.connection().served().nodes.holds(entry.entry.nodeid));
        }
      }
      offset = part.back().offset;
    }
    EXPECT_EQ(seen.size(), 1002U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1002U);
  }
}

TEST_F(WireTest, AListingAfterAChangeIsNotServedFromWhatWasReadBefore) {
  for (int i = 0; i < 100; ++i) wire.put("f" + std::to_string(i), "x");
  const uint64_t folder = wire.find("/large_tool_results");
  const auto first = wire.list(folder, 0, 1000, true);
  ASSERT_LT(first.size(), 100U);
  const std::string victim = "f99";
  ASSERT_EQ(wire.call(FUSE_UNLINK, folder, victim + '\0')->error, 0);
  std::set<std::string> rest;
  for (uint64_t offset = first.back().offset;;) {
    const auto part = wire.list(folder, offset, 1000, true);
    if (part.empty()) break;
    for (const auto& entry : part) rest.insert(entry.name);
    offset = part.back().offset;
  }
  EXPECT_FALSE(rest.contains(victim));
  EXPECT_TRUE(rest.contains("f98"));
}

TEST_F(WireTest, ListingsAreNotOpened) {
  EXPECT_EQ(wire.call(FUSE_OPENDIR, 1, bytes_of(fuse_open_in{}))->error, ENOSYS);
  fuse_read_in in{};
  in.fh = 77;
  in.size = 4096;
  EXPECT_EQ(wire.call(FUSE_READDIR, 1, bytes_of(in))->error, 0) << "a handle says nothing";
  in.offset = uint64_t{1} << 63;
  EXPECT_EQ(wire.call(FUSE_READDIR, 1, bytes_of(in))->error, EINVAL);
  in = {};
  in.size = 31;
  EXPECT_EQ(wire.call(FUSE_READDIR, 1, bytes_of(in))->body, "") << "no entry fits";
}

TEST(WireOldKernel, ListingsAreKeptToo) {
  Wire wire;
  ASSERT_EQ(wire.init(FUSE_NO_OPENDIR_SUPPORT).error, 0);
  const auto answer = wire.call(FUSE_OPENDIR, 1, bytes_of(fuse_open_in{}));
  ASSERT_TRUE(answer && answer->error == 0);
  EXPECT_EQ(answer->as<fuse_open_out>().open_flags,
            static_cast<uint32_t>(FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE));
  EXPECT_EQ(wire.list(1, 0, 4096, true).size(), 4U);
  EXPECT_EQ(wire.call(FUSE_RELEASEDIR, 1, bytes_of(fuse_release_in{}))->error, 0);
}

// A reply holds what the kernel asked for; what does not fit has not been given.
TEST_F(WireTest, NodesThatDoNotFitAreNotHeld) {
  for (int i = 0; i < 100; ++i) wire.put(std::string(200, 'n') + std::to_string(i), "x");
  const uint64_t folder = wire.find("/large_tool_results");
  const size_t before = wire.connection().served().nodes.all().size();
  const auto part = wire.list(folder, 0, 4096, true);
  ASSERT_GT(part.size(), 2U);
  EXPECT_EQ(wire.connection().served().nodes.all().size() - before, part.size() - 2);
}

TEST_F(WireTest, DotsHaveTheirNumbers) {
  const uint64_t folder = wire.find("/large_tool_results");
  const auto entries = wire.list(folder, 0, 4096, true);
  ASSERT_GE(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, ".");
  EXPECT_EQ(entries[0].entry.attr.ino, folder);
  EXPECT_EQ(entries[0].entry.nodeid, 0U);
  EXPECT_EQ(entries[1].name, "..");
  EXPECT_EQ(entries[1].entry.attr.ino, wire.store().root());
}

TEST_F(WireTest, AttributesAreStoredOnesOrNone) {
  wire.put("log", "x");
  const uint64_t node = wire.find("/large_tool_results/log");
  const auto value = wire.call(FUSE_GETXATTR, node, xattr_body(100, "user.ebla.tool_call_id"));
  ASSERT_TRUE(value && value->error == 0);
  EXPECT_EQ(value->body, "log");
  const auto size = wire.call(FUSE_GETXATTR, node, xattr_body(0, "user.ebla.tool_call_id"));
  EXPECT_EQ(size->as<fuse_getxattr_out>().size, 3U);
  EXPECT_EQ(wire.call(FUSE_GETXATTR, node, xattr_body(2, "user.ebla.tool_call_id"))->error, ERANGE);
  EXPECT_EQ(wire.call(FUSE_GETXATTR, node, xattr_body(9, "user.none"))->error, ENODATA);
  for (const char* name : {"security.capability", "system.posix_acl_access", "trusted.x"}) {
    EXPECT_EQ(wire.call(FUSE_GETXATTR, 4711, xattr_body(9, name))->error, EOPNOTSUPP)
        << "answered without the node";
  }
  const auto names = wire.call(FUSE_LISTXATTR, node, bytes_of(fuse_getxattr_in{4096, 0}));
  ASSERT_TRUE(names && names->error == 0);
  EXPECT_NE(names->body.find(std::string("user.ebla.tool_call_id") + '\0'), std::string::npos);
  EXPECT_EQ(wire.call(FUSE_LISTXATTR, node, bytes_of(fuse_getxattr_in{1, 0}))->error, ERANGE);
}

TEST_F(WireTest, UnlinkTellsOthersAndReapsAfterTheLastForget) {
  const Ino ino = wire.put("log", "text");
  const uint64_t folder = wire.find("/large_tool_results");
  wire.lookup(folder, "log");
  wire.lookup(folder, "log");
  ASSERT_EQ(wire.call(FUSE_UNLINK, folder, std::string("log") + '\0')->error, 0);
  ASSERT_EQ(wire.published().size(), 1U);
  EXPECT_EQ(wire.published()[0].origin, 1U);
  EXPECT_EQ(wire.lookup(folder, "log").as<fuse_entry_out>().nodeid, 0U);
  EXPECT_EQ(wire.read(ino, 0, 10).body, "text");
  wire.forget(ino, 1);
  EXPECT_TRUE(wire.store().getattr(ino));
  // Two at once: the last of this node, and one that is held by nobody.
  fuse_batch_forget_in batch{};
  batch.count = 2;
  EXPECT_FALSE(wire.call(
      FUSE_BATCH_FORGET, 0,
      bytes_of(batch) + bytes_of(fuse_forget_one{ino, 1}) + bytes_of(fuse_forget_one{4711, 1})));
  EXPECT_FALSE(wire.store().getattr(ino));
  EXPECT_EQ(wire.call(FUSE_UNLINK, folder, std::string("log") + '\0')->error, ENOENT);
}

TEST_F(WireTest, ReapsAtOnceWhatNobodyHolds) {
  const Ino ino = wire.put("log", "text");
  const uint64_t folder = wire.find("/large_tool_results");
  ASSERT_EQ(wire.call(FUSE_UNLINK, folder, std::string("log") + '\0')->error, 0);
  EXPECT_FALSE(wire.store().getattr(ino));
}

TEST_F(WireTest, ADeadConnectionHoldsNothing) {
  const Ino ino = wire.put("log", "text");
  const uint64_t folder = wire.find("/large_tool_results");
  wire.lookup(folder, "log");
  ASSERT_EQ(wire.call(FUSE_UNLINK, folder, std::string("log") + '\0')->error, 0);
  EXPECT_TRUE(wire.store().getattr(ino));
  wire.hang_up();
  EXPECT_EQ(wire.handle(), Channel::Outcome::dead);
  wire.connection().died();
  EXPECT_FALSE(wire.connection().alive());
  EXPECT_FALSE(wire.store().getattr(ino));
}

TEST(WireReadOnly, WhatChangesTheTreeIsRefused) {
  Wire wire("/", {}, View::Access::reads);
  ASSERT_EQ(wire.init().error, 0);
  wire.put("log", "x");
  const uint64_t top = wire.find("/large_tool_results");
  const uint64_t log = wire.find("/large_tool_results/log");
  const std::string name = std::string("new") + '\0';
  const std::string own = std::string("log") + '\0';
  const struct {
    uint32_t opcode;
    uint64_t node;
    std::string body;
    int error;
  } table[] = {
      {FUSE_MKDIR, top, bytes_of(fuse_mkdir_in{}) + name, EROFS},
      {FUSE_MKNOD, top, bytes_of(fuse_mknod_in{}) + name, EROFS},
      {FUSE_CREATE, top, bytes_of(fuse_create_in{}) + name, EROFS},
      {FUSE_SYMLINK, top, name + "target" + '\0', EROFS},
      {FUSE_LINK, top, bytes_of(fuse_link_in{log}) + name, EPERM},
      {FUSE_RENAME, top, bytes_of(fuse_rename_in{top}) + own + name, EPERM},
      {FUSE_RENAME2, top, bytes_of(fuse_rename2_in{top, 0, 0}) + own + name, EPERM},
      {FUSE_RENAME, 1, bytes_of(fuse_rename_in{1}) + "large_tool_results" + '\0' + name, EBUSY},
      {FUSE_RMDIR, 1, std::string("conversation_history") + '\0', EBUSY},
      {FUSE_RMDIR, 1, name, ENOENT},
      {FUSE_SETATTR, log, bytes_of(fuse_setattr_in{}), EPERM},
      {FUSE_SETATTR, top, bytes_of(fuse_setattr_in{}), EPERM},
      {FUSE_SETATTR, 1, bytes_of(fuse_setattr_in{}), EROFS},
      {FUSE_WRITE, log, bytes_of(fuse_write_in{}) + "x", EPERM},
      {FUSE_SETXATTR, log, std::string(8, '\0') + "user.x" + '\0', EPERM},
      {FUSE_SETXATTR, 1, std::string(8, '\0') + "user.x" + '\0', EROFS},
      {FUSE_REMOVEXATTR, log, std::string("user.x") + '\0', EPERM},
      {FUSE_FALLOCATE, log, bytes_of(fuse_fallocate_in{}), EPERM},
      {FUSE_COPY_FILE_RANGE, log, bytes_of(fuse_copy_file_range_in{0, 0, log, 0, 0, 9, 0}), EPERM},
      {FUSE_UNLINK, 1, std::string(".ebla") + '\0', EISDIR},
  };
  for (const auto& row : table) {
    const auto answer = wire.call(row.opcode, row.node, row.body);
    ASSERT_TRUE(answer) << row.opcode;
    EXPECT_EQ(answer->error, row.error) << "opcode " << row.opcode << " node " << row.node;
  }
  EXPECT_TRUE(wire.published().empty());
}

TEST_F(WireTest, UnknownOperationsAreNotImplemented) {
  for (const uint32_t opcode : {2U, 39U, 50U, 51U, 999U, 4'000'000'000U}) {
    const auto answer = wire.call(opcode, 1, std::string(64, '\0'));
    if (opcode == 2) continue;  // FORGET has no answer
    ASSERT_TRUE(answer) << opcode;
    EXPECT_EQ(answer->error, ENOSYS) << opcode;
  }
}

TEST_F(WireTest, MalformedMessagesAreDroppedAndTheNextIsServed) {
  fuse_in_header header{};
  header.opcode = FUSE_LOOKUP;
  header.nodeid = 1;
  header.unique = 1001;
  const auto message = [&](uint32_t length, size_t bytes) {
    header.len = length;
    std::string out = bytes_of(header);
    out.resize(bytes, 'x');
    return out;
  };
  fuse_batch_forget_in batch{};
  batch.count = 0x7fffffff;
  header.opcode = FUSE_LOOKUP;
  std::vector<std::string> bad = {"x",
                                  std::string(39, 'x'),
                                  message(40, 39),
                                  message(41, 40),
                                  message(0xffffffff, 64),
                                  message(0, 64)};
  header.opcode = FUSE_BATCH_FORGET;
  header.len = sizeof(header) + sizeof(batch) + 16;
  bad.push_back(bytes_of(header) + bytes_of(batch) + std::string(16, '\0'));
  header.len = sizeof(header);
  bad.push_back(bytes_of(header));
  // More bytes to write, or a longer value, than there are.
  header.opcode = FUSE_WRITE;
  header.len = sizeof(header) + sizeof(fuse_write_in) + 3;
  fuse_write_in write{};
  write.size = 4;
  bad.push_back(bytes_of(header) + bytes_of(write) + "abc");
  header.opcode = FUSE_SETXATTR;
  header.len = sizeof(header) + 8 + 7 + 3;
  bad.push_back(bytes_of(header) + bytes_of(uint64_t{4}) + "user.x" + '\0' + "abc");
  bad.push_back(bytes_of(header) + bytes_of(uint64_t{0}) + "user.xxxxx");
  header.opcode = FUSE_NOTIFY_REPLY;
  header.len = sizeof(header) + 4;
  bad.push_back(bytes_of(header) + "abcd");
  for (const std::string& one : bad) {
    wire.send_raw(one);
    EXPECT_EQ(wire.handle(), Channel::Outcome::served);
    EXPECT_FALSE(wire.receive());
  }
  // A name without its end, and a request without its arguments.
  EXPECT_TRUE(wire.call(FUSE_LOOKUP, 1, "large_tool_results"));
  EXPECT_TRUE(wire.call(FUSE_READ, 1, ""));
  EXPECT_TRUE(wire.call(FUSE_RENAME, 1, ""));
  EXPECT_NE(wire.find("/large_tool_results"), 0U);
  EXPECT_EQ(wire.handle(), Channel::Outcome::empty);
}

TEST_F(WireTest, HiddenFolder) {
  const auto folder = wire.lookup(1, ".ebla").as<fuse_entry_out>();
  EXPECT_EQ(folder.nodeid, VirtualTree::kFolder);
  EXPECT_NE(folder.nodeid & (uint64_t{1} << 62), 0U);
  EXPECT_EQ(folder.attr.mode, 040555U);
  const auto target = wire.call(FUSE_READLINK, wire.find("/.ebla/socket"));
  EXPECT_EQ(target->body, "/run/ebla.sock");
  EXPECT_EQ(wire.read(wire.find("/.ebla/version"), 0, 100).body, "0.1.0\n");
  EXPECT_EQ(wire.lookup(folder.nodeid, "put").as<fuse_entry_out>().nodeid, 0U);
  EXPECT_EQ(wire.lookup(wire.find("/large_tool_results"), ".ebla").as<fuse_entry_out>().nodeid, 0U);
  for (const auto& entry : wire.list(1, 0, 4096, true)) {
    EXPECT_NE(entry.name, ".ebla");
  }
}

TEST_F(WireTest, StatfsAndCounts) {
  const auto answer = wire.call(FUSE_STATFS, 1);
  ASSERT_TRUE(answer && answer->error == 0);
  EXPECT_EQ(answer->as<fuse_statfs_out>().st.namelen, 255U);
  const auto counts = wire.shared().counters.read();
  EXPECT_EQ(counts.at("statfs"), 1U);
  EXPECT_EQ(counts.at("init"), 1U);
  EXPECT_FALSE(counts.contains("lookup"));
}

TEST(WireSubtree, RootIsOneAndTheNumbersAreTheSame) {
  Wire wire("/large_tool_results");
  ASSERT_EQ(wire.init().error, 0);
  const Ino ino = wire.put("log", "x");
  EXPECT_EQ(wire.find("/log"), ino);
  const auto root = wire.call(FUSE_GETATTR, 1, bytes_of(fuse_getattr_in{}));
  EXPECT_EQ(root->as<fuse_attr_out>().attr.ino,
            wire.store().lookup(wire.store().root(), "large_tool_results")->ino);
  EXPECT_EQ(wire.find("/.ebla/version"), VirtualTree::kVersion);
  ASSERT_EQ(wire.call(FUSE_UNLINK, 1, std::string("log") + '\0')->error, 0);
}

TEST(WireOwner, EveryNodeBelongsToTheUserOfTheMount) {
  Wire wire("/", Owner{1234, 5678});
  ASSERT_EQ(wire.init().error, 0);
  wire.put("log", "x");
  for (const char* path : {"/large_tool_results", "/large_tool_results/log", "/.ebla"}) {
    const auto attr = wire.call(FUSE_GETATTR, wire.find(path), bytes_of(fuse_getattr_in{}));
    EXPECT_EQ(attr->as<fuse_attr_out>().attr.uid, 1234U) << path;
    EXPECT_EQ(attr->as<fuse_attr_out>().attr.gid, 5678U) << path;
  }
  const uint64_t folder = wire.find("/large_tool_results");
  for (const auto& entry : wire.list(folder, 0, 4096, true)) {
    if (entry.entry.nodeid != 0) {
      EXPECT_EQ(entry.entry.attr.uid, 1234U);
    }
  }
}

TEST_F(WireTest, RandomMessagesHarmNothing) {
  log::set_level(log::Level::error);  // each dropped message is a warning
  wire.put("log", "text");
  wire.find("/large_tool_results/log");
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string noise = kit::random_bytes(32 + seed % 200, seed);
    fuse_in_header header{};
    header.len = static_cast<uint32_t>(sizeof(header) + noise.size());
    header.opcode = static_cast<uint32_t>(1 + seed % 55);
    header.unique = 5000 + seed;
    header.nodeid = seed % 3 == 0 ? 1 : seed % 9;
    if (header.opcode == FUSE_DESTROY) continue;  // asked for: ends the session
    wire.send_raw(bytes_of(header) + noise);
    ASSERT_EQ(wire.handle(), Channel::Outcome::served);
    while (wire.receive()) {
    }
  }
  EXPECT_NE(wire.find("/large_tool_results"), 0U);
}

}  // namespace
}  // namespace ebla::fs
