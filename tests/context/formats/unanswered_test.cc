// Calls without a result: open while nothing stands behind them, closed in a list that goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/context/formats/histories.h"
#include "tests/context/formats/repaired.h"
#include "tests/context/formats/validator.h"

namespace ebla::context {
namespace {

using test::canonical;
using test::Dialect;
using test::repaired;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Messages = std::vector<std::string>;

constexpr std::string_view kClosed = "[no result: the call was interrupted]";

test::Step user(std::string_view text) {
  test::Step step;
  step.text = text;
  return step;
}

// A turn of the model, with these of its results behind it.
test::Step turn(const std::vector<std::string>& ids, std::vector<size_t> results = {}) {
  test::Step step;
  step.who = test::Step::Who::model;
  for (const std::string& id : ids) {
    step.calls.push_back({id, "read_file", "{}", "of " + id, false});
  }
  step.result_order = std::move(results);
  return step;
}

Messages list_of(const test::History& history, Dialect dialect) {
  Messages messages = test::messages_of(history, dialect);
  // A function is written with what it returns.
  const auto waits = [](const test::Step& step) {
    return !step.calls.empty() && step.result_order.empty();
  };
  if (dialect == Dialect::openai_functions && waits(history.back())) messages.pop_back();
  return messages;
}

std::string closed(const Messages& messages, Dialect dialect) {
  const Format& format = format_of(test::format_id(dialect));
  const std::string out = repaired(test::request_of(messages, dialect), format);
  const Conversation c = *format.parse(out);
  EXPECT_THAT(test::refusals(c.list.of(out), dialect), IsEmpty()) << out;
  EXPECT_THAT(test::breaches(out, format), Not(testing::Contains(HasSubstr("a call without"))))
      << out;
  EXPECT_EQ(repaired(out, format), out);
  return out;
}

size_t count_of(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Unanswered, CallsThatTheListEndsInAreLeftAlone) {
  for (const Dialect dialect : test::kDialects) {
    SCOPED_TRACE(static_cast<int>(dialect));
    Messages messages = list_of({user("go"), turn({"1", "2"})}, dialect);
    if (dialect == Dialect::openai_functions) {
      messages = list_of({user("go"), turn({"1"})}, dialect);
    }
    const std::string open = test::request_of(messages, dialect);
    EXPECT_EQ(closed(messages, dialect), open);
    // The user speaks: what runs no more is closed, once.
    messages.push_back(messages.front());
    EXPECT_THAT(closed(messages, dialect), HasSubstr(kClosed));
  }
}

TEST(Unanswered, OneOfTwoIsClosedWhenTheOtherIsSentOn) {
  for (const Dialect dialect : test::kDialects) {
    if (dialect == Dialect::openai_functions) continue;  // it has no parallel calls
    SCOPED_TRACE(static_cast<int>(dialect));
    const std::string out = closed(list_of({user("go"), turn({"1", "2"}, {1})}, dialect), dialect);
    EXPECT_EQ(count_of(out, kClosed), 1u);
    EXPECT_THAT(out, HasSubstr("of 2"));
  }
}

// The first was interrupted, and the model was asked again at once.
TEST(Unanswered, CallsOfTheModelInARow) {
  for (const Dialect dialect : test::kDialects) {
    if (dialect == Dialect::openai_functions) continue;
    SCOPED_TRACE(static_cast<int>(dialect));
    test::Step words;
    words.who = test::Step::Who::model;
    words.text = "I was cut off";
    const std::pair<test::History, size_t> kCases[] = {
        {{user("go"), turn({"2"}), turn({"5"}, {0})}, 1},
        {{user("go"), turn({"2"}), words, turn({"5"}, {0})}, 1},
        {{user("go"), turn({"1"}, {0}), turn({"2", "3"}), turn({"5", "6"}, {1})}, 3},
        {{user("go"), turn({"1", "2"}), words}, 2},
    };
    for (const auto& [history, count] : kCases) {
      EXPECT_EQ(count_of(closed(list_of(history, dialect), dialect), kClosed), count);
    }
  }
}

// Results of one turn come one after the other, in any order, and the list is sent on between them:
// the same goes out whether the client keeps its own list or ours, and nothing of ours is left.
TEST(Unanswered, EachOfThreeResultsTakesItsPlace) {
  std::vector<size_t> order = {0, 1, 2};
  do {
    for (const Dialect dialect : test::kDialects) {
      if (dialect == Dialect::openai_functions) continue;
      for (const bool between : {false, true}) {
        SCOPED_TRACE(testing::Message() << "dialect " << static_cast<int>(dialect) << ", first "
                                        << order[0] << ", then " << order[1]);
        const Format& format = format_of(test::format_id(dialect));
        Messages sent = list_of({user("go"), turn({"1", "2", "3"})}, dialect);
        const size_t asked = sent.size();
        std::string kept;
        for (const size_t each : order) {
          Messages step = list_of({user("go"), turn({"1", "2", "3"}, {each})}, dialect);
          step.erase(step.begin(), step.begin() + static_cast<ptrdiff_t>(asked));
          test::Step words;
          words.who = test::Step::Who::model;
          words.text = "I see";
          if (between) {
            for (std::string& said : list_of({words, user("hurry")}, dialect)) {
              step.push_back(std::move(said));
            }
          }
          sent.insert(sent.end(), step.begin(), step.end());
          const std::string out = closed(sent, dialect);
          if (!kept.empty()) {
            for (const std::string& message : step) {
              const Conversation c = *format.parse(kept);
              kept.insert(c.list.end - 1, "," + message);
            }
            EXPECT_EQ(canonical(repaired(kept, format)), canonical(out));
          }
          kept = out;
        }
        EXPECT_THAT(kept, Not(HasSubstr(kClosed)));
        for (const std::string_view text : {"of 1", "of 2", "of 3"}) {
          EXPECT_EQ(count_of(kept, text), 1u);
        }
      }
    }
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace ebla::context
