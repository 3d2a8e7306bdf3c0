// Whole commands against a daemon that answers what the test says.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"
#include "tools/verb.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class VerbsTest : public testing::Test {
 protected:
  std::string path() const { return folder_ / "sock"; }
  Command command(std::vector<std::string> words) const {
    Command command;
    command.words = std::move(words);
    command.environment = {{"EBLA_SOCKET", path()}, {"TMPDIR", folder_.path()}};
    return command;
  }
  Ran run(std::vector<std::string> words) const { return command(std::move(words)).run(); }

  kit::TempDir folder_{"verbs"};
};

TEST_F(VerbsTest, NotRunningIsStatus3ForEveryVerbThatAsks) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"status"},
                                                                                     {"ping"},
                                                                                     {"stop"},
                                                                                     {"sessions"},
                                                                                     {"stats"},
                                                                                     {"ls"},
                                                                                     {"read", "/x"},
                                                                                     {"stat", "/x"},
                                                                                     {"evict"},
                                                                                     {"history"},
                                                                                     {"events"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.status, kExitNotRunning) << words[0];
    EXPECT_THAT(ran.err, AllOf(HasSubstr(path()), HasSubstr("`ebla start`"))) << words[0];
    EXPECT_EQ(ran.out, "") << words[0];
  }
}

TEST_F(VerbsTest, ErrorsAreJsonWhenAskedFor) {
  const Ran ran = run({"--json", "status"});
  const auto error = parse_json(ran.err);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->find("error")->find("data")->find("name")->text, "not_running");
  EXPECT_EQ(ran.status, kExitNotRunning);
}

TEST_F(VerbsTest, SocketOptionWinsOverTheEnvironment) {
  const FakeDaemon daemon(folder_ / "other", [](const FakeRequest&) { return result("{}"); });
  EXPECT_EQ(run({"ping", "--socket", daemon.path()}).status, 0);
  EXPECT_EQ(run({"ping"}).status, kExitNotRunning);
}

TEST_F(VerbsTest, DefaultSocketFollowsTheRuntimeFolder) {
  std::filesystem::create_directory(folder_ / "ebla");
  const FakeDaemon daemon(folder_ / "ebla/default.sock",
                          [](const FakeRequest&) { return result("{}"); });
  Command ping = command({"ping"});
  ping.environment = {{"XDG_RUNTIME_DIR", folder_.path()}};
  EXPECT_THAT(ping.run().out, HasSubstr("ebla 9.9 answers at " + daemon.path()));
}

TEST_F(VerbsTest, AMissingVerbShowsThemAll) {
  const Ran ran = run({});
  EXPECT_EQ(ran.status, kExitUsage);
  EXPECT_THAT(ran.err, HasSubstr("sessions"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(VerbsTest, EveryVerbHasHelpBothWays) {
  for (const Verb& verb : verbs()) {
    const std::string name(verb.name);
    const Ran by_verb = run({"help", name});
    const Ran by_option = run({name, "--help"});
    EXPECT_EQ(by_verb.status, 0) << name;
    EXPECT_THAT(by_verb.out, HasSubstr("usage: ebla " + name));
    for (const Option& option : verb.options) {
      EXPECT_THAT(by_verb.out, HasSubstr("--" + std::string(option.name)));
    }
    EXPECT_EQ(by_verb.out, by_option.out);
    EXPECT_THAT(run({"help"}).out, HasSubstr("\n  " + name + " "));
  }
  EXPECT_THAT(run({"help", "evit"}).err, HasSubstr("did you mean evict?"));
}

TEST_F(VerbsTest, ReadPrintsTextAndNotes) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    return result(R"({"path":"/x","text":"a\u001b[1m\nb\n","first":3,"last":4,"total":900,)"
                  R"("next":4,"next_column":7,"final_newline":true,"encoding":"bytes",)"
                  R"("notes":["offset -2 was taken as 0"]})");
  });
  const Ran raw = run({"read", "x", "--offset=-2", "--limit", "2", "--column", "0", "--numbered",
                       "--session", "s"});
  EXPECT_EQ(raw.status, 0);
  EXPECT_EQ(raw.out, "a\x1b[1m\nb\n");
  EXPECT_THAT(raw.err, AllOf(HasSubstr("lines 3 to 4 of 900"), HasSubstr("--offset 4 --column 7\n"),
                             HasSubstr("offset -2 was taken as 0"), HasSubstr("\\xHH")));
  EXPECT_EQ(to_json(daemon.requests()[0].params),
            R"({"path":"/x","session":"s","offset":-2,"limit":2,"column":0,"numbered":true})");
  Command shown = command({"read", "/x"});
  shown.terminal = true;
  EXPECT_EQ(shown.run().out, "a\\x1b[1m\nb\n");
  const auto json = parse_json(run({"read", "/x", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("total")->text, "900");
}

TEST_F(VerbsTest, ReadOfTheLastPageSaysNothingMore) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    return result(R"({"path":"/x","text":"a","first":1,"last":1,"total":1,"encoding":"utf-8"})");
  });
  const Ran ran = run({"read", "/x"});
  EXPECT_EQ(ran.out, "a");
  EXPECT_EQ(ran.err, "");
}

