// A file that grows by the socket, as the kernel of a mount sees it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <future>

#include "fs/invalidator.h"
#include "tests/fs/wire.h"

namespace ebla::fs {
namespace {

class WireGrow : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(wire.init().error, 0);
    fuse_create_in in{};
    in.flags = O_WRONLY | O_CREAT;
    in.mode = S_IFREG | 0600;
    const auto made = wire.call(FUSE_CREATE, 1, bytes_of(in) + "f" + '\0');
    node = made->as<fuse_entry_out>().nodeid;
    release();
  }
  void release() {
    fuse_release_in in{};
    in.flags = O_WRONLY;
    EXPECT_EQ(wire.call(FUSE_RELEASE, node, bytes_of(in))->error, 0);
  }
  std::optional<Answer> open(uint32_t flags) {
    fuse_open_in in{};
    in.flags = flags;
    return wire.call(FUSE_OPEN, node, bytes_of(in));
  }
  std::optional<Answer> truncate(uint64_t size) {
    fuse_setattr_in in{};
    in.valid = FATTR_SIZE;
    in.size = size;
    return wire.call(FUSE_SETATTR, node, bytes_of(in));
  }
  Growing& growing() { return wire.shared().growing; }
  // As the socket's append does it.
  ChangeSet append(const std::string& bytes) {
    ChangeSet out;
    wire.store().write({.ino = node, .append = true}, bytes, {},
                       [&](const Result<WriteOutcome>& written, const ChangeSet& changes) {
                         EXPECT_TRUE(written);
                         out = changes;
                       });
    return out;
  }

  Wire wire;
  uint64_t node = 0;
};

TEST_F(WireGrow, OpenIsAnsweredWhenItHasGrown) {
  auto growth = growing().begin(node);
  ASSERT_TRUE(growth);
  EXPECT_FALSE(open(O_WRONLY | O_APPEND));
  const auto reads = open(O_RDONLY);
  ASSERT_TRUE(reads) << "who reads does not wait";
  EXPECT_EQ(reads->error, 0);
  growth->reset();
  const auto writes = wire.receive();
  ASSERT_TRUE(writes);
  EXPECT_EQ(writes->error, 0);
  EXPECT_FALSE(growing().begin(node)) << "it is open";
  release();
  EXPECT_TRUE(growing().begin(node));
}

TEST_F(WireGrow, TruncationWaitsAndCountsAsWritingUntilItIsAnswered) {
  append("bytes");
  auto growth = growing().begin(node);
  EXPECT_FALSE(truncate(1));
  EXPECT_EQ(wire.store().getattr(node)->size, 5U);
  growth->reset();
  EXPECT_EQ(wire.receive()->as<fuse_attr_out>().attr.size, 1U);
  EXPECT_TRUE(growing().begin(node)) << "nobody has it open";
}

TEST_F(WireGrow, WhatACreateMadeAndTheSocketGrowsIsLookedUpAgain) {
  fuse_create_in in{};
  in.flags = O_WRONLY | O_CREAT;
  in.mode = S_IFREG | 0600;
  auto growth = growing().begin(node + 1);
  const auto made = wire.call(FUSE_CREATE, 1, bytes_of(in) + "g" + '\0');
  EXPECT_EQ(wire.find("/g"), node + 1);
  EXPECT_EQ(made->error, ESTALE) << "the kernel holds the folder: it must not wait";
  const auto told = std::ranges::find(wire.published(), 0U, &ChangeSet::origin);
  ASSERT_NE(told, wire.published().end()) << "its listing of the folder lacks the name";
  ASSERT_EQ(told->dentries.size(), 1U);
  EXPECT_EQ(told->dentries[0].name, "g");
}

TEST_F(WireGrow, AMountThatDiesMeanwhileLeavesNothing) {
  auto growth = growing().begin(node);
  EXPECT_FALSE(open(O_WRONLY));
  EXPECT_FALSE(truncate(0));
  wire.hang_up();
  EXPECT_EQ(wire.handle(), Channel::Outcome::dead);
  wire.connection().died();
  growth->reset();
  EXPECT_TRUE(growing().begin(node));
}

TEST_F(WireGrow, AKernelThatTakesNoAnswerHoldsNothingOpen) {
  auto growth = growing().begin(node);
  EXPECT_FALSE(open(O_WRONLY));
  wire.hang_up();
  growth->reset();
  EXPECT_TRUE(growing().begin(node));
}

TEST_F(WireGrow, TheKernelIsToldTheNewEnd) {
  append("one\n");
  std::promise<void> told;
  Invalidator invalidator(wire.connection());
  auto growth = growing().begin(node);
  invalidator.push(append("zwei\n"), std::make_shared<Delivery>([&] { told.set_value(); }));
  told.get_future().wait();
  std::vector<int> codes;
  fuse_notify_store_out store{};
  std::string byte;
  for (auto notice = wire.receive(); notice; notice = wire.receive()) {
    codes.push_back(-notice->error);
    if (codes.back() != FUSE_NOTIFY_STORE) continue;
    store = notice->as<fuse_notify_store_out>();
    byte = notice->body.substr(sizeof store);
  }
  EXPECT_EQ(codes,
            (std::vector<int>{FUSE_NOTIFY_INVAL_ENTRY, FUSE_NOTIFY_INVAL_INODE, FUSE_NOTIFY_STORE}))
      << "old pages go before anybody can see what lies behind them";
  EXPECT_EQ(store.nodeid, node);
  EXPECT_EQ(store.offset, 8U);
  EXPECT_EQ(store.size, 1U);
  EXPECT_EQ(byte, "\n");
}

}  // namespace
}  // namespace ebla::fs
