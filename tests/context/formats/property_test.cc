// What holds for every history in every format: all bytes stay that no edit touches, decisions are
// found again however the body is written, every cut leaves a valid list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "context/formats/json_tree.h"
#include "context/list/identity.h"
#include "tests/context/formats/histories.h"
#include "tests/context/formats/validator.h"

namespace ebla::context {
namespace {

using test::Dialect;

constexpr int kRounds = 10;

Conversation parsed(const std::string& body, Dialect dialect) {
  auto conversation = format_of(test::format_id(dialect)).parse(body);
  EXPECT_TRUE(conversation) << (conversation ? "" : conversation.error().text) << "\n" << body;
  return conversation ? std::move(*conversation) : Conversation();
}

template <class Body>
void for_each_history(const test::Wishes& wishes, Body&& body) {
  for (int round = 0; round < kRounds; ++round) {
    std::mt19937 random(static_cast<uint32_t>(round));
    const test::History history = test::random_history(random, wishes);
    for (Dialect dialect : test::kDialects) {
      SCOPED_TRACE("round " + std::to_string(round) + ", dialect " +
                   std::to_string(static_cast<int>(dialect)));
      body(history, dialect, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FormatProperties, DetectedAndValid) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const std::string body =
        test::request_of(test::messages_of(history, dialect, &random), dialect);
    auto conversation = parse_any(body);
    ASSERT_TRUE(conversation) << body;
    const Format& format = format_of(test::format_id(dialect));
    const auto breaches = format.breaches(body, parsed(body, dialect));
    ASSERT_TRUE(breaches.empty()) << breaches.front() << "\n" << body;
    EXPECT_TRUE(format.repairs(body, *conversation).empty()) << body;
  });
}

TEST(FormatProperties, IdentityIsBlindToForm) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const std::string body = test::request_of(test::messages_of(history, dialect), dialect);
    const std::string other = test::rewritten(body, random);
    const Conversation a = parsed(body, dialect);
    const Conversation b = parsed(other, dialect);
    ASSERT_EQ(a.messages.size(), b.messages.size()) << other;
    for (size_t m = 0; m < a.messages.size(); ++m) {
      ASSERT_EQ(a.messages[m].identity, b.messages[m].identity)
          << a.messages[m].span.of(body) << "\n"
          << b.messages[m].span.of(other);
      ASSERT_EQ(a.messages[m].parts.size(), b.messages[m].parts.size());
      for (size_t p = 0; p < a.messages[m].parts.size(); ++p) {
        const Part& part = a.messages[m].parts[p];
        if (part.kind == PartKind::reasoning || part.kind == PartKind::unknown) continue;
        ASSERT_EQ(text_of(body, part), text_of(other, b.messages[m].parts[p]));
        ASSERT_EQ(part.facts.tokens, b.messages[m].parts[p].facts.tokens);
      }
    }
  });
}

TEST(FormatProperties, IdentityIsTheSameInAllFormats) {
  const test::Wishes wishes{.steps = 12, .parallel = 1, .plain_calls = true};
  for (int round = 0; round < kRounds; ++round) {
    std::mt19937 random(static_cast<uint32_t>(round));
    const test::History history = test::random_history(random, wishes);
    std::vector<Hash128> first;
    for (Dialect dialect : test::kDialects) {
      if (dialect == Dialect::openai_functions) continue;  // has no ids
      const std::string body = test::request_of(test::messages_of(history, dialect), dialect);
      std::vector<Hash128> identities;
      for (const Message& message : parsed(body, dialect).messages) {
        identities.push_back(message.identity);
      }
      if (first.empty()) first = identities;
      ASSERT_EQ(identities, first) << "round " << round << "\n" << body;
    }
  }
}

// What stands in place of a message's parts; all bytes outside must be the message's own.
TEST(FormatProperties, EditsTouchNothingElse) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const std::string body =
        test::rewritten(test::request_of(test::messages_of(history, dialect), dialect), random);
    const Conversation c = parsed(body, dialect);
    const Format& format = format_of(c.format);
    for (const Message& message : c.messages) {
      ASSERT_EQ(format.edit(body, message, {}), message.span.of(body));
      for (size_t p = 0; p < message.parts.size(); ++p) {
        const Part& part = message.parts[p];
        const bool call = part.kind == PartKind::tool_call;
        const bool skipped = !test::chance(random, 3);
        if (skipped || part.kind == PartKind::reasoning || part.provider_side) continue;
        const PartEdit edit{.part = p,
                            .what = call ? PartEdit::What::argument : PartEdit::What::content,
                            .argument = "text",
                            .text = "put \"away\"\n"};
        const std::string out = format.edit(body, message, {&edit, 1});
        const Span around = call                                 ? part.arguments
                            : part.kind == PartKind::tool_result ? part.content
                                                                 : part.span;
        if (part.kind == PartKind::unknown && around == message.span) {
          ASSERT_EQ(out, message.span.of(body));
          continue;
        }
        const size_t head = around.begin - message.span.begin;
        const size_t tail = message.span.end - around.end;
        ASSERT_EQ(out.substr(0, head), body.substr(message.span.begin, head));
        ASSERT_EQ(out.substr(out.size() - tail), body.substr(around.end, tail));
        ASSERT_TRUE(JsonTree::read(out)) << out;
        ASSERT_NE(out, message.span.of(body));
        // Read again, the part says what it was told to, and all others what they said.
        const Splice splice{static_cast<size_t>(&message - c.messages.data()), 1, {out}};
        const std::string after = apply_splices(body, c, {&splice, 1});
        const Conversation d = parsed(after, dialect);
        const Message& again = d.messages[splice.index];
        if (part.kind == PartKind::image) {  // of a result: one more text of it now
          ASSERT_NE(text_of(after, again.parts[p - 1]).find("\n" + edit.text), std::string::npos);
          continue;
        }
        ASSERT_EQ(again.parts.size(), message.parts.size()) << out;
        for (size_t q = 0; q < message.parts.size(); ++q) {
          if (q != p) {
            ASSERT_EQ(again.parts[q].facts.hash, message.parts[q].facts.hash) << out;
          } else if (call) {
            const auto texts = string_arguments(after, again.parts[q]);
            const auto edited = std::ranges::find(texts, edit.text, &StringArgument::text);
            ASSERT_NE(edited, texts.end()) << out;
          } else {
            ASSERT_EQ(text_of(after, again.parts[q]), edit.text) << out;
          }
        }
      }
    }
  });
}