TEST_F(VerbsTest, ReadWithoutAPathOrWithABadNumberAsksNobody) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result("{}"); });
  EXPECT_EQ(run({"read"}).status, kExitUsage);
  EXPECT_EQ(run({"stat"}).status, kExitUsage);
  EXPECT_EQ(run({"read", "/x", "--limit", "-1"}).status, kExitUsage);
  EXPECT_EQ(run({"read", "/\xff"}).status, kExitUsage);
  EXPECT_THAT(run({"read", "/\xff"}).err, HasSubstr("/\\xff"));
  EXPECT_TRUE(daemon.requests().empty());
}

TEST_F(VerbsTest, GrepPrintsAHitALineAndNotes) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    return result(
        R"({"path":"/","hits":[{"path":"/a\u001b","line":1,"text":"before","context":true},)"
        R"({"path":"/a\u001b","line":2,"column":3,"text":"the \u001b[1mhit"},)"
        R"({"path":"/b","line":7,"column":900,"text":"window","text_column":800,"cut":true}],)"
        R"("count":2,"searched":2,"truncated":true,"timed_out":false,"next":"1:2:3:/b",)"
        R"("skipped":{"count":1,"files":[{"path":"/c","error":"corrupt"}]}})");
  });
  const Ran ran =
      run({"grep", "hit", "a", "--session", "s", "--glob", "*.log", "--context", "1", "--max-count",
           "2", "--ignore-case", "--regex", "--mode", "content", "--after", "0:0:0:/a"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out,
            "/a\\x1b-1-before\n/a\\x1b:2:the \x1b[1mhit\n--\n"
            "/b:7:[column 900] \u2026window\u2026\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--after '1:2:3:/b'"), HasSubstr("/c (corrupt)")));
  EXPECT_EQ(to_json(daemon.requests()[0].params),
            R"({"pattern":"hit","path":"/a","session":"s","glob":"*.log","mode":"content",)"
            R"("after":"0:0:0:/a","context":1,"max_count":2,"regex":true,"ignore_case":true})");
  Command shown = command({"grep", "hit"});
  shown.terminal = true;
  EXPECT_THAT(shown.run().out, HasSubstr("the \\x1b[1mhit\n"));
  EXPECT_EQ(to_json(daemon.requests()[1].params), R"({"pattern":"hit"})");
}

