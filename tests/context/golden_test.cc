// Every text that a model reads, for each door and shape, byte for byte. To write the files anew
// after a wanted change: EBLA_GOLDEN_UPDATE=1 context_test --gtest_filter='Golden*'
#include <gtest/gtest.h>

#include <map>

#include "context/prompt.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

const std::map<std::string, Doors> kDoors = {
    {"shell", {true, false, "", ""}},      {"cli", {false, true, "", ""}},
    {"read", {false, false, "Read", ""}},  {"read-grep", {false, false, "read_file", "grep"}},
    {"all", {true, true, "Read", "Grep"}}, {"none", {}},
};

std::string build_log() {
  std::string log;
  for (int i = 1; i <= 1'500; ++i) {
    log += "\x1b[32m[ " + std::to_string(i / 15) + "%] Building CXX object src/unit_" +
           std::to_string(i) + ".cc.o\x1b[0m\r\n";
    if (i == 700) {
      log += "src/unit_700.cc:12:5: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K'frame' was not declared\n";
    }
    if (i == 900) log += "make[2]: *** [src/unit_900.cc.o] Error 1\n";
  }
  return log + "make: *** [Makefile:136: all] Error 2\n";
}

std::string binary() {
  std::mt19937 random(1);
  std::string bytes(90'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::map<std::string, std::string> contents() {
  return {{"rows", test::rows(240'000)},
          {"line", test::prose(90'000, SIZE_MAX)},
          {"errors", build_log()},
          {"chinese", test::repeat(test::repeat("\xe4\xb8\xad\xe6\x96\x87", 20) + "\n", 900)},
          {"progress", test::repeat("\r 10%\r 20%", 9'000) + "\r100%\ndone\n"},
          {"binary", binary()}};
}

std::string replacement(const std::string& content, ArtifactKind kind, const Doors& doors) {
  EvictContext context = test::default_context();
  context.doors = doors;
  // Without a door the preview is as long as half the limit: a small one keeps the file readable.
  if (doors.none()) context.settings.tool_result_tokens = 1'500;
  if (doors.none()) context.settings.human_message_tokens = 3'000;
  EvictRequest request;
  request.kind = kind;
  request.tool = kind == ArtifactKind::human ? "" : "bash";
  request.call_id = kind == ArtifactKind::human ? "" : "toolu_01A09q90qw90lq917835lq9";
  const EvictDecision decision = test::decide(content, request, context);
  EXPECT_TRUE(decision.evict) << decision.reason;
  return test::replacement_of(decision);
}

TEST(Golden, ToolResults) {
  for (const auto& [shape, content] : contents()) {
    for (const auto& [door, doors] : kDoors) {
      test::compare_golden("result-" + shape + "-" + door + ".txt",
                           replacement(content, ArtifactKind::tool_result, doors));
    }
  }
}

TEST(Golden, HumanMessages) {
  for (const auto& [door, doors] : kDoors) {
    test::compare_golden("human-lines-" + door + ".txt",
                         replacement(test::rows(200'058), ArtifactKind::human, doors));
  }
  test::compare_golden(
      "human-line-shell.txt",
      replacement(std::string(200'058, 'x'), ArtifactKind::human, kDoors.at("shell")));
}

TEST(Golden, UpFront) {
  for (const auto& [door, doors] : kDoors) {
    test::compare_golden("up-front-" + door + ".txt",
                         up_front_text("/mnt/ebla/large_tool_results/app-abcde",
                                       "/mnt/ebla/conversation_history/app-abcde.md", doors));
  }
}

}  // namespace
}  // namespace ebla::context
