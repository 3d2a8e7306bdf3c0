// `prepare` of the real daemon on its SQLite store: stable bytes over restarts, clients and
// windows, and sessions that are in nobody's way.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <set>

#include "tests/daemon/eblad_fixture.h"
#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;
using List = std::vector<std::string>;

class PrepareDaemonTest : public EbladFixture {
 protected:
  static CallAnswer ask(Client& client, std::string_view session, const Speech& speech,
                        const List& list, int window, std::string_view more = "") {
    return client.call("prepare",
                       fmt::format(R"({{"session":"{}","format":"{}","window":{},)"
                                   R"("reply":"messages","messages":{{"$blob":0}}{}}})",
                                   session, speech.format, window, more),
                       {list_of(list)});
  }
  static Json reply_of(CallAnswer answer) {
    EXPECT_TRUE(answer.result) << answer.error << ": " << answer.text;
    return answer.result ? *std::move(answer.result) : Json();
  }
  static List messages_of(const Json& reply) {
    List messages;
    if (const Json* list = reply.find("messages")) {
      for (const Json& message : list->items) messages.push_back(to_json(message));
    }
    return messages;
  }
  static void add_turn(const Speech& speech, List& list, std::string_view mark, size_t n) {
    list.push_back(speech.user(fmt::format("ask {} {}: {}", mark, n, kit::prose(1'500))));
    for (auto& message :
         speech.tool(fmt::format("call_{}_{}", mark, n),
                     fmt::format("out {} {}\n{}", mark, n, kit::numbered_rows(3'000)))) {
      list.push_back(std::move(message));
    }
    list.push_back(speech.model(fmt::format("answer {} {}: {}", mark, n, kit::prose(1'500))));
  }
  struct Sent {
    List list;
    List out;
  };
  // Turns with late passes; what was sent for each.
  static std::vector<Sent> converse(Client& client, const Speech& speech, std::string_view session,
                                    size_t turns, size_t& passes, int window = 16'000) {
    std::vector<Sent> sent;
    List list = speech.lead;
    for (size_t n = 1; n <= turns; ++n) {
      add_turn(speech, list, session, n);
      List asked = list;
      asked.push_back(speech.user("and now?"));
      const Json reply = reply_of(ask(client, session, speech, asked, window));
      EXPECT_TRUE(flag_of(reply, "fits")) << n;
      EXPECT_EQ(reply.find("degraded"), nullptr);
      for (const Json& action : reply.find("actions")->items) {
        if (text_of(action, "what") == "summary") ++passes;
      }
      sent.push_back({std::move(asked), messages_of(reply)});
    }
    return sent;
  }
  static void expect_same(Client& client, const Speech& speech, std::string_view session,
                          const std::vector<Sent>& sent, int window = 16'000) {
    for (size_t i = 0; i < sent.size(); ++i) {
      const Json reply = reply_of(ask(client, session, speech, sent[i].list, window));
      ASSERT_EQ(messages_of(reply), sent[i].out) << speech.format << " " << i;
    }
  }
};

TEST_F(PrepareDaemonTest, TheSameBytesAfterARestartAndFromAnotherClient) {
  std::map<std::string_view, std::vector<Sent>> all;
  size_t passes = 0;
  {
    Eblad eblad(unmounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    Client second(socket_);
    for (const Speech& speech : speeches()) {
      all[speech.format] = converse(client, speech, speech.format, 24, passes);
      expect_same(second, speech, speech.format, all[speech.format]);
    }
  }
  EXPECT_GE(passes, 4u);
  {
    Eblad eblad(unmounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    for (const Speech& speech : speeches()) {
      expect_same(client, speech, speech.format, all[speech.format]);
    }
    eblad.kill_hard();
  }
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  for (const Speech& speech : speeches()) {
    client.must(
        "session.open",
        fmt::format(R"({{"key":"{}","settings":{{"tool_result_tokens":10,"trigger":0.3}}}})",
                    speech.format));
    expect_same(client, speech, speech.format, all[speech.format]);
    client.must("session.open",
                fmt::format(R"({{"key":"{0}-child","parent":"{0}"}})", speech.format));
    expect_same(client, speech, std::string(speech.format) + "-child", all[speech.format]);
  }
}

TEST_F(PrepareDaemonTest, AWindowThatShrinksInTheMiddle) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  for (const Speech& speech : speeches()) {
    for (const bool replaces : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", speech.format, replaces));
      const std::string session = fmt::format("{}-{}", speech.format, replaces);
      List list = speech.lead;
      for (size_t n = 1; n <= 60; ++n) {
        add_turn(speech, list, session, n);
        list.push_back(speech.user("and now?"));
        const int window = n <= 40 ? 400'000 : 32'000;
        const Json reply = reply_of(ask(client, session, speech, list, window));
        EXPECT_TRUE(flag_of(reply, "fits")) << n;
        const uint64_t after = number_of(*reply.find("tokens"), "after");
        EXPECT_TRUE(n == 40 ? after > 32'000 : n < 40 || after < 32'000) << n << ": " << after;
        EXPECT_EQ(reply.find("degraded"), nullptr);
        const List out = messages_of(reply);
        EXPECT_THAT(out.back(), HasSubstr("and now?"));
        if (replaces) {
          list = out;
        } else {
          list.pop_back();
        }
        if (replaces) list.push_back(speech.model("well"));
      }
    }
  }
}

TEST_F(PrepareDaemonTest, SixteenSessionsAndOneWithASlowSummariser) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  const std::string gate = folder_ / "gate";
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  const std::string script = folder_ / "summarise";
  std::ofstream(script) << "#!/bin/sh\ncat >/dev/null\nread line < " << gate << "\nexit 1\n";
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  const Speech speech = speeches().front();

  Client slow(socket_);
  List full = speech.lead;
  for (size_t n = 1; n <= 20; ++n) add_turn(speech, full, "slow", n);
  full.push_back(speech.user("and now?"));
  const Json plain = reply_of(ask(slow, "slow", speech, full, 1'000'000, R"(,"dry_run":true)"));
  const auto tokens = static_cast<int>(number_of(*plain.find("tokens"), "before"));
  slow.must("session.open", R"({"key":"slow","settings":{"old_results":false,"summariser":)" +
                                json_string(script) + "}}");
  ASSERT_TRUE(slow.send("prepare",
                        fmt::format(R"({{"session":"slow","format":"anthropic","window":{},)"
                                    R"("reply":"messages","messages":{{"$blob":0}}}})",
                                    tokens * 100 / 97),
                        {list_of(full)}));
  // All the others come to their end while it waits for its summary.
  std::vector<std::future<size_t>> others;
  for (int s = 0; s < 16; ++s) {
    others.push_back(std::async(std::launch::async, [&, s] {
      Client client(socket_);
      size_t passes = 0;
      const std::string name = fmt::format("s{}x", s);
      const auto sent = converse(client, speech, name, 20, passes);
      expect_same(client, speech, name, sent);
      for (const Sent& one : sent) {
        const std::string all = fmt::format("{}", fmt::join(one.out, "\n"));
        EXPECT_THAT(all, Not(HasSubstr(fmt::format("ask s{}x", (s + 1) % 16))));
        EXPECT_THAT(all, Not(HasSubstr("ask slow")));
      }
      return passes;
    }));
  }
  for (auto& other : others) EXPECT_GE(other.get(), 1u);
  Client client(socket_);
  const Json summaries = *client.must("stats", "{}").find("summaries");
  EXPECT_EQ(number_of(summaries, "failed"), 0u) << "the slow one still waits";
  std::ofstream(gate) << "go\n";
  const Json reply = reply_of(slow.receive());
  EXPECT_TRUE(flag_of(reply, "fits"));
  EXPECT_THAT(messages_of(reply).back(), HasSubstr("and now?"));
  std::set<std::string> histories;
  for (int s = 0; s < 16; ++s) {
    const Json session = client.must("session.get", fmt::format(R"({{"session":"s{}x"}})", s));
    const std::string text = read_all(client, text_of(session, "history"));
    EXPECT_THAT(text, HasSubstr(fmt::format("ask s{}x 1:", s)));
    EXPECT_THAT(text, Not(HasSubstr(fmt::format("ask s{}x", (s + 1) % 16))));
    histories.insert(text_of(session, "history"));
  }
  EXPECT_EQ(histories.size(), 16u);
}

}  // namespace
}  // namespace ebla::daemon