TEST_F(VerbsTest, SearchesWithoutAHitHaveTheirStatus) {
  std::string answer;
  FakeDaemon daemon(path(), [&answer](const FakeRequest&) { return result(answer); });
  answer = R"({"hits":[],"count":0,"truncated":false,"timed_out":false,"hint":"x",)"
           R"("nearest":[{"path":"/a","line":3,"column":0,"text":"like it"}]})";
  Ran ran = run({"grep", "a.*"});
  EXPECT_EQ(ran.status, kExitFailure);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--regex"), HasSubstr("/a:3:like it")));
  EXPECT_EQ(run({"grep", "a", "--json"}).status, kExitFailure);
  answer = R"({"hits":[],"count":0,"truncated":false,"timed_out":true})";
  ran = run({"grep", "a"});
  EXPECT_EQ(ran.status, kExitRetry);
  EXPECT_THAT(ran.err, HasSubstr("not everything"));
  answer =
      R"({"files":[{"path":"/a","lines":3},{"path":"/b"}],"truncated":false,"timed_out":false})";
  EXPECT_EQ(run({"grep", "a", "--mode", "count"}).out, "/a:3\n/b\n");
  answer = R"({"entries":[],"total":0,"timed_out":false})";
  EXPECT_EQ(run({"glob", "*.py"}).status, kExitFailure);
  EXPECT_EQ(run({"grep"}).status, kExitUsage);
  EXPECT_EQ(run({"glob"}).status, kExitUsage);
  EXPECT_EQ(run({"grep", "\xff"}).status, kExitUsage);
}

