// What clients change through a mount that writes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/fs/wire.h"

namespace ebla::fs {
namespace {

std::string text(std::string_view word) {
  return std::string(word) + '\0';
}

class WireWrite : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(wire.init().error, 0);
    wire.put("log", "x");
  }

  int error_of(uint32_t opcode, uint64_t node, const std::string& body) {
    const auto answer = wire.call(opcode, node, body);
    return answer ? answer->error : -1;
  }
  Answer create(uint64_t parent, std::string_view name, uint32_t flags = O_RDWR) {
    fuse_create_in in{};
    in.flags = flags | O_CREAT;
    in.mode = S_IFREG | 0640;
    return *wire.call(FUSE_CREATE, parent, bytes_of(in) + text(name));
  }
  uint64_t make(std::string_view name) {
    const Answer answer = create(1, name);
    EXPECT_EQ(answer.error, 0);
    return answer.as<fuse_entry_out>().nodeid;
  }
  Answer write(uint64_t node, uint64_t offset, const std::string& bytes) {
    fuse_write_in in{};
    in.offset = offset;
    in.size = static_cast<uint32_t>(bytes.size());
    return *wire.call(FUSE_WRITE, node, bytes_of(in) + bytes);
  }
  fuse_attr attr_of(uint64_t node) {
    return wire.call(FUSE_GETATTR, node, bytes_of(fuse_getattr_in{}))->as<fuse_attr_out>().attr;
  }

  Wire wire;
};

TEST_F(WireWrite, AFileFromItsBirthToItsEnd) {
  const Answer created = create(1, "f");
  ASSERT_EQ(created.error, 0);
  const auto entry = created.as<fuse_entry_out>();
  EXPECT_EQ(entry.attr.mode, static_cast<uint32_t>(S_IFREG | 0640));
  EXPECT_TRUE(wire.connection().served().nodes.holds(entry.nodeid));
  fuse_open_out opened{};
  std::memcpy(&opened, created.body.data() + sizeof entry, sizeof opened);
  EXPECT_EQ(opened.open_flags & (FOPEN_KEEP_CACHE | FOPEN_NOFLUSH | FOPEN_DIRECT_IO),
            static_cast<uint32_t>(FOPEN_KEEP_CACHE))
      << "a close reports what went wrong";
  EXPECT_EQ(write(entry.nodeid, 3, "bytes").as<fuse_write_out>().size, 5U);
  EXPECT_EQ(wire.read(entry.nodeid, 0, 100).body, std::string(3, '\0') + "bytes");
  EXPECT_EQ(attr_of(entry.nodeid).size, 8U);
  EXPECT_EQ(error_of(FUSE_FLUSH, entry.nodeid, bytes_of(fuse_flush_in{})), 0);
  EXPECT_EQ(error_of(FUSE_FSYNC, entry.nodeid, bytes_of(fuse_fsync_in{})), 0);
  EXPECT_EQ(error_of(FUSE_FSYNCDIR, 1, bytes_of(fuse_fsync_in{})), 0);
  EXPECT_EQ(error_of(FUSE_UNLINK, 1, text("f")), 0);
  EXPECT_EQ(write(entry.nodeid, 0, "abc").error, 0) << "it is still open";
  EXPECT_EQ(wire.read(entry.nodeid, 0, 3).body, "abc");
  wire.forget(entry.nodeid, 1);
  EXPECT_FALSE(wire.store().getattr(entry.nodeid));
}

TEST_F(WireWrite, OtherMountsAreTold) {
  const uint64_t node = make("f");
  ASSERT_EQ(wire.published().size(), 1U);
  EXPECT_EQ(wire.published()[0].dentries.at(0).name, "f");
  ASSERT_EQ(write(node, 10, "bytes").error, 0);
  ASSERT_EQ(wire.published().size(), 2U);
  const ChangeSet& told = wire.published()[1];
  EXPECT_EQ(told.origin, 1U);
  ASSERT_EQ(told.ranges.size(), 1U);
  EXPECT_EQ(told.ranges[0], (RangeChange{.ino = node, .offset = 10, .length = 5}));
}

// The kernel looked and found nothing: it must look again, and open what it finds then.
TEST_F(WireWrite, WhatIsThereAlreadyIsNotOpenedByCreate) {
  make("f");
  EXPECT_EQ(create(1, "f").error, ESTALE);
  EXPECT_EQ(create(1, "f", O_RDWR | O_EXCL).error, EEXIST);
  EXPECT_EQ(error_of(FUSE_MKDIR, 1, bytes_of(fuse_mkdir_in{}) + text("f")), EEXIST);
}