TEST(FormatProperties, SplicesOfNothingAreTheBody) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const std::string body =
        test::rewritten(test::request_of(test::messages_of(history, dialect), dialect), random);
    const Conversation c = parsed(body, dialect);
    ASSERT_EQ(apply_splices(body, c, {}), body);
    const size_t at = test::below(random, c.messages.size());
    const Splice same{at, 1, {std::string(c.messages[at].span.of(body))}};
    const Conversation d = parsed(apply_splices(body, c, {&same, 1}), dialect);
    ASSERT_EQ(d.messages.size(), c.messages.size());
    for (size_t m = 0; m < c.messages.size(); ++m) {
      ASSERT_EQ(d.messages[m].identity, c.messages[m].identity);
    }
  });
}

// A summary in place of everything before the cut.
std::string cut_at(const std::string& body, const Conversation& c, size_t cut) {
  const Format& format = format_of(c.format);
  Splice splice{0, cut, {}};
  const bool merges =
      format.needs_alternation() && cut < c.messages.size() && c.messages[cut].role == Role::user;
  if (merges) {
    splice.remove = cut + 1;
    splice.insert.push_back(format.merged_user(body, c.messages[cut], "Summary."));
  } else {
    splice.insert.push_back(format.user_message(c, "Summary."));
  }
  return apply_splices(body, c, {&splice, 1});
}

TEST(FormatProperties, EveryCutIsValid) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const std::string body =
        test::request_of(test::messages_of(history, dialect, &random), dialect);
    const Conversation c = parsed(body, dialect);
    const std::vector<size_t> points = cut_points(c);
    ASSERT_EQ(points.front(), 0u);
    ASSERT_EQ(points.back(), c.messages.size());
    size_t next = 0;
    for (size_t cut = 0; cut <= c.messages.size(); ++cut) {
      const std::string out = cut_at(body, c, cut);
      const Conversation d = parsed(out, dialect);
      const auto breaches = format_of(c.format).breaches(out, d);
      if (cut == points[next]) {
        ASSERT_TRUE(breaches.empty()) << breaches.front() << " at " << cut << "\n" << out;
        ASSERT_THAT(test::refusals(d.list.of(out), dialect), testing::IsEmpty()) << out;
        ++next;
      } else if (dialect != Dialect::responses) {
        // No more is kept together than must be.
        ASSERT_FALSE(breaches.empty()) << "at " << cut << "\n" << out;
      }
    }
  });
}

TEST(FormatProperties, ReadingOnIsReadingAll) {
  for_each_history({}, [](const auto& history, Dialect dialect, std::mt19937& random) {
    const Format& format = format_of(test::format_id(dialect));
    std::vector<std::string> messages = test::messages_of(history, dialect);
    for (std::string& message : messages) message = test::rewritten(message, random);
    const std::string before = test::request_of(
        {messages.begin(),
         messages.begin() + static_cast<ptrdiff_t>(test::below(random, messages.size() + 1))},
        dialect);
    if (test::chance(random, 3)) messages.erase(messages.begin() + 1);
    const std::string after = test::request_of(messages, dialect);
    const auto earlier = format.parse(before);
    ASSERT_TRUE(earlier);
    const auto on = parse_after(format, after, common_prefix(after, before), *earlier);
    const auto all = format.parse(after);
    ASSERT_TRUE(on && all);
    ASSERT_EQ(on->list, all->list);
    ASSERT_EQ(on->overhead_tokens, all->overhead_tokens);
    ASSERT_EQ(on->model, all->model);
    ASSERT_EQ(on->partial, all->partial);
    ASSERT_EQ(on->shape, all->shape);
    ASSERT_EQ(on->messages.size(), all->messages.size());
    for (size_t m = 0; m < all->messages.size(); ++m) {
      const Message& a = on->messages[m];
      const Message& b = all->messages[m];
      ASSERT_EQ(a.span, b.span);
      ASSERT_EQ(a.role, b.role);
      ASSERT_EQ(a.identity, b.identity);
      ASSERT_EQ(a.tokens, b.tokens);
      ASSERT_EQ(a.parts.size(), b.parts.size());
      for (size_t p = 0; p < b.parts.size(); ++p) {
        ASSERT_EQ(a.parts[p].span, b.parts[p].span);
        ASSERT_EQ(a.parts[p].texts, b.parts[p].texts);
        ASSERT_EQ(a.parts[p].arguments, b.parts[p].arguments);
        ASSERT_EQ(a.parts[p].content, b.parts[p].content);
        ASSERT_EQ(a.parts[p].data, b.parts[p].data);
        ASSERT_EQ(a.parts[p].tool, b.parts[p].tool);
        ASSERT_EQ(a.parts[p].facts.hash, b.parts[p].facts.hash);
      }
    }
  });
}

}  // namespace
}  // namespace ebla::context
