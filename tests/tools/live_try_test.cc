// `ebla try`, `prepare`, `history` and `events` against the real daemon, without a mount.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/transcripts.h"
#include "tools/client.h"
#include "tools/process.h"
#include "tools/try/throwaway.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LiveTryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("EBLAD_FOLDER"), nullptr) << "the build says where eblad is";
  }

  std::map<std::string, std::string> environment() const {
    return {{"EBLA_SOCKET", folder_ / "sock"},
            {"HOME", folder_.path()},
            {"TMPDIR", folder_.path()},
            {"PATH", std::string(std::getenv("EBLAD_FOLDER")) + ":/usr/bin:/bin"}};
  }
  Environment lookup() const {
    return [all = environment()](const std::string& name) {
      const auto at = all.find(name);
      return at == all.end() ? std::nullopt : std::optional(at->second);
    };
  }
  Ran run(std::vector<std::string> words, std::string input = "") const {
    Command command;
    command.words = std::move(words);
    command.input = std::move(input);
    command.environment = environment();
    return command.run();
  }
  std::string file(std::string_view name, std::string_view text) const {
    const std::string path = folder_ / name;
    auto fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(fd && write_full(fd->get(), text));
    return path;
  }
  size_t leftovers() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      count += entry.path().filename().string().starts_with("ebla-try-") ? 1U : 0U;
    }
    return count;
  }

  kit::TempDir folder_{"live-try"};
};

std::string long_work() {
  ClaudeCodeLines lines;
  lines.user("请修复 the build");
  for (size_t i = 0; i < 12; ++i) {
    const std::string id = fmt::format("toolu_{}", i);
    lines.says("msg_" + id, "I look.", 30).calls("msg_" + id, id, "Bash");
    lines.result(id, i % 4 == 0 ? kit::even_lines(240'000, 3'886) : kit::prose(3'000));
  }
  return lines.says("msg_end", "done", 5).text();
}

TEST_F(LiveTryTest, AWholeTranscriptLeavesNothingBehind) {
  const std::string path = file("work.jsonl", long_work() + "{\"torn");
  const Ran ran = run({"try", path});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Claude Code, 26 messages, 13 calls of claude-sonnet-4-5"),
                             HasSubstr("3 files"), HasSubstr("toolu_8"), HasSubstr("240000")));
  EXPECT_THAT(ran.err, HasSubstr("1 lines or entries"));
  EXPECT_EQ(leftovers(), 0U);
  EXPECT_EQ(read_file(path, 64 * limits::kMiB).value_or("").size(), long_work().size() + 6);

  const auto json = parse_json(run({"try", path, "--json", "--window", "100000"}).out);
  ASSERT_TRUE(json);
  const Json& total = *json->find("total");
  const auto sent = [&](const char* side) {
    return total.find(side)->find("tokens_sent")->as_uint64().value();
  };
  EXPECT_LT(sent("with") * 2, sent("without"));
  EXPECT_EQ(json->find("window")->text, "100000");
  EXPECT_EQ(json->find("calls")->items.size(), 13U);
  for (const Json& call : json->find("calls")->items) {
    EXPECT_LE(call.find("tokens_cached")->as_uint64().value(),
              call.find("tokens_with")->as_uint64().value());
  }
}

TEST_F(LiveTryTest, EveryKindOfTranscript) {
  CodexLines codex(true);
  codex.user("修复").reasons().calls("call_1", "make").output("call_1", kit::prose(100'000));
  codex.says("done");
  const std::string list =
      R"([{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant",)"
      R"("content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"sh",)"
      R"("arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":)" +
      json_text(kit::chinese(60'000)) + "}]";
  for (const auto& [kind, text] : std::vector<std::pair<std::string, std::string>>{
           {"Codex, 5 messages, 2 calls of gpt-5-codex", codex.text()},
           {"list of messages, 4 messages, 2 calls", list},
           {"request, 4 messages, 2 calls of gpt-4o",
            "{\"model\":\"gpt-4o\",\"temperature\":1.0,\"messages\":" + list + "}"}}) {
    const Ran ran = run({"try", file("transcript", text)});
    EXPECT_EQ(ran.status, 0) << kind << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(kind), HasSubstr("Findable: 1 files"))) << kind;
  }
  EXPECT_EQ(leftovers(), 0U);
}

TEST_F(LiveTryTest, AFailureLeavesNothingBehindEither) {
  const std::string path = file("work.jsonl", long_work());
  EXPECT_THAT(run({"try", path, "--window", "20"}).err, HasSubstr("call 1: "));
  EXPECT_EQ(run({"try", folder_ / "none"}).status, kExitNotFound);
  EXPECT_EQ(run({"try", file("text", "plain")}).status, kExitFailure);
  EXPECT_EQ(run({"try", path, "--price-input", "cheap"}).status, kExitUsage);
  EXPECT_EQ(leftovers(), 0U);
}

