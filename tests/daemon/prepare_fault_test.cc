// `prepare` of the real daemon while its store is in trouble, in every format, in both ways to keep
// the list, for a known session and for a new one: an answer in bounded time, valid, with what is
// stored still in its place and nothing new gone; and as ever when the trouble is over.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <set>

#include "tests/daemon/eblad_fixture.h"
#include "tests/daemon/speech.h"
#include "tests/kit/private_mounts.h"

namespace ebla::daemon {
namespace {

struct Trouble {
  std::function<void()> begin;
  std::function<void()> end;
  std::set<std::string> names;  // that `degraded` may have
};

// What another program holds when it says BEGIN EXCLUSIVE: SQLite's lock of the writer is byte 120
// of the index of the log.
class ForeignLock {
 public:
  explicit ForeignLock(const std::string& store)
      : index_(::open((store + "-shm").c_str(), O_RDWR | O_CLOEXEC)) {}
  void hold(bool wanted) {
    struct flock lock{};
    lock.l_type = wanted ? F_WRLCK : F_UNLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 120;
    lock.l_len = 1;
    // The daemon has it for moments.
    EXPECT_EQ(::fcntl(index_.get(), F_SETLKW, &lock), 0);
  }

 private:
  UniqueFd index_;
};

class PrepareFaultTest : public EbladFixture {
 protected:
  static std::string result_text(std::string_view mark) {
    return fmt::format("result {}\n{}", mark, kit::prose(100'000));
  }
  static std::string turn(const Speech& speech, std::vector<std::string>& list,
                          std::string_view mark) {
    std::string text = result_text(mark);
    list.push_back(speech.user(fmt::format("ask {}", mark)));
    for (std::string& message : speech.tool(fmt::format("call_{}", mark), text)) {
      list.push_back(std::move(message));
    }
    return text;
  }
  Json prepare(std::string_view session, const Speech& speech, const std::vector<std::string>& list,
               int window = 200'000) {
    const auto begin = std::chrono::steady_clock::now();
    Json reply = client_->must("prepare",
                               fmt::format(R"({{"session":"{}","format":"{}","window":{},)"
                                           R"("reply":"messages","messages":{{"$blob":0}}}})",
                                           session, speech.format, window),
                               {list_of(list)});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9)) << session;
    return reply;
  }
  static std::vector<std::string> messages_of(const Json& reply) {
    std::vector<std::string> messages;
    for (const Json& message : reply.find("messages")->items) messages.push_back(to_json(message));
    return messages;
  }
  // The same, as it would come back with nothing changed.
  static std::vector<std::string> plain(const std::vector<std::string>& list) {
    std::vector<std::string> messages;
    for (const std::string& message : list) messages.push_back(to_json(*parse_json(message)));
    return messages;
  }
  static std::vector<std::string> paths_of(const Json& reply) {
    std::vector<std::string> paths;
    for (const Json& action : reply.find("actions")->items) {
      if (action.find("path") != nullptr) paths.push_back(text_of(action, "path"));
    }
    return paths;
  }
  void expect_degraded(const Json& reply, const Trouble& trouble) {
    const Json* degraded = reply.find("degraded");
    ASSERT_NE(degraded, nullptr);
    EXPECT_TRUE(trouble.names.contains(text_of(*degraded, "name"))) << to_json(*degraded);
    EXPECT_FALSE(text_of(*degraded, "text").empty());
    EXPECT_TRUE(reply.find("actions")->items.empty()) << to_json(*reply.find("actions"));
  }
  void expect_well(const Json& reply, const std::string& text) {
    EXPECT_EQ(reply.find("degraded"), nullptr);
    const auto paths = paths_of(reply);
    ASSERT_EQ(paths.size(), 1u) << to_json(*reply.find("actions"));
    Client reader(socket_);  // it takes blobs from then on
    EXPECT_EQ(read_all(reader, paths.front()), text);
  }

