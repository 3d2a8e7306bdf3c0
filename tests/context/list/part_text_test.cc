// Arguments of a call, some of them put away.
#include "context/list/part_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ebla::context {
namespace {

constexpr std::string_view kMark = "[shortened: now in /a]";

// A list of one call, in OpenAI's form: its arguments are a string that holds JSON.
class Call {
 public:
  explicit Call(std::string_view arguments, bool free_form = false) {
    Json text;
    text.kind = Json::Kind::string;
    text.text = arguments;
    body_ = to_json(text);
    message_.role = Role::assistant;
    Part& part = message_.parts.emplace_back();
    part.kind = PartKind::tool_call;
    part.arguments = {0, body_.size()};
    part.free_form = free_form;
    working_.message = &message_;
    working_.parts.emplace_back();
  }
  Call(const Call&) = delete;
  // `text`: its mark, "" it came as one.
  Call& put_away(std::string_view name, std::string_view text) {
    WorkingArgument& argument = working_.parts[0].arguments.emplace_back();
    argument.name = name;
    argument.replaced = true;
    argument.text = text;
    argument.path = "/a";
    return *this;
  }
  std::string standing() const { return standing_text(body_, working_, 0); }
  std::string given(std::string_view original) const {
    const Excerpt excerpt = [original](const WorkingMessage&, size_t, std::string_view name,
                                       size_t) {
      return name == "content" || name == "input" ? std::string(original) : std::string();
    };
    return to_json(given_arguments(body_, working_, 0, excerpt));
  }

 private:
  std::string body_;
  Message message_;
  WorkingMessage working_;
};

TEST(Arguments, StandWithTheirMarksWhoeverHoldsThem) {
  const std::string own = R"({ "path": "b\u00e9", "content": "the \"whole\" text", "n": 1.0 })";
  const std::string ours =
      R"({ "path": "b\u00e9", "content": "[shortened: now in /a]", "n": 1.0 })";
  EXPECT_EQ(Call(own).standing(), own);
  EXPECT_EQ(Call(own).put_away("content", kMark).standing(), ours);
  EXPECT_EQ(Call(ours).put_away("content", "").standing(), ours);
  EXPECT_EQ(Call(own).put_away("gone", kMark).standing(), own);
  EXPECT_EQ(Call(R"({"content":1,"content":"x"})").put_away("content", "m").standing(),
            R"({"content":1,"content":"m"})");
  EXPECT_EQ(Call("free text", true).put_away("input", kMark).standing(), kMark);
}

TEST(Arguments, AreGivenAsTheOriginalsWhereThoseAreKnown) {
  const std::string whole = R"({"path":"b","content":"all"})";
  const std::string marked = R"({"path":"b","content":"[shortened: now in /a]"})";
  const std::pair<std::string_view, std::string_view> ways[] = {{whole, kMark}, {marked, ""}};
  for (const auto& [sent, mark] : ways) {
    Call call(sent);
    call.put_away("content", mark);
    EXPECT_EQ(call.given("all"), whole);
    EXPECT_EQ(call.given(""), marked);
  }
  EXPECT_EQ(Call("all", true).put_away("input", kMark).given("all"), R"("all")");
  EXPECT_EQ(Call("all", true).put_away("input", kMark).given(""), R"("[shortened: now in /a]")");
  EXPECT_EQ(Call("{\"a\":", true).given(""), R"("{\"a\":")");
  EXPECT_EQ(Call("{\"a\":").given(""), R"("{\"a\":")") << "no JSON";
  EXPECT_EQ(Call("[1]").given(""), R"("[1]")") << "no object";
}

}  // namespace
}  // namespace ebla::context
