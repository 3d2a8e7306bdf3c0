// `prepare` over the SQLite store on a disk that fails: nothing stands for what is not stored, and
// the next call is as ever when the disk works again.
#include <gmock/gmock.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <mutex>
#include <thread>

#include "schema/sqlite/open.h"
#include "tests/daemon/speech.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/fault_vfs.h"

namespace ebla::daemon {
namespace {

using sqlite::test::FaultVfs;

class PrepareStoreTest : public PrepareFixture {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    services_.reset();
    store_.reset();
  }
  void open() {
    services_.reset();
    store_.reset();
    sqlite::OpenOptions options;
    options.path = folder_ / "store.db";
    options.uid = kUid;
    options.gid = kUid;
    options.clock = &clock_;
    options.sync = [this](int) {
      const std::scoped_lock wait(sync_gate_);
      return sync_error_.load();
    };
    auto opened = sqlite::open_store(options);
    ASSERT_TRUE(opened) << opened.error().text;
    store_ = *std::move(opened);
    start();
  }
  Json ask(const Speech& speech, std::string_view session, const std::vector<std::string>& list) {
    return must("prepare", fmt::format(R"({{"session":"{}","format":"{}","window":200000,)"
                                       R"("reply":"messages","messages":{}}})",
                                       session, speech.format, list_of(list)));
  }
  static std::vector<std::string> plain(const std::vector<std::string>& list) {
    std::vector<std::string> messages;
    for (const std::string& message : list) messages.push_back(to_json(*parse_json(message)));
    return messages;
  }
  // A known session and a new one while the disk fails, and afterwards.
  void go_through(const Speech& speech, bool replaces, const std::function<void()>& begin,
                  const std::function<void()>& end) {
    SCOPED_TRACE(fmt::format("{} {}", speech.format, replaces));
    const std::string name = fmt::format("{}-{}", speech.format, replaces);
    std::vector<std::string> list = speech.lead;
    const auto add = [&](std::vector<std::string>& to, std::string_view mark) {
      to.push_back(speech.user(fmt::format("ask {}", mark)));
      for (auto& message : speech.tool(fmt::format("{}-{}", name, mark),
                                       fmt::format("{} {}\n{}", name, mark, kit::prose(100'000)))) {
        to.push_back(std::move(message));
      }
    };
    add(list, "1");
    const auto sent = messages_of(ask(speech, name, list));
    if (replaces) list = sent;
    list.push_back(speech.model("so"));
    add(list, "2");
    std::vector<std::string> fresh = speech.lead;
    add(fresh, "3");
    begin();
    const Json known = ask(speech, name, list);
    auto expected = plain(list);
    std::ranges::copy(sent, expected.begin());
    EXPECT_EQ(messages_of(known), expected);
    const Json unknown = ask(speech, name + "-new", fresh);
    EXPECT_EQ(messages_of(unknown), plain(fresh));
    // What was committed and is not on disk stands for nothing.
    const Json still = ask(speech, name, list);
    EXPECT_EQ(messages_of(still), expected);
    for (const Json* reply : {&known, &unknown, &still}) {
      EXPECT_TRUE(reply->find("actions")->items.empty());
      ASSERT_NE(reply->find("degraded"), nullptr);
      EXPECT_EQ(text_of(*reply->find("degraded"), "name"), "io_error");
    }
    end();
    for (const auto& [session, asked] : {std::pair(name, list), std::pair(name + "-new", fresh)}) {
      const Json well = ask(speech, session, asked);
      EXPECT_EQ(well.find("degraded"), nullptr) << to_json(*well.find("degraded"));
      // What was written in spite of the error is known now.
      const size_t results = session == name ? 2 : 1;
      EXPECT_EQ(count_of(well, "tool_result") + number_of(*well.find("known"), "items"), results);
      EXPECT_NE(messages_of(well).back(), plain(asked).back());
      for (const Json& action : well.find("actions")->items) {
        EXPECT_TRUE(file(text_of(action, "path")).starts_with(name));
      }
    }
  }

  kit::TempDir folder_{"prepare"};
  std::atomic<int> sync_error_ = 0;
  std::mutex sync_gate_;
};

TEST_F(PrepareStoreTest, ASyncThatFails) {
  for (const Speech& speech : speeches()) {
    for (const bool replaces : {false, true}) {
      go_through(speech, replaces, [&] { sync_error_ = EIO; }, [&] { sync_error_ = 0; });
    }
  }
}

TEST_F(PrepareStoreTest, ADiskThatSaysNothing) {
  const Speech speech = speeches().front();
  std::vector<std::string> list = {speech.user("go")};
  ask(speech, "s", list);
  for (auto& message : speech.tool("c", kit::prose(100'000))) list.push_back(message);
  std::unique_lock hold(sync_gate_);
  auto first = std::async(std::launch::async, [&] { return ask(speech, "s", list); });
  // Another call that finds what is committed waits for the disk as well.
  while (store_->usage().evictions == 0) std::this_thread::yield();
  auto second = std::async(std::launch::async, [&] { return ask(speech, "s", list); });
  for (auto* answer : {&first, &second}) {
    const Json reply = answer->get();
    ASSERT_NE(reply.find("degraded"), nullptr);
    EXPECT_EQ(text_of(*reply.find("degraded"), "name"), "unavailable");
    EXPECT_EQ(messages_of(reply), plain(list));
  }
  hold.unlock();
  const Json well = ask(speech, "s", list);
  EXPECT_EQ(well.find("degraded"), nullptr);
  EXPECT_EQ(number_of(*well.find("known"), "items"), 1u);
}

TEST_F(PrepareStoreTest, WhoReadsDoesNotWaitForTheDisk) {
  const std::string text = kit::prose(100'000);
  const std::string kept = put(text, "kept");
  std::unique_lock hold(sync_gate_);
  // More than there are threads for them.
  std::vector<std::future<std::string>> writers;
  for (size_t i = 0; i < 20; ++i) {
    writers.push_back(std::async(std::launch::async,
                                 [this, i] { return put(kit::numbered_rows(50'000 + i), ""); }));
  }
  while (store_->usage().evictions < 2) std::this_thread::yield();
  EXPECT_EQ(file(kept), text);
  EXPECT_NE(must("fs.ls", R"({"path":"/large_tool_results"})").find("entries"), nullptr);
  EXPECT_EQ(number_of(must("fs.stat", fmt::format(R"({{"path":"{}"}})", kept)), "size"),
            text.size());
  EXPECT_EQ(text_of(must("status", "{}"), "state"), "ready");
  // None of them was told before it is true.
  for (auto& writer : writers)
    EXPECT_EQ(writer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  hold.unlock();
  for (auto& writer : writers) EXPECT_FALSE(writer.get().empty());
}

TEST_F(PrepareStoreTest, ADiskThatTakesNothing) {
  services_.reset();
  store_.reset();
  FaultVfs disk(folder_.path());
  open();
  for (const Speech& speech : speeches()) {
    for (const bool replaces : {false, true}) {
      go_through(
          speech, replaces, [&] { disk.arm(FaultVfs::Fault::crash, 1); },
          [&] { disk.arm(FaultVfs::Fault::none, 0); });
    }
  }
  TearDown();
}

// Fails at the n-th operation, for every n until a call needs fewer: what the model is shown in
// place of a result can always be read.
TEST_F(PrepareStoreTest, WhereverItFailsWhatIsShownCanBeRead) {
  services_.reset();
  store_.reset();
  FaultVfs disk(folder_.path());
  open();
  const Speech speech = speeches().front();
  bool fired = true;
  for (uint64_t n = 1; fired && n < 200; ++n) {
    SCOPED_TRACE(n);
    std::vector<std::string> calls;
    std::vector<std::string> results;
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 3; ++i) {
      const std::string id = fmt::format("c{}-{}", n, i);
      texts[id] = fmt::format("{}\n{}", id, kit::prose(100'000));
      calls.push_back(tool_use(id));
      results.push_back(tool_result(id, texts[id]));
    }
    const std::vector<std::string> list = {user("go"), blocks("assistant", calls),
                                           blocks("user", results)};
    const std::string session = fmt::format("s{}", n);
    disk.arm(n % 2 == 0 ? FaultVfs::Fault::error : FaultVfs::Fault::full, n);
    const Json reply = ask(speech, session, list);
    fired = disk.fired();
    disk.arm(FaultVfs::Fault::none, 0);
    std::string out = messages_of(reply).at(2);
    for (const Json& action : reply.find("actions")->items) {
      EXPECT_EQ(file(text_of(action, "path")), texts.at(text_of(action, "id")));
      texts.erase(text_of(action, "id"));
    }
    for (const auto& [id, text] : texts) EXPECT_NE(out.find(json_string(text)), std::string::npos);
    EXPECT_EQ(texts.empty(), reply.find("degraded") == nullptr);
    const Json again = ask(speech, session, list);
    EXPECT_EQ(again.find("degraded"), nullptr);
    EXPECT_EQ(count_of(again, "tool_result") + number_of(*again.find("known"), "items"), 3u);
  }
  EXPECT_FALSE(fired);
  TearDown();
}

}  // namespace
}  // namespace ebla::daemon