TEST_F(WireWrite, OwnersAndModesAreTheCallers) {
  fuse_mkdir_in in{};
  in.mode = 01775;
  const auto made = wire.call(FUSE_MKDIR, 1, bytes_of(in) + text("d"))->as<fuse_entry_out>();
  EXPECT_EQ(made.attr.mode, static_cast<uint32_t>(S_IFDIR | 01775));
  EXPECT_EQ(made.attr.nlink, 2U);
  fuse_mknod_in node{};
  node.mode = S_IFIFO | 0600;
  const auto fifo = wire.call(FUSE_MKNOD, made.nodeid, bytes_of(node) + text("p"));
  EXPECT_EQ(fifo->as<fuse_entry_out>().attr.mode, static_cast<uint32_t>(S_IFIFO | 0600));
  const auto link = wire.call(FUSE_SYMLINK, 1, text("l") + text("target"));
  EXPECT_EQ(wire.call(FUSE_READLINK, link->as<fuse_entry_out>().nodeid)->body, "target");
  EXPECT_EQ(error_of(FUSE_RMDIR, 1, text("d")), ENOTEMPTY);
}

TEST_F(WireWrite, AttributesOneByOne) {
  const uint64_t node = make("f");
  fuse_setattr_in in{};
  in.valid = FATTR_SIZE | FATTR_MTIME;
  in.size = 77;
  in.mtime = static_cast<uint64_t>(-2);
  in.mtimensec = 5;
  auto set = wire.call(FUSE_SETATTR, node, bytes_of(in))->as<fuse_attr_out>().attr;
  EXPECT_EQ(set.size, 77U);
  EXPECT_EQ(static_cast<int64_t>(set.mtime), -2);
  EXPECT_EQ(set.mtimensec, 5U);
  EXPECT_EQ(set.mode, static_cast<uint32_t>(S_IFREG | 0640)) << "not asked for";
  in.valid = FATTR_ATIME | FATTR_MODE;
  in.atime = UINT64_MAX / 4;
  in.mode = S_IFREG | 04711;
  set = wire.call(FUSE_SETATTR, node, bytes_of(in))->as<fuse_attr_out>().attr;
  EXPECT_EQ(set.mode, static_cast<uint32_t>(S_IFREG | 04711));
  EXPECT_GT(set.atime, 9'000'000'000U) << "as far as the store can count";
  in.valid = FATTR_SIZE;
  in.size = uint64_t{1} << 42;
  EXPECT_EQ(error_of(FUSE_SETATTR, node, bytes_of(in)), EFBIG);
}

TEST_F(WireWrite, ExtendedAttributes) {
  const uint64_t node = make("f");
  const auto set = [&](const std::string& name, const std::string& value, uint32_t flags) {
    const std::array<uint32_t, 2> head{static_cast<uint32_t>(value.size()), flags};
    return error_of(FUSE_SETXATTR, node, bytes_of(head) + text(name) + value);
  };
  EXPECT_EQ(set("user.a", "value", 0), 0);
  EXPECT_EQ(set("user.a", "value", 1), EEXIST);
  EXPECT_EQ(set("user.b", "value", 2), ENODATA);
  EXPECT_EQ(set("user.ebla.kind", "x", 0), EOPNOTSUPP);
  EXPECT_EQ(set("security.x", "x", 0), EOPNOTSUPP);
  const auto value = wire.call(
      FUSE_GETXATTR, node, bytes_of(fuse_getxattr_in{.size = 9, .padding = 0}) + text("user.a"));
  EXPECT_EQ(value->body, "value");
  EXPECT_EQ(error_of(FUSE_REMOVEXATTR, node, text("user.a")), 0);
  EXPECT_EQ(error_of(FUSE_REMOVEXATTR, node, text("user.a")), ENODATA);
}

TEST_F(WireWrite, RangesOfAFile) {
  const uint64_t node = make("f");
  ASSERT_EQ(write(node, 300'000, "end").error, 0);
  const auto seek = [&](uint64_t offset, uint32_t whence) {
    fuse_lseek_in in{};
    in.offset = offset;
    in.whence = whence;
    return *wire.call(FUSE_LSEEK, node, bytes_of(in));
  };
  EXPECT_EQ(seek(0, SEEK_HOLE).as<fuse_lseek_out>().offset, 0U);
  EXPECT_GT(seek(0, SEEK_DATA).as<fuse_lseek_out>().offset, 0U);
  EXPECT_EQ(seek(300'000, SEEK_HOLE).as<fuse_lseek_out>().offset, 300'003U);
  EXPECT_EQ(seek(400'000, SEEK_DATA).error, ENXIO);
  EXPECT_EQ(seek(0, SEEK_END).error, EINVAL);
  const auto allocate = [&](uint32_t mode, uint64_t length) {
    fuse_fallocate_in in{};
    in.length = length;
    in.mode = mode;
    return error_of(FUSE_FALLOCATE, node, bytes_of(in));
  };
  EXPECT_EQ(allocate(0, 500'000), 0);
  EXPECT_EQ(attr_of(node).size, 500'000U);
  EXPECT_EQ(allocate(0, 0), EINVAL);
  EXPECT_EQ(allocate(2, 10), EOPNOTSUPP) << "a hole that cuts the file is none";
  EXPECT_EQ(allocate(8, 10), EOPNOTSUPP);
  fuse_copy_file_range_in copy{};
  copy.off_in = 300'000;
  copy.nodeid_out = node;
  copy.len = 3;
  EXPECT_EQ(wire.call(FUSE_COPY_FILE_RANGE, node, bytes_of(copy))->as<fuse_write_out>().size, 3U);
  EXPECT_EQ(wire.read(node, 0, 3).body, "end");
}

TEST_F(WireWrite, NamesMove) {
  const uint64_t node = make("f");
  make("g");
  const auto rename = [&](std::string_view from, std::string_view to, uint32_t flags) {
    fuse_rename2_in in{};
    in.newdir = 1;
    in.flags = flags;
    return error_of(FUSE_RENAME2, 1, bytes_of(in) + text(from) + text(to));
  };
  EXPECT_EQ(rename("f", "g", 1), EEXIST);
  EXPECT_EQ(rename("f", "h", 2), ENOENT);
  EXPECT_EQ(rename("f", "g", 4), EINVAL);
  EXPECT_EQ(rename("f", "g", 2), 0);
  EXPECT_EQ(wire.find("/g"), node);
  EXPECT_EQ(rename("g", "h", 0), 0);
  EXPECT_EQ(wire.find("/h"), node);
  fuse_link_in link{};
  link.oldnodeid = node;
  const auto linked = wire.call(FUSE_LINK, 1, bytes_of(link) + text("too"));
  EXPECT_EQ(linked->as<fuse_entry_out>().nodeid, node);
  EXPECT_EQ(linked->as<fuse_entry_out>().attr.nlink, 2U);
  EXPECT_EQ(rename("f", ".ebla", 0), EBUSY);
  EXPECT_EQ(rename(".ebla", "x", 0), EBUSY);
}

TEST_F(WireWrite, WhatIsProtectedStaysSo) {
  const uint64_t top = wire.find("/large_tool_results");
  const uint64_t log = wire.find("/large_tool_results/log");
  const uint64_t own = make("own");
  const uint64_t socket = wire.find("/.ebla/version");
  fuse_open_in to_write{};
  to_write.flags = O_WRONLY | O_APPEND;
  fuse_link_in link{};
  link.oldnodeid = log;
  fuse_rename_in to_top{};
  to_top.newdir = top;
  fuse_copy_file_range_in copy{};
  copy.nodeid_out = log;
  copy.len = 1;
  const std::string xattr = std::string(8, '\0') + text("user.x");
  const struct {
    uint32_t opcode;
    uint64_t node;
    std::string body;
    int error;
  } table[] = {
      {FUSE_OPEN, log, bytes_of(to_write), EPERM},
      {FUSE_OPEN, socket, bytes_of(to_write), EPERM},
      {FUSE_WRITE, log, bytes_of(fuse_write_in{}), EPERM},
      {FUSE_FALLOCATE, log, bytes_of(fuse_fallocate_in{0, 0, 9, 0, 0}), EPERM},
      {FUSE_COPY_FILE_RANGE, own, bytes_of(copy), EPERM},
      {FUSE_SETATTR, log, bytes_of(fuse_setattr_in{}), EPERM},
      {FUSE_SETATTR, top, bytes_of(fuse_setattr_in{}), EPERM},
      {FUSE_SETXATTR, log, xattr, EPERM},
      {FUSE_SETXATTR, top, xattr, EPERM},
      {FUSE_LINK, 1, bytes_of(link) + text("x"), EPERM},
      {FUSE_RENAME, top, bytes_of(fuse_rename_in{1}) + text("log") + text("x"), EPERM},
      {FUSE_RENAME, 1, bytes_of(to_top) + text("own") + text("log"), EPERM},
      {FUSE_RENAME, 1, bytes_of(fuse_rename_in{1}) + text("large_tool_results") + text("x"), EBUSY},
      {FUSE_RMDIR, 1, text("conversation_history"), EBUSY},
      {FUSE_RMDIR, 1, text(".ebla"), EBUSY},
      {FUSE_UNLINK, wire.find("/conversation_history"), text("default.md"), EPERM},
      {FUSE_UNLINK, wire.find("/.ebla"), text("version"), EPERM},
      {FUSE_MKDIR, wire.find("/.ebla"), bytes_of(fuse_mkdir_in{}) + text("x"), EROFS},
      {FUSE_UNLINK, top, text("log"), 0},
  };
  for (const auto& row : table) {
    EXPECT_EQ(error_of(row.opcode, row.node, row.body), row.error)
        << "opcode " << row.opcode << " node " << row.node;
  }
  const Answer answer = create(top, "mine");
  EXPECT_EQ(answer.error, 0) << "clients' own files may lie there";
  EXPECT_EQ(create(top, "log").error, EPERM) << "the name of a removed result stays its own";
}

}  // namespace
}  // namespace ebla::fs
