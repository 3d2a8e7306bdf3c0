#include "tools/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/base/suggest.h"

namespace ebla::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Arguments parsed(const std::vector<std::string>& words) {
  Arguments args;
  const auto done = parse_arguments(words, args);
  EXPECT_TRUE(done) << done.error().text;
  return args;
}

std::string refused(const std::vector<std::string>& words) {
  Arguments args;
  const auto done = parse_arguments(words, args);
  if (done) {
    return "";
  }
  EXPECT_EQ(done.error().code, Code::usage);
  return done.error().text;
}

TEST(Parse, GlobalOptionsOnEitherSideOfTheVerb) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--json", "--socket", "/s", "ls", "/x"},
                                             {"ls", "--socket=/s", "/x", "--json"},
                                             {"--socket=/s", "ls", "--json", "--", "/x"}}) {
    const Arguments args = parsed(words);
    EXPECT_EQ(args.verb->name, "ls");
    EXPECT_TRUE(args.json);
    EXPECT_EQ(args.socket, "/s");
    EXPECT_THAT(args.operands, ElementsAre("/x"));
  }
}

TEST(Parse, ValuesMayLookLikeAnything) {
  const Arguments args =
      parsed({"evict", "--id", "--json", "--tool=a=b", "--session", "", "--session=last", "-"});
  EXPECT_EQ(*args.find("id"), "--json");
  EXPECT_EQ(*args.find("tool"), "a=b");
  EXPECT_EQ(*args.find("session"), "last");
  EXPECT_FALSE(args.json);
  EXPECT_THAT(args.operands, ElementsAre("-"));
}

TEST(Parse, TwoDashesEndTheOptions) {
  EXPECT_THAT(parsed({"read", "--", "--json"}).operands, ElementsAre("--json"));
}

TEST(Parse, UnknownVerbAndOptionAreNamedWithTheNearest) {
  EXPECT_THAT(refused({"evcit"}), HasSubstr("did you mean evict?"));
  EXPECT_THAT(refused({"sesions"}), HasSubstr("did you mean sessions?"));
  EXPECT_THAT(refused({"quarzuhr"}), HasSubstr("`ebla help` lists them"));
  EXPECT_THAT(refused({"read", "--ofset=3", "/x"}), HasSubstr("--ofset; did you mean --offset?"));
  EXPECT_THAT(refused({"--jsn", "ls"}), HasSubstr("did you mean --json?"));
  EXPECT_THAT(refused({"--offset", "3", "read"}), HasSubstr("`ebla read --offset`"));
  EXPECT_THAT(refused({"ls", "-l"}), HasSubstr("`ebla ls` has no option -l"));
}

TEST(Parse, MissingAndSuperfluousValues) {
  EXPECT_THAT(refused({"read", "/x", "--offset"}), HasSubstr("--offset needs a value"));
  EXPECT_THAT(refused({"--socket"}), HasSubstr("--socket PATH"));
  EXPECT_THAT(refused({"ls", "--json=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(refused({"ls", "/a", "/b"}), HasSubstr("/b is too much"));
  EXPECT_THAT(refused({"stop", "now"}), HasSubstr("takes no operand"));
}

TEST(Parse, ControlBytesOfAWrongWordAreEscaped) {
  EXPECT_THAT(refused({"\x1b]0;x\x07"}), HasSubstr("\\x1b]0;x\\x07"));
}

TEST(Parse, StartPassesWhatItDoesNotKnow) {
  const Arguments args = parsed(
      {"start", "--mount", "/a=/b", "--json", "--store=/s", "--socket", "/k", "--read_limit", "7"});
  EXPECT_THAT(args.passed, ElementsAre("--mount", "/a=/b", "--store=/s", "--read_limit", "7"));
  EXPECT_EQ(args.socket, "/k");
  EXPECT_TRUE(args.json);
}

TEST(Parse, NumbersAreWholeAndInRange) {
  const auto number = [](const std::string& text, int64_t smallest) {
    return parsed({"read", "--offset=" + text, "/x"}).number("offset", smallest);
  };
  EXPECT_EQ(number("0", 0).value(), 0);
  EXPECT_EQ(number("9223372036854775807", 0).value(), INT64_MAX);
  EXPECT_EQ(number("-5", INT64_MIN).value(), -5);
  for (const char* wrong : {"", "x", "1x", "1.0", "1e3", " 1", "-1", "9223372036854775808"}) {
    const auto refused_number = number(wrong, 0);
    ASSERT_FALSE(refused_number) << wrong;
    EXPECT_EQ(refused_number.error().code, Code::usage);
    EXPECT_THAT(refused_number.error().text, HasSubstr("--offset"));
  }
  EXPECT_EQ(parsed({"read", "/x"}).number("offset").value(), std::nullopt);
}

TEST(Suggest, NothingNearGivesNothing) {
  const std::vector<std::string_view> names = {"ls", "stat", "stats", "status"};
  EXPECT_EQ(nearest("xx", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("stt", names), "stat");
  EXPECT_EQ(nearest("statuss", names), "status");
  EXPECT_EQ(nearest(std::string(100'000, 's'), names), "");
}

}  // namespace
}  // namespace ebla::tools
