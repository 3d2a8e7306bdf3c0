// Whatever a client cuts, doubles, moves or spoils: what goes out is what the provider takes, says
// all that was said, and comes back as it is when it is sent again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "schema/base/json.h"
#include "tests/context/formats/histories.h"
#include "tests/context/formats/repaired.h"
#include "tests/context/formats/validator.h"

namespace ebla::context {
namespace {

using test::Dialect;
using testing::IsEmpty;

std::string list_of(const std::vector<std::string>& messages) {
  std::string out = "[";
  for (const std::string& message : messages) out.append(out.size() > 1 ? "," : "").append(message);
  return out + "]";
}

size_t results_in(const Format& format, const std::string& message) {
  const std::string list = "[" + message + "]";
  const auto c = format.parse(list);
  if (!c) return 0;
  return static_cast<size_t>(std::ranges::count_if(c->messages[0].parts, [](const Part& part) {
    return part.kind == PartKind::tool_result && !part.provider_side;
  }));
}

// All that the tools said, wherever it stands now.
std::string everything(const std::string& body, const Format& format) {
  const Conversation c = *format.parse(body);
  std::string all;
  for (const Message& message : c.messages) {
    for (const Part& part : message.parts) all += text_of(body, part) + "\n";
  }
  return all;
}

void expect_valid(const std::vector<std::string>& messages, Dialect dialect) {
  const Format& format = format_of(test::format_id(dialect));
  const std::string body = list_of(messages);
  const std::string out = test::repaired(body, format);
  ASSERT_THAT(test::refusals(out, dialect), IsEmpty()) << body << "\n" << out;
  ASSERT_EQ(test::repaired(out, format), out) << body;
  for (const std::string& breach : test::breaches(out, format)) {
    // What the vendors take, and an item of thought that the client cut off.
    ASSERT_TRUE(breach.starts_with("two messages of") || breach.starts_with("a reasoning item") ||
                breach.starts_with("the list is empty") ||
                breach.starts_with("the list does not begin"))
        << breach << "\n"
        << out;
  }
  const std::string all = everything(out, format);
  const Conversation c = *format.parse(body);
  for (const Message& message : c.messages) {
    for (const Part& part : message.parts) {
      if (part.kind != PartKind::tool_result || part.provider_side) continue;
      const std::string text = text_of(body, part);
      const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
      ASSERT_TRUE(blank || all.find(text) != std::string::npos) << body << "\n" << out;
    }
  }
}

template <class Body>
void for_each_dialect(uint32_t rounds, Body&& body) {
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const Dialect dialect : test::kDialects) {
      SCOPED_TRACE("round " + std::to_string(round) + ", dialect " +
                   std::to_string(static_cast<int>(dialect)));
      std::mt19937 random(round);
      const test::History history = test::random_history(random, {.steps = 8});
      body(test::messages_of(history, dialect, &random), dialect, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Rules, TheHistoriesThemselvesAreValid) {
  for_each_dialect(20, [](const auto& messages, Dialect dialect, std::mt19937&) {
    ASSERT_THAT(test::refusals(list_of(messages), dialect), IsEmpty()) << list_of(messages);
  });
}

TEST(Rules, EveryPieceOfAHistory) {
  for_each_dialect(2, [](const auto& messages, Dialect dialect, std::mt19937&) {
    for (size_t from = 0; from < messages.size(); ++from) {
      for (size_t to = from + 1; to <= messages.size(); ++to) {
        expect_valid({messages.begin() + static_cast<ptrdiff_t>(from),
                      messages.begin() + static_cast<ptrdiff_t>(to)},
                     dialect);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(Rules, EachMessageGone) {
  for_each_dialect(6, [](const auto& messages, Dialect dialect, std::mt19937&) {
    for (size_t gone = 0; gone < messages.size(); ++gone) {
      auto rest = messages;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(gone));
      expect_valid(rest, dialect);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

// Of parallel calls some have their results, of others none came, and the model goes on at once.
TEST(Rules, CallsWithoutResults) {
  for (uint32_t round = 0; round < 12; ++round) {
    for (const Dialect dialect : test::kDialects) {
      std::mt19937 random(round);
      test::History history = test::random_history(random, {.steps = 10});
      for (test::Step& step : history) {
        std::erase_if(step.result_order, [&](size_t) { return test::chance(random, 2); });
      }
      const auto messages = test::messages_of(history, dialect, &random);
      for (size_t count = 1; count <= messages.size(); ++count) {
        expect_valid({messages.begin(), messages.begin() + static_cast<ptrdiff_t>(count)}, dialect);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Rules, ResultsDoubledAndMovedAnywhere) {
  for_each_dialect(4, [](const auto& messages, Dialect dialect, std::mt19937& random) {
    const Format& format = format_of(test::format_id(dialect));
    for (size_t i = 0; i < messages.size(); ++i) {
      if (results_in(format, messages[i]) == 0) continue;
      for (const size_t to :
           {size_t{0}, i, test::below(random, messages.size()), messages.size()}) {
        auto twice = messages;
        twice.insert(twice.begin() + static_cast<ptrdiff_t>(to), messages[i]);
        expect_valid(twice, dialect);
        auto moved = twice;
        moved.erase(moved.begin() + static_cast<ptrdiff_t>(to <= i ? i + 1 : i));
        expect_valid(moved, dialect);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

// A retry, or a turn that stands twice: at once, or some turns later.
TEST(Rules, MessagesOfAnyKindDoubledAndTurnsRepeated) {
  for_each_dialect(4, [](const auto& messages, Dialect dialect, std::mt19937& random) {
    for (size_t from = 0; from < messages.size(); ++from) {
      const auto begin = messages.begin() + static_cast<ptrdiff_t>(from);
      for (size_t count = 1; count <= 5 && from + count <= messages.size(); ++count) {
        const auto end = begin + static_cast<ptrdiff_t>(count);
        const size_t behind =
            from + count + test::below(random, messages.size() - from - count + 1);
        for (const size_t to : {from + count, behind}) {
          auto twice = messages;
          twice.insert(twice.begin() + static_cast<ptrdiff_t>(to), begin, end);
          expect_valid(twice, dialect);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

// Frameworks count the calls of each turn from 1.
TEST(Rules, TheSameIdsInEveryTurn) {
  for_each_dialect(10, [](const auto& messages, Dialect dialect, std::mt19937&) {
    static const std::regex kIds(
        R"re("((tool_use_|tool_call_|call_)?id)":"([a-z]+)[_-]?[0-9]+")re");
    std::vector<std::string> same;
    for (const std::string& message : messages) {
      same.push_back(std::regex_replace(message, kIds, R"("$1":"call_1")"));
    }
    expect_valid(same, dialect);
  });
}

// The member that holds what a result says, of every result in the value.
void spoil(Json& value, const std::function<void(Json& holder, std::string_view name)>& change) {
  const Json* type = value.find("type");
  const Json* role = value.find("role");
  const bool chain = value.find("tool_call_id") != nullptr;
  const bool result = type != nullptr && type->text == "tool_result";
  const bool output = type != nullptr && type->text.ends_with("_output");
  const bool function = role != nullptr && role->text == "function";
  if (result || chain || function) return change(value, "content");
  if (output) return change(value, "output");
  for (auto& [name, each] : value.members) spoil(each, change);
  for (Json& each : value.items) spoil(each, change);
}

TEST(Rules, ContentsOfAnyType) {
  constexpr std::string_view kOdd[] = {"null",
                                       "7",
                                       "-0.5e3",
                                       "false",
                                       R"("")",
                                       R"(" \n")",
                                       "[]",
                                       R"([""])",
                                       R"(["a",null,["b"]])",
                                       R"({"type":"text","text":"a"})",
                                       R"({"rows":[1]})",
                                       R"([{"type":"text","text":""}])"};
  for_each_dialect(3, [&](const auto& messages, Dialect dialect, std::mt19937& random) {
    for (const std::string_view odd : kOdd) {
      std::vector<std::string> spoiled;
      for (const std::string& message : messages) {
        Json value = *parse_json(message);
        spoil(value, [&](Json& holder, std::string_view name) {
          if (test::chance(random, 3)) return;
          for (auto& [member, content] : holder.members) {
            if (member == name) content = *parse_json(odd);
          }
        });
        spoiled.push_back(to_json(value));
      }
      if (test::chance(random, 2)) spoiled.erase(spoiled.begin());
      if (test::chance(random, 2)) spoiled.push_back(spoiled.back());
      expect_valid(spoiled, dialect);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

}  // namespace
}  // namespace ebla::context
