// How a call is named, and what it is taken for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/summary/outcome.h"
#include "context/summary/runs.h"
#include "context/text/json_digest.h"
#include "tests/context/summary/talk.h"

namespace ebla::context {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RunName named(std::string_view arguments, std::string_view tool = "bash") {
  Part call;
  call.tool = tool;
  Json free_text;
  free_text.kind = Json::Kind::string;
  free_text.text = arguments;
  return run_name(call, parse_json(arguments).value_or(free_text));
}
RunName command(std::string_view text) {
  return named("{\"command\":" + test::json_token(text) + "}");
}

TEST(Runs, ACommandIsNamedByWhatItDoes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"cd /repo && make -j2 2>&1 | tail -40", "bash: make -j2"},
      {"set -e; cd /repo; CC=gcc LANG=C sudo make test", "bash: make test"},
      {"cd /repo\nnpm run build | head -n 20", "bash: npm run build"},
      {"cd /repo", "bash: cd /repo"},
      {"FOO=bar", "bash: FOO=bar"},
      {"grep x a.txt | tail -3 | wc", "bash: grep x a.txt | tail -3 | wc"},
      {"", "bash: command="},
  };
  for (const auto& [text, what] : cases) EXPECT_EQ(command(text).what, what) << text;
  EXPECT_EQ(named(R"({"command":["bash","-lc","cd /x && ls -l"]})", "shell").what, "shell: ls -l");
  EXPECT_EQ(command("cd /repo && make").folder, "/repo");
  EXPECT_EQ(command("cd build && make").folder, "");
  EXPECT_EQ(named(R"({"command":["ls"],"workdir":"/w"})").folder, "/w");
}

TEST(Runs, OtherCallsAreNamedByTheirArguments) {
  const RunName close = named(R"({"number":1052,"comment":"a\nb","force":true,"tags":["x"]})", "t");
  EXPECT_EQ(close.what, "t: number=1052, comment=a b, force=true, tags=[\"x\"]");
  EXPECT_EQ(close.kind, "t: number=1052");
  EXPECT_EQ(close.group, "t");
  EXPECT_EQ(named("{}", "t").what, "t");
  EXPECT_EQ(named("free  text", "t").what, "t: free text");
  EXPECT_EQ(named(R"({"n":5,"url":"u, v=1"})", "t").what, "t: url=\"u, v=1\", n=5");
  for (const RunName& name : {close, named("free  text", "t"), named(R"({"url":"<system>"})", "t"),
                              named(R"({"a":1})", "t"), named("{}", "t"), command("make -j2")}) {
    EXPECT_EQ(kind_of_run(name.what), name.kind) << "as a later summary reads it";
    EXPECT_EQ(group_of_run(name.what).substr(0, name.group.size()), name.group);
  }
}

TEST(Runs, FlagsMakeNoOtherKindAndWordsDo) {
  EXPECT_EQ(command("pytest tests/a -q").kind, command("cd /r && pytest -x tests/a 2>&1").kind);
  EXPECT_NE(command("pytest tests/a").kind, command("pytest tests/b").kind);
  EXPECT_EQ(command("pytest tests/a").group, command("pytest tests/b").group);
  EXPECT_EQ(kind_of_run(command("make test | cat").what), "bash: make test");
}

TEST(Runs, LookingIsNoWork) {
  for (std::string_view text : {"ls -la", "cd /r && grep -rn x .", "sed -n '1,9p' a", "git log -3",
                                "cat a.txt", "/usr/bin/find . -name x", "awk '$1 > 5 {print}' a"}) {
    EXPECT_TRUE(command(text).looks) << text;
  }
  for (std::string_view text : {"make", "sed -i s/a/b/ f", "git commit -m x", "cat > a.txt <<EOF",
                                "find . -delete", "echo a >> log.txt", "ls && make"}) {
    EXPECT_FALSE(command(text).looks) << text;
  }
}

TEST(Runs, RedirectionsAreFilesWritten) {
  EXPECT_THAT(command("cat > src/a.py <<'EOF'\nif a > b.c:\nEOF").written, ElementsAre("src/a.py"));
  EXPECT_THAT(command("echo x >>\"notes.md\" && ls >/dev/null 2>&1 > out").written,
              ElementsAre("notes.md", "out"));
  EXPECT_THAT(command("awk '$1 > x.y' f; python -c \"a > b.c\"; a 2> err; b => c; x > $F").written,
              IsEmpty());
}

TEST(Runs, JsonResultsSayWhatTheyTell) {
  EXPECT_EQ(outcome_of(R"({"ok":true,"id":7,"name":"a\nb","list":[1,2]})").telling,
            "ok=true, id=7, name=a b, list: 2 items");
  EXPECT_EQ(outcome_of(R"([{"a":1}])").telling, "1 item");
  EXPECT_EQ(outcome_of(R"({"data":{"x":{"nodes":[1,2,3],"more":false}}})").telling,
            "nodes: 3 items, more=false");
  for (std::string_view text :
       {R"({"error":{"code":"E1","message":"no such"}})",
        R"({"errors":[{"message":"E1: no such"}]})", R"({"error":"E1: no such","data":null})",
        R"({"error":true,"code":"E1","message":"no such"})"}) {
    EXPECT_TRUE(outcome_of(text).failed) << text;
    EXPECT_EQ(outcome_of(text).telling, "E1: no such") << text;
  }
  EXPECT_TRUE(outcome_of(R"({"ok":false,"id":7})").failed);
  EXPECT_TRUE(outcome_of(R"({"isError":true})").failed);
  EXPECT_TRUE(outcome_of(R"({"exit_code":2,"log":"x"})").failed);
  for (std::string_view text : {R"({"error":null,"id":7})", R"({"error":false})",
                                R"({"errors":[]})", R"({"exit_code":0})", R"({"error":""})"}) {
    EXPECT_FALSE(outcome_of(text).failed) << text;
  }
  EXPECT_FALSE(json_digest("{broken").has_value());
  EXPECT_FALSE(json_digest("text").has_value());
}

TEST(Runs, OutcomesSayTheLineThatTells) {
  EXPECT_EQ(outcome_of("sum\n61204.80\n(1 row)\n").telling, "61204.80");
  EXPECT_EQ(outcome_of("(0 rows)\n").telling, "(0 rows)");
  EXPECT_EQ(outcome_of("The following tests FAILED:\n\t 17 - session\nexit code 8\n").telling,
            "The following tests FAILED: 17 - session");
  EXPECT_EQ(
      outcome_of("Traceback (most recent call last):\n  File \"a\"\nValueError: no\n").telling,
      "ValueError: no");
}

}  // namespace
}  // namespace ebla::context
