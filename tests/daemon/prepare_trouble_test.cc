// A store that takes no writes, or cannot be read: the list stays valid and known decisions hold.
#include <gmock/gmock.h>

#include <future>
#include <set>

#include "tests/daemon/failing_store.h"
#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

class PrepareTroubleTest : public PrepareFixture {
 protected:
  void SetUp() override {
    under_ = std::move(store_);
    store_ = std::make_unique<FailingStore>(*under_);
    PrepareFixture::SetUp();
  }
  void TearDown() override {
    services_.reset();
    store_.reset();
  }
  FailingStore& failing() { return static_cast<FailingStore&>(*store_); }
  static std::vector<std::string> results(size_t count) {
    std::vector<std::string> list = {user("go")};
    for (size_t i = 0; i < count; ++i) {
      const std::string id = fmt::format("c{}", i);
      list.push_back(blocks("assistant", {tool_use(id)}));
      list.push_back(
          blocks("user", {tool_result(id, fmt::format("{}\n{}", i, kit::prose(100'000)))}));
    }
    return list;
  }
  static Health read_only_health() {
    Health health;
    health.writable = false;
    health.name = "read_only";
    health.text = "mounted read-only";
    return health;
  }
  std::unique_ptr<Store> under_;
};

TEST_F(PrepareTroubleTest, AFullDiskLosesNothingAndKnownDecisionsHold) {
  const auto known = messages_of(prepare(results(1)));
  failing().writes = Error{Code::no_space, "the disk is full: free some space"};
  const auto list = results(2);
  const Json reply = prepare(list);
  const auto out = messages_of(reply);
  EXPECT_EQ(out.at(2), known.at(2)) << "what is stored still stands in its place";
  EXPECT_EQ(out.at(4), list.at(4)) << "what could not be stored stays";
  EXPECT_EQ(text_of(*reply.find("degraded"), "name"), "no_space");
  EXPECT_THAT(text_of(*reply.find("degraded"), "text"), HasSubstr("free some space"));
  EXPECT_EQ(count_of(reply, "tool_result"), 0u);
  // The same from evict is an error: its caller keeps the content.
  EXPECT_EQ(
      must_fail("evict", R"({"session":"s","content":)" + json_string(kit::prose(100'000)) + "}")
          .code,
      Code::no_space);
  failing().writes.reset();
  EXPECT_EQ(count_of(prepare(list), "tool_result"), 1u);
}

TEST_F(PrepareTroubleTest, AReadOnlyStoreIsNotEvenTried) {
  prepare(results(1));
  failing().told = read_only_health();
  const int before = failing().changes;
  const Json reply = prepare(results(2), R"(,"window":60000)");
  EXPECT_EQ(text_of(*reply.find("degraded"), "name"), "read_only");
  EXPECT_EQ(failing().changes, before);
  EXPECT_TRUE(reply.find("actions")->items.empty());
  EXPECT_EQ(messages_of(reply).size(), 5u);
}

TEST_F(PrepareTroubleTest, WithoutTheHistoryNothingIsSummarised) {
  std::vector<std::string> list;
  for (int n = 0; n < 20; ++n) {
    list.push_back(user(fmt::format("{} {}", n, kit::prose(1'000))));
    list.push_back(assistant(fmt::format("{} {}", n, kit::prose(1'000))));
  }
  list.push_back(user("now"));
  failing().passes_ = Error{Code::io_error, "the disk failed: EIO"};
  const Json reply = prepare(list, R"(,"window":8000)");
  EXPECT_EQ(messages_of(reply), list);
  EXPECT_EQ(text_of(*reply.find("degraded"), "name"), "io_error");
  EXPECT_EQ(history(), "");
  failing().passes_.reset();
  const Json after = prepare(list, R"(,"window":8000)");
  EXPECT_EQ(count_of(after, "summary"), 1u);
  EXPECT_EQ(after.find("degraded"), nullptr);
}

TEST_F(PrepareTroubleTest, WhatCannotBeReadIsNotGuessed) {
  const auto list = results(1);
  prepare(list);
  failing().reads = Error{Code::io_error, "the disk failed: EIO"};
  const Json reply = prepare(list);
  EXPECT_EQ(messages_of(reply), list);
  EXPECT_EQ(text_of(*reply.find("degraded"), "name"), "io_error");
  EXPECT_EQ(number_of(*must("stats", "{}").find("prepare"), "degraded"), 1u);
}

TEST_F(PrepareTroubleTest, SixteenSessionsAtOnce) {
  std::vector<std::future<void>> sessions;
  for (int s = 0; s < 16; ++s) {
    sessions.push_back(std::async(std::launch::async, [this, s] {
      std::vector<std::string> list;
      std::vector<std::string> sent;
      for (int n = 0; n < 12; ++n) {
        list.push_back(user(fmt::format("session {} turn {} {}", s, n, kit::prose(1'000))));
        auto reply = call("prepare", fmt::format(R"({{"session":"s{}","window":4000,)"
                                                 R"("reply":"messages","messages":{}}})",
                                                 s, list_of(list)));
        ASSERT_TRUE(reply) << reply.error().text;
        EXPECT_TRUE(flag_of(*reply, "fits"));
        sent = messages_of(*reply);
        list.push_back(assistant(fmt::format("answer {} {} {}", s, n, kit::prose(1'000))));
      }
      const std::string all = fmt::format("{}", fmt::join(sent, "\n"));
      EXPECT_EQ(all.find(fmt::format("session {} turn", (s + 1) % 16)), std::string::npos);
    }));
  }
  for (auto& session : sessions) session.get();
  std::set<std::string> histories;
  for (int s = 0; s < 16; ++s) {
    const Json session = must("session.get", fmt::format(R"({{"session":"s{}"}})", s));
    const std::string text = file(text_of(session, "history"));
    EXPECT_NE(text.find(fmt::format("session {} turn 0 ", s)), std::string::npos);
    histories.insert(text_of(session, "history"));
  }
  EXPECT_EQ(histories.size(), 16u);
}

}  // namespace
}  // namespace ebla::daemon
