// Calls without a command that failed: open until the same is tried again and goes well, whatever
// else the call says, in one pass and over ten.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/summary/outline.h"
#include "context/summary/runs.h"
#include "context/summary/summary.h"
#include "tests/context/summary/talk.h"

namespace ebla::context {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Session {
 public:
  Session& fails(std::string_view tool, std::string_view arguments) {
    return run(tool, arguments, "Error: no answer from the other side", true);
  }
  Session& goes_well(std::string_view tool, std::string_view arguments) {
    return run(tool, arguments, "42 items", false);
  }
  Session& says(std::string_view text) {
    talk_.user(text).assistant("I looked at it. " + std::string(text));
    count_ += 2;
    return *this;
  }
  Outline extract(std::string_view earlier = "") const {
    SummaryInput input = talk_.input(count_);
    input.earlier = earlier;
    return parse_outline(extract_summary(input));
  }
  std::vector<std::string> open() const { return extract()[Outline::open]; }

 private:
  Session& run(std::string_view tool, std::string_view arguments, std::string_view result,
               bool error) {
    const std::string id = fmt::format("c{}", count_);
    talk_.call(id, tool, arguments).result(id, tool, result, error);
    count_ += 2;
    return *this;
  }
  test::Talk talk_;
  size_t count_ = 0;
};

struct Case {
  std::string_view tool;
  std::string_view failed;
  std::string_view mended;  // the same with other options
  std::string_view other;   // something else
};
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"fetch", R"({"url":"https://a.example/x?y=1","timeout":5})",
       R"({"timeout":60,"retries":3,"url":"https://a.example/x?y=1"})",
       R"({"url":"https://a.example/x?y=2","timeout":5})"},
      {"web_search", R"({"query":"how to, in x=1 steps"})",
       R"({"query":"how to, in x=1 steps","format":"long","limit":10})",
       R"({"query":"how to, in x=2 steps"})"},
      {"mcp__gh__close_issue", R"({"owner":"o","repo":"r","number":7,"comment":"done"})",
       R"({"comment":"done now","owner":"o","repo":"r","number":7})",
       R"({"owner":"o","repo":"s","number":7,"comment":"done"})"},
      {"click", R"({"selector":"#go","force":false})", R"({"selector":"#go","force":true})",
       R"({"selector":"#stop","force":false})"},
      {"index", R"({"paths":["src","include"],"depth":2})", R"({"paths":["src","include"]})",
       R"({"paths":["src"]})"},
      {"lookup", R"({"documentId":"d-7","\u884c":1})", R"({"\u884c":2,"documentId":"d-7"})",
       R"({"documentId":"d-8","\u884c":1})"},
      {"ask", R"({"query":"\"a quoted\" start","top_k":1})",
       R"({"query":"\"a quoted\" start","top_k":9})", R"({"query":"\"a quoted\" end","top_k":1})"},
      {"render", R"({"url":"a.html?<system>","fast":true})", R"({"url":"a.html?<system>"})",
       R"({"url":"b.html?<system>"})"},
  };
  return kCases;
}

TEST(OpenCalls, TheSameTriedWithOtherOptionsMendsIt) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.tool);
    EXPECT_THAT(Session().fails(each.tool, each.failed).open(), SizeIs(1));
    EXPECT_THAT(Session().fails(each.tool, each.failed).goes_well(each.tool, each.mended).open(),
                IsEmpty());
    EXPECT_THAT(Session().fails(each.tool, each.failed).goes_well(each.tool, each.other).open(),
                SizeIs(1));
    EXPECT_THAT(Session().fails(each.tool, each.failed).goes_well("another", each.failed).open(),
                SizeIs(1));
    EXPECT_THAT(Session().goes_well(each.tool, each.mended).fails(each.tool, each.failed).open(),
                SizeIs(1));
  }
}

TEST(OpenCalls, WithoutAMainArgumentAllOfThemCount) {
  EXPECT_THAT(
      Session().fails("roll", R"({"sides":6,"dice":2})").goes_well("roll", R"({"sides":6})").open(),
      SizeIs(1));
  EXPECT_THAT(Session().fails("roll", R"({"sides":6})").goes_well("roll", R"({"sides":6})").open(),
              IsEmpty());
}

TEST(OpenCalls, WhatWasTriedTwiceInVainIsOneItemWithItsNewestOutcome) {
  for (const Case& each : cases()) {
    const auto open = Session().fails(each.tool, each.failed).fails(each.tool, each.mended).open();
    EXPECT_THAT(open, SizeIs(1)) << each.tool;
  }
}

TEST(OpenCalls, AreOpenOverTenPassesUntilTheyGoWell) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.tool);
    std::string earlier = render_outline(Session().fails(each.tool, each.failed).extract());
    const std::string line = parse_outline(earlier)[Outline::open].at(0);
    for (int pass = 1; pass < 10; ++pass) {
      Session session;
      session.says(fmt::format("part {}", pass)).goes_well(each.tool, each.other);
      earlier = render_outline(session.extract(earlier));
      EXPECT_THAT(parse_outline(earlier)[Outline::open], testing::ElementsAre(line)) << pass;
    }
    Session again;
    again.fails(each.tool, each.mended);
    EXPECT_THAT(again.extract(earlier)[Outline::open], SizeIs(1));
    Session well;
    well.goes_well(each.tool, each.mended);
    EXPECT_THAT(well.extract(earlier)[Outline::open], IsEmpty());
    // And what mended it stays done, with nothing open beside it.
    earlier = render_outline(well.extract(earlier));
    for (int pass = 0; pass < 10; ++pass) {
      earlier = render_outline(Session().says("go on").extract(earlier));
    }
    EXPECT_THAT(parse_outline(earlier)[Outline::open], IsEmpty());
    EXPECT_THAT(parse_outline(earlier)[Outline::done], Contains(HasSubstr(each.tool)));
  }
}

TEST(OpenCalls, LongArgumentsAreToldApartByHowTheyBegin) {
  const std::string url = "https://a.example/" + std::string(200, 'x');
  for (size_t length :
       {120u, 130u, 140u, 145u, 149u, 150u, 151u, 152u, 153u, 154u, 155u, 156u, 157u, 160u}) {
    const std::string path = url.substr(0, length);
    const std::string failed = fmt::format(R"({{"url":"{}","timeout":5}})", path);
    const std::string mended = fmt::format(R"({{"url":"{}","depth":"deep"}})", path);
    EXPECT_THAT(Session().fails("fetch", failed).goes_well("fetch", mended).open(), IsEmpty())
        << length;
  }
}

TEST(OpenCalls, TheMainArgumentIsNamedFirst) {
  Session session;
  session.fails("fetch", R"({"timeout":5,"url":"https://a.example","deep":true})");
  EXPECT_THAT(session.open(),
              Contains(HasSubstr("\"fetch: url=https://a.example, timeout=5, deep=true\"")));
}

}  // namespace
}  // namespace ebla::context
