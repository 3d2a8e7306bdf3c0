// kill -9 of the real daemon at any moment of many passes: the history holds whole sections, all
// that were acknowledged, in order, and the next prepare goes on.
#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/daemon/eblad_fixture.h"
#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/history_reader.h"

namespace ebla::daemon {
namespace {

// Rounds end with a kill. By default few enough for every run; with EBLA_KILL_ROUNDS as many as it
// says, or as it takes to see a thousand passes.
struct Amount {
  int rounds = 6;
  size_t passes = 60;
};
Amount amount() {
  const char* told = std::getenv("EBLA_KILL_ROUNDS");
  return told == nullptr ? Amount{} : Amount{.rounds = std::atoi(told), .passes = 1'000};
}

// A conversation stays this short: many of them, in sessions of their own, make many passes.
constexpr size_t kMessages = 80;
constexpr size_t kTalkers = 3;

struct Conversation {
  std::string session;
  std::vector<std::string> list = {};  // as it was said
  size_t acknowledged = 0;             // messages that an answered pass took out

  void say(std::string_view role) {
    std::string text = fmt::format("{} {} of {} ", role, list.size(), session);
    text += kit::prose(1'000);
    list.push_back(role == "user" ? user(text) : assistant(text));
  }
  CallAnswer prepare(Client& client) {
    if (list.size() % 2 == 0) say("user");
    return client.call("prepare",
                       fmt::format(R"({{"session":"{}","format":"anthropic","window":3000,)"
                                   R"("messages":{{"$blob":0}}}})",
                                   session),
                       {list_of(list)});
  }
};

// One client, whose connection breaks now and then.
struct Talker {
  size_t number = 0;
  std::vector<Conversation> talks = {};  // the last one goes on
  size_t passes = 0;

  void talk(const std::string& socket, std::atomic<size_t>& all_passes) {
    Client client(socket);
    for (;;) {
      if (talks.empty() || talks.back().list.size() > kMessages) {
        talks.push_back({.session = fmt::format("s{}-{}", number, talks.size())});
      }
      Conversation& now = talks.back();
      const CallAnswer answer = now.prepare(client);
      if (!answer.result) return;
      EXPECT_EQ(answer.result->find("degraded"), nullptr);
      EXPECT_TRUE(flag_of(*answer.result, "fits"));
      for (const Json& action : answer.result->find("actions")->items) {
        if (text_of(action, "what") != "summary") continue;
        ++passes;
        ++all_passes;
        now.acknowledged += number_of(action, "messages");
      }
      now.say("assistant");
    }
  }
};

class PrepareKillTest : public EbladFixture {
 protected:
  // Every message once, in order, none missing in front; those that were acknowledged and are not
  // there are lost.
  void check_history(Client& client, const Conversation& talk) {
    if (talk.acknowledged == 0) return;
    const Json session =
        client.must("session.get", R"({"session":)" + json_string(talk.session) + "}");
    auto sections = kit::parse_history(read_all(client, text_of(session, "history")));
    ASSERT_TRUE(sections) << "not whole: " << sections.error().text;
    size_t next = 0;
    for (const auto& section : *sections) {
      ++sections_;
      for (const auto& message : section.messages) {
        ASSERT_LT(next, talk.list.size());
        EXPECT_EQ(message.parts.at(0).block, text_of(*parse_json(talk.list[next]), "content"));
        ++next;
      }
    }
    acknowledged_ += talk.acknowledged;
    lost_ += talk.acknowledged - std::min(next, talk.acknowledged);
  }
  void check_all(Client& client, bool old_ones) {
    sections_ = acknowledged_ = 0;
    for (const Talker& talker : talkers_) {
      for (const Conversation& talk : talker.talks) {
        if (old_ones || &talk == &talker.talks.back()) check_history(client, talk);
      }
    }
  }

  std::array<Talker, kTalkers> talkers_ = {Talker{0}, Talker{1}, Talker{2}};
  size_t sections_ = 0;
  size_t acknowledged_ = 0;  // messages
  size_t lost_ = 0;          // of them
};

TEST_F(PrepareKillTest, SectionsAreWholeAndAllAcknowledgedOnesAreThere) {
  std::minstd_rand random(20240607);
  const Amount wanted = amount();
  std::atomic<size_t> passes = 0;
  int round = 0;
  for (; round < wanted.rounds && passes < wanted.passes; ++round) {
    Eblad daemon(unmounted());
    ASSERT_TRUE(daemon.ready()) << daemon.log();
    Client client(socket_);
    ASSERT_TRUE(client.connected());
    check_all(client, false);
    std::vector<std::thread> talking;
    for (Talker& talker : talkers_) {
      talking.emplace_back([&] { talker.talk(socket_, passes); });
    }
    // A random moment; nothing is put in order by it.
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 300));
    daemon.signal(SIGKILL);
    for (std::thread& one : talking) one.join();
    EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
  }
  Eblad daemon(unmounted());
  Client client(socket_);
  check_all(client, true);
  EXPECT_GT(passes, 0u);
  EXPECT_EQ(lost_, 0u);
  fmt::print("rounds {}, passes {}, sections {}, messages acknowledged {}, lost {}\n", round,
             passes.load(), sections_, acknowledged_, lost_);
  // It goes on where it was.
  for (Talker& talker : talkers_) {
    if (talker.talks.empty()) continue;
    const CallAnswer answer = talker.talks.back().prepare(client);
    ASSERT_TRUE(answer.result) << answer.text;
    EXPECT_TRUE(flag_of(*answer.result, "fits"));
    EXPECT_EQ(answer.result->find("degraded"), nullptr);
  }
}

}  // namespace
}  // namespace ebla::daemon