TEST_F(VerbsTest, GlobPrintsEveryPage) {
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    const bool first = request.params.find("after")->text.empty();
    return result(
        first ? R"({"entries":[{"path":"/a","kind":"directory"}],"total":2,)"
                R"("timed_out":false,"next":"/b%20"})"
              : R"({"entries":[{"path":"/b ","kind":"file"}],"total":2,"timed_out":false})");
  });
  const Ran ran = run({"glob", "*", "/"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "/a/\n/b \n");
  EXPECT_EQ(to_json(daemon.requests()[1].params),
            R"({"pattern":"*","path":"/","after":"/b%20","limit":1000})");
  const auto json = parse_json(run({"glob", "*", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("entries")->items.size(), 2u);
}

TEST_F(VerbsTest, ErrorsOfTheDaemonHaveTheirStatus) {
  FakeDaemon daemon(
      path(), [](const FakeRequest&) { return error("file_not_found", "no file /x\x1b]0;\x07"); });
  for (const char* verb : {"read", "ls", "stat"}) {
    const Ran ran = run({verb, "/x"});
    EXPECT_EQ(ran.status, kExitNotFound);
    EXPECT_EQ(ran.err, "ebla: no file /x\\x1b]0;\\x07\n");
  }
}

FakeAnswer two_pages(const FakeRequest& request) {
  if (request.params.find("after") == nullptr) {
    return result(R"({"path":"/","total":3,"next":17,"entries":[)"
                  R"({"name":"large_tool_results","kind":"directory","size":0,"mtime":"-"},)"
                  R"({"name":"a\u001b[8m\nb","kind":"file","size":80001,"mtime":"-"}]})");
  }
  return result(R"({"path":"/","total":3,"entries":[)"
                R"({"name":"late","kind":"file","size":5,"mtime":"-"}]})");
}

TEST_F(VerbsTest, LsGoesThroughAllPagesAndEscapesNames) {
  FakeDaemon daemon(path(), two_pages);
  const Ran ran = run({"ls"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out,
            "directory      0  -  large_tool_results\n"
            "file       80001  -  a\\x1b[8m\\nb\n"
            "file  5  -  late\n");
  EXPECT_EQ(to_json(daemon.requests()[1].params), R"({"path":"/","after":17,"limit":1000})");
  const auto json = parse_json(run({"ls", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("entries")->items.size(), 3U);
  EXPECT_EQ(json->find("next"), nullptr);
}

TEST_F(VerbsTest, SessionsGoesThroughAllPages) {
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    const bool first = request.params.find("after") == nullptr;
    return result(first
                      ? R"({"sessions":[{"id":"a-1","key":"k\u0007","label":"","folder":"/f/a-1",)"
                        R"("parent":"b-2","created_at":"-"}],"next":"a-1"})"
                      : R"({"sessions":[{"id":"b-2","key":"","label":"L","folder":"/f/b-2",)"
                        R"("created_at":"-"}]})");
  });
  const Ran ran = run({"sessions", "--project", "/p"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("a-1  -        b-2     /f/a-1  k\\x07"), HasSubstr("b-2")));
  EXPECT_EQ(to_json(daemon.requests()[1].params), R"({"project":"/p","after":"a-1","limit":1000})");
  EXPECT_EQ(parse_json(run({"sessions", "--json"}).out)->find("sessions")->items.size(), 2U);
}

TEST_F(VerbsTest, SessionsClosesOne) {
  FakeDaemon daemon(path(),
                    [](const FakeRequest&) { return result(R"({"id":"a-1","closed":true})"); });
  EXPECT_THAT(run({"sessions", "--close", "a"}).out, HasSubstr("a-1 is closed"));
  EXPECT_EQ(daemon.requests()[0].method, "session.close");
  EXPECT_EQ(to_json(daemon.requests()[0].params), R"({"session":"a"})");
  EXPECT_EQ(run({"sessions", "--close", "a", "--project", "/p"}).status, kExitUsage);
}

TEST_F(VerbsTest, StatAndStatsShowEveryMember) {
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    return request.method == "stats"
               ? result(R"({"store":{"files":3,"database_bytes":1572864},"new":{"thing":1}})")
               : result(R"({"path":"/x","size":7,"protected":true,"attributes":)"
                        R"({"user.ebla.tool":"t\u001b"},"target":null})");
  });
  EXPECT_EQ(run({"stat", "/x"}).out,
            "path            /x\nsize            7\nprotected       yes\n"
            "user.ebla.tool  t\\x1b\ntarget          -\n");
  EXPECT_EQ(run({"stats"}).out,
            "store.files           3\nstore.database_bytes  1.5 MiB (1572864)\n"
            "new.thing             1\n");
}

TEST_F(VerbsTest, StatusShowsWhatIsNotAsItShouldBe) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    return result(
        R"({"state":"degraded","version":"1","protocol":1,"pid":5,"uid":0,"uptime_s":61,)"
        R"("store":"/s.db","socket":"/s","engine":"sqlite 3.40.1","health":{"writable":false,)"
        R"("name":"no_space","text":"free some space","failed_syncs":2,"damaged_files":1,)"
        R"("last_damaged":"/d","checking":true},"mounts":[{"id":1,"subtree":"/large_tool_results",)"
        R"("directory":"/m","alive":false}],"memory":{"resident_bytes":5},"options":)"
        R"({"store":{"value":"/s.db","origin":"command line"},"threads":{"value":0,"origin":)"
        R"("default"}},"settings":{},"warnings":["store in memory"]})");
  });
  const std::string out = run({"status"}).out;
  for (const char* part :
       {"degraded", "refused: free some space (no_space)", "1 files, the last /d",
        "failed syncs  2", "00:01:01", "/m (shows /large_tool_results) (no longer",
        "store = /s.db (command line)", "store in memory"}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
  EXPECT_THAT(out, Not(HasSubstr("threads")));
}

TEST_F(VerbsTest, OutputThatCanNotBeWrittenIsAnError) {
  FakeDaemon daemon(path(), two_pages);
  auto full = open_file("/dev/full", O_WRONLY);
  ASSERT_TRUE(full);
  for (const auto& words : std::vector<std::vector<std::string>>{{"ls"}, {"help"}, {"version"}}) {
    Command to_full = command(words);
    to_full.output = full->get();
    const Ran ran = to_full.run();
    EXPECT_EQ(ran.status, kExitNoSpace) << words[0];
    EXPECT_THAT(ran.err, HasSubstr("cannot write the output"));
  }
}

}  // namespace
}  // namespace ebla::tools
