// kill -9 of the real daemon while it makes passes: the history holds whole sections, all that were
// acknowledged, in order, and the next prepare goes on.
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/daemon/eblad_fixture.h"
#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/history_reader.h"

namespace ebla::daemon {
namespace {

// Rounds, each with some passes and one kill: by default few enough for every run.
int rounds() {
  const char* told = std::getenv("EBLA_KILL_ROUNDS");
  return told == nullptr ? 6 : std::atoi(told);
}

// A conversation stays this short: many of them, in sessions of their own, make many passes.
constexpr size_t kMessages = 300;

class PrepareKillTest : public EbladFixture {
 protected:
  struct Conversation {
    int number = 0;                 // of its session
    std::vector<std::string> list;  // as it was said
    size_t acknowledged = 0;        // messages that an answered pass took out
  };

  static CallAnswer prepare(Client& client, const Conversation& talk) {
    return client.call("prepare",
                       fmt::format(R"({{"session":"s{}","format":"anthropic","window":3000,)"
                                   R"("messages":{{"$blob":0}}}})",
                                   talk.number),
                       {list_of(talk.list)});
  }
  static void say(Conversation& talk, std::string_view role) {
    std::string text = fmt::format("{} {} of {} ", role, talk.list.size(), talk.number);
    text += kit::prose(1'000);
    talk.list.push_back(role == "user" ? user(text) : assistant(text));
  }
  // Turns until the connection breaks.
  void converse(Client& client) {
    for (;;) {
      if (talk_.list.size() > kMessages) {
        all_.push_back(std::move(talk_));
        talk_ = {.number = static_cast<int>(all_.size()), .list = {}, .acknowledged = 0};
      }
      if (talk_.list.size() % 2 == 0) say(talk_, "user");
      const CallAnswer answer = prepare(client, talk_);
      if (!answer.result) return;
      EXPECT_EQ(answer.result->find("degraded"), nullptr);
      EXPECT_TRUE(flag_of(*answer.result, "fits"));
      for (const Json& action : answer.result->find("actions")->items) {
        if (text_of(action, "what") != "summary") continue;
        ++passes_;
        talk_.acknowledged += number_of(action, "messages");
      }
      say(talk_, "assistant");
    }
  }
  // Every message once, in order, none missing in front; all that were acknowledged.
  static void check_history(Client& client, const Conversation& talk) {
    if (talk.acknowledged == 0) return;
    const Json session =
        client.must("session.get", fmt::format(R"({{"session":"s{}"}})", talk.number));
    auto sections = kit::parse_history(read_all(client, text_of(session, "history")));
    ASSERT_TRUE(sections) << sections.error().text;
    size_t next = 0;
    for (const auto& section : *sections) {
      for (const auto& message : section.messages) {
        ASSERT_LT(next, talk.list.size());
        EXPECT_EQ(message.parts.at(0).block, text_of(*parse_json(talk.list[next]), "content"));
        ++next;
      }
    }
    EXPECT_GE(next, talk.acknowledged);
  }

  Conversation talk_;
  std::vector<Conversation> all_;  // that are over
  size_t passes_ = 0;
};

TEST_F(PrepareKillTest, SectionsAreWholeAndAllAcknowledgedOnesAreThere) {
  std::minstd_rand random(20240607);
  for (int round = 0; round < rounds(); ++round) {
    Eblad daemon(unmounted());
    ASSERT_TRUE(daemon.ready()) << daemon.log();
    Client client(socket_);
    ASSERT_TRUE(client.connected());
    check_history(client, talk_);
    // A random moment; nothing is put in order by it.
    std::thread killer([&daemon, delay = std::chrono::milliseconds(50 + random() % 500)] {
      std::this_thread::sleep_for(delay);
      daemon.signal(SIGKILL);
    });
    converse(client);
    killer.join();
    EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
  }
  Eblad daemon(unmounted());
  Client client(socket_);
  check_history(client, talk_);
  for (const Conversation& talk : all_) check_history(client, talk);
  EXPECT_GT(passes_, 0u);
  RecordProperty("passes", static_cast<int>(passes_));
  // It goes on where it was.
  if (talk_.list.size() % 2 == 0) say(talk_, "user");
  const CallAnswer answer = prepare(client, talk_);
  ASSERT_TRUE(answer.result) << answer.text;
  EXPECT_TRUE(flag_of(*answer.result, "fits"));
}

}  // namespace
}  // namespace ebla::daemon