  // The whole course, for one format and one way.
  void go_through(const Speech& speech, bool replaces, const Trouble& trouble) {
    SCOPED_TRACE(fmt::format("{} {}", speech.format, replaces ? "replaces" : "keeps"));
    const std::string name = fmt::format("{}-{}", speech.format, replaces);
    std::vector<std::string> list = speech.lead;
    const std::string first = turn(speech, list, name + "-1");
    const Json before = prepare(name, speech, list);
    expect_well(before, first);
    const std::vector<std::string> sent = messages_of(before);
    if (replaces) list = sent;
    list.push_back(speech.model("an answer"));
    const std::string second = turn(speech, list, name + "-2");

    std::vector<std::string> fresh = speech.lead;
    const std::string third = turn(speech, fresh, name + "-3");
    const std::string new_name = name + "-new";

    trouble.begin();
    const Json reply = prepare(name, speech, list);
    expect_degraded(reply, trouble);
    EXPECT_TRUE(flag_of(reply, "fits"));
    std::vector<std::string> expected = plain(list);
    std::ranges::copy(sent, expected.begin());
    EXPECT_EQ(messages_of(reply), expected) << "what is stored in its place, the rest as it came";
    for (const int window : {200'000, 12'000}) {
      const Json unknown = prepare(new_name, speech, fresh, window);
      expect_degraded(unknown, trouble);
      EXPECT_EQ(messages_of(unknown), plain(fresh));
      EXPECT_EQ(flag_of(unknown, "fits"), window == 200'000);
      EXPECT_EQ(unknown.find("fills") == nullptr, window == 200'000);
    }
    trouble.end();
    expect_well(prepare(name, speech, list), second);
    expect_well(prepare(new_name, speech, fresh), third);
  }
  void go_through_all(const Trouble& trouble) {
    for (const Speech& speech : speeches()) {
      for (const bool replaces : {false, true}) go_through(speech, replaces, trouble);
    }
  }
  void connect(const Eblad& eblad) {
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    client_.emplace(socket_);
    ASSERT_TRUE(client_->connected());
  }

  std::optional<Client> client_;
};

TEST_F(PrepareFaultTest, AnotherProgramHoldsTheLock) {
  Eblad eblad(unmounted());
  connect(eblad);
  ForeignLock lock(store_);
  go_through_all({[&] { lock.hold(true); }, [&] { lock.hold(false); }, {"busy"}});
}

TEST_F(PrepareFaultTest, ADiskThatIsFull) {
  EBLA_NEED_ROOT();
  ASSERT_TRUE(kit::keep_mounts_private());
  const std::string disk = folder_ / "disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", 0, "size=64m"), 0);
  {
    Eblad::Setup setup = unmounted();
    setup.store = disk + "/store.db";
    Eblad eblad(setup);
    connect(eblad);
    const UniqueFd filler(::open((disk + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string zeros(1 << 16, 'z');
    const auto fill = [&] {
      while (write_full(filler.get(), zeros)) {
      }
    };
    const auto empty = [&] {
      EXPECT_EQ(::ftruncate(filler.get(), 0), 0);
      EXPECT_EQ(::lseek(filler.get(), 0, SEEK_SET), 0);
    };
    go_through_all({fill, empty, {"no_space"}});
    client_.reset();
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(PrepareFaultTest, AProcessThatMayNotWriteLongFiles) {
  Eblad eblad(unmounted());
  connect(eblad);
  const auto limit_to = [&](rlim_t bytes) {
    rlimit limit{};
    EXPECT_EQ(::prlimit(eblad.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
    limit.rlim_cur = bytes;
    EXPECT_EQ(::prlimit(eblad.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  };
  go_through_all(
      {[&] { limit_to(4'096); }, [&] { limit_to(RLIM_INFINITY); }, {"no_space", "io_error"}});
}

// What is open stays so: nothing is lost, and nothing need be refused.
TEST_F(PrepareFaultTest, FilesThatBecomeReadOnlyUnderAnOrdinaryUser) {
  EBLA_NEED_ROOT();
  constexpr uid_t kNobody = 65534;
  const kit::TempDir home("eblad-home");
  ASSERT_EQ(::chown(home.path().c_str(), kNobody, kNobody), 0);
  Eblad::Setup setup = unmounted();
  setup.store = home / "store.db";
  setup.socket = socket_ = home / "ebla.sock";
  setup.in_child = [] {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(126);
  };
  Eblad eblad(setup);
  connect(eblad);
  const Speech speech = speeches().front();
  std::vector<std::string> list = speech.lead;
  const std::string text = turn(speech, list, "1");
  expect_well(prepare("s", speech, list), text);
  for (const char* end : {"", "-wal", "-shm"}) {
    EXPECT_EQ(::chmod((setup.store + end).c_str(), 0400), 0);
  }
  ASSERT_EQ(::chmod(home.path().c_str(), 0500), 0);
  std::vector<std::future<void>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::async(std::launch::async, [&, i] {
      Client client(socket_);
      const CallAnswer answer =
          client.call("prepare",
                      fmt::format(R"({{"session":"s{}","window":200000,"reply":"messages",)"
                                  R"("messages":{{"$blob":0}}}})",
                                  i),
                      {list_of(list)});
      ASSERT_TRUE(answer.result) << answer.text;
      const bool whole = messages_of(*answer.result) == plain(list);
      EXPECT_EQ(whole, answer.result->find("degraded") != nullptr);
      if (whole) return;
      Client reader(socket_);
      EXPECT_EQ(read_all(reader, paths_of(*answer.result).at(0)), text);
    }));
  }
  for (auto& call : calls) call.get();
  ASSERT_EQ(::chmod(home.path().c_str(), 0700), 0);
}

}  // namespace
}  // namespace ebla::daemon