// Its owner ends in whatever way: the daemon ends, and its folder goes.
TEST_F(LiveTryTest, TheDaemonEndsWithItsOwner) {
  // The keeper comes to this process when its own parent is gone, so its end can be waited for.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGKILL, 0}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t owner = fork();
    if (owner == 0) {
      auto daemon = ThrowawayDaemon::start(lookup());
      (void)write_full(ends[1], daemon ? daemon->socket() + "\n" : daemon.error().text + "\n");
      if (number != 0) {
        pause();
      }
      _exit(0);  // without an end of its own
    }
    close(ends[1]);
    const UniqueFd from(ends[0]);
    std::string said(4'096, '\0');
    const ssize_t got = read(from.get(), said.data(), said.size());
    said.resize(got > 0 ? static_cast<size_t>(got) - 1 : 0);
    if (number != 0) {
      auto client = Client::connect(said);
      ASSERT_TRUE(client) << said;
      const UniqueFd process = open_process(client->peer_pid());
      EXPECT_EQ(leftovers(), 1U);
      kill(owner, number);
      pollfd entry{process.get(), POLLIN, 0};
      EXPECT_EQ(poll(&entry, 1, -1), 1);
    }
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    EXPECT_EQ(leftovers(), 0U) << number;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(LiveTryTest, ADaemonThatDoesNotStartSaysWhy) {
  const std::string folder = folder_ / "bin";
  std::filesystem::create_directory(folder);
  {
    auto fd = open_file(folder + "/eblad", O_WRONLY | O_CREAT, 0700);
    ASSERT_TRUE(fd && write_full(fd->get(), "#!/bin/sh\necho '<3>no luck today' >&2\nexit 13\n"));
  }
  auto daemon = ThrowawayDaemon::start([&](const std::string& name) {
    return name == "PATH" ? std::optional(folder)
                          : (name == "TMPDIR" ? std::optional(folder_.path()) : std::nullopt);
  });
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, Code::store_damaged);
  EXPECT_THAT(daemon.error().text, HasSubstr("no luck today"));
  EXPECT_EQ(leftovers(), 0U);
}

TEST_F(LiveTryTest, PrepareHistoryAndEvents) {
  auto daemon = ThrowawayDaemon::start(lookup());
  ASSERT_TRUE(daemon) << daemon.error().text;
  const auto ebla = [&](std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.end(), {"--socket", daemon->socket()});
    return run(std::move(words), input);
  };
  const std::string large = kit::even_lines(240'000, 3'886);
  const std::string start =
      "{\"model\":\"claude-sonnet-4-5\", \"window\":100000,\n \"max_tokens\":1000,\"x\":1.0e2,\n"
      " \"messages\":[ {\"role\":\"user\",\"content\":\"\\u4fee\"},\n {\"role\":\"assistant\","
      "\"content\":[{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"bash\",\"input\":{}}]},\n"
      " {\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_1\","
      "\"content\":";
  const std::string body = start + json_text(large) + "}]} ]}";
  const Ran dry = ebla({"prepare", "--session", "s", "--dry-run"}, body);
  EXPECT_THAT(dry.out, HasSubstr("tool_result bash call_1: 60000 -> "));
  const Ran ran = ebla({"prepare", "--session", "s"}, body);
  ASSERT_EQ(ran.status, 0) << ran.err;
  std::string kept = start;
  kept.erase(kept.find(" \"window\":100000,\n"), 17);
  EXPECT_TRUE(ran.out.starts_with(kept.substr(0, 30))) << ran.out.substr(0, 60);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"x\":1.0e2,\n"), HasSubstr("\\u4fee"), HasSubstr("call_1"),
                             Not(HasSubstr("window"))));
  EXPECT_LT(ran.out.size(), 5'000U);
  EXPECT_EQ(ebla({"prepare", "--session", "s"}, body).out, ran.out) << "the same for ever";

  EXPECT_THAT(ebla({"history", "--session", "s", "--append"}, body).out, HasSubstr("3 messages"));
  EXPECT_THAT(ebla({"history", "--session", "s", "--list"}).out, HasSubstr("1-3"));
  EXPECT_THAT(ebla({"history", "--session", "s", "--message", "1"}).out,
              AllOf(HasSubstr("### Message 1: user"), HasSubstr("修")));
  EXPECT_THAT(ebla({"events", "--session", "s"}).out,
              AllOf(HasSubstr("tool_result bash: 60000 -> "), HasSubstr(" history: ")));
  EXPECT_THAT(ebla({"sessions", "--close", "s"}).out, HasSubstr("is closed"));
  EXPECT_TRUE(daemon->end());
  EXPECT_EQ(leftovers(), 0U);
}

}  // namespace
}  // namespace ebla::tools
