// What a list is found by: items, chains, passes, both ways to keep a list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/list/identity.h"
#include "tests/context/list/known_support.h"

namespace ebla::context {
namespace {

using testing::ElementsAre;

std::string kind_name(ArtifactKind kind) {
  return std::vector<std::string>{"result", "human", "argument", "old", "media"}.at(
      static_cast<size_t>(kind));
}

TEST(Known, WhatIsAskedFor) {
  ListBuilder builder;
  builder.rules(100).user(100).also_text(15).calls({"a", "b"}, "write_file", 100);
  builder.results({{"a", 100}, {"b", 15}}).also_text(100).image(400).image(0).model(100);
  builder.calls({"s"}, "web_search", 100);
  builder.last_part().provider_side = true;
  const Conversation conversation = builder.done();
  const auto arguments = [](const Part& call) {
    return std::vector<ArgumentFacts>{{"content", facts_of("argument " + call.call_id, 90)},
                                      {"mode", facts_of("w", 1)}};
  };
  std::vector<std::string> found;
  for (const ListItem& item : list_items(conversation, arguments)) {
    found.push_back(std::to_string(item.message) + "." + std::to_string(item.part) + " " +
                    kind_name(item.query.kind) + " " + std::string(item.query.call_id) +
                    item.argument);
  }
  EXPECT_THAT(found, ElementsAre("1.0 human ", "2.0 argument acontent", "2.1 argument bcontent",
                                 "3.0 result a", "3.0 old a", "3.2 human ", "4.0 media "));
}

TEST(Known, LeadingSystemMessagesTakeNoPartInTheChain) {
  const Conversation plain = ListBuilder().user(5, "task").model(5, "answer").user(5, "go").done();
  const Conversation led =
      ListBuilder().rules(9).developer(9).user(5, "task").model(5, "answer").user(5, "go").done();
  const Chain a = chain_of(plain, {}, {}, {}, nullptr);
  const Chain b = chain_of(led, {}, {}, {}, nullptr);
  EXPECT_EQ(b.lead, 2u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a.links[i].chain, b.links[i + 2].chain);
    EXPECT_EQ(a.links[i].place, b.links[i + 2].place);
  }
  EXPECT_EQ(a.fresh, 2u);
  EXPECT_EQ(b.fresh, 4u);
  EXPECT_EQ(list_of(led).pins.size(), 2u);
  EXPECT_EQ(list_of(led).covered, 2u);
}

TEST(Known, AReplacementStandsForItsOriginal) {
  FakeStore store;
  const Conversation original =
      ListBuilder().user(5, "task").calls({"a"}).result("a", 900).model(5).user(5).done();
  const Conversation arrived = with_text(original, 2, "notice", 40);
  store.original("notice", ArtifactKind::tool_result, original.messages[2].parts[0]);
  const WorkingList a = store.list(original);
  const WorkingList b = store.list(arrived);
  ASSERT_EQ(a.messages.size(), b.messages.size());
  for (size_t i = 0; i < a.messages.size(); ++i) {
    EXPECT_EQ(a.messages[i].chain, b.messages[i].chain) << i;
    EXPECT_EQ(a.messages[i].identity, b.messages[i].identity) << i;
  }
  EXPECT_TRUE(b.messages[2].parts[0].replaced);
  EXPECT_TRUE(b.messages[2].parts[0].text.empty()) << "the client's own bytes are it";
  EXPECT_EQ(b.messages[2].parts[0].original_tokens, 900u);
  EXPECT_EQ(b.messages[2].tokens, 40u);
}

TEST(Known, AUsersTextThatIsANoticeIsJustAText) {
  FakeStore store;
  ListBuilder builder;
  const Conversation conversation = builder.user(40, "notice").model(5).user(5).done();
  store.original("notice", ArtifactKind::tool_result, conversation.messages[0].parts[0]);
  const Conversation other = ListBuilder().user(40, "notice").model(5).user(5).done();
  EXPECT_EQ(store.list(conversation).messages[0].identity, other.messages[0].identity);
}

TEST(Known, ALinkStandsForItsImage) {
  FakeStore store;
  ListBuilder builder;
  const Conversation original = builder.image(4'000).model(5).user(5).done();
  Conversation arrived = with_text(original, 0, "link", 20);
  arrived.messages[0].parts[0].kind = PartKind::text;
  arrived.messages[0].parts[0].data = {};
  store.original("link", ArtifactKind::media, original.messages[0].parts[0]);
  EXPECT_EQ(store.list(original).messages[2].chain, store.list(arrived).messages[2].chain);
}

TEST(Known, AnArgumentStandsForItsOriginal) {
  FakeStore store;
  const Conversation original =
      ListBuilder().user(5).calls({"a"}, "write_file", 900).result("a", 20).user(5).done();
  const Conversation arrived = with_text(original, 1, "arguments with a mark", 60);
  Part argument;
  argument.facts = facts_of("the long text", 880);
  argument.call_id = "a";
  store.original("mark", ArtifactKind::argument, argument);
  store.arguments = [](const Part& call) {
    const bool marked = call.facts.tokens == 60;
    return std::vector<ArgumentFacts>{
        {"content", marked ? facts_of("mark", 40) : facts_of("the long text", 880)}};
  };
  store.originals = [&](const Part&, std::span<const OriginalArgument> found) {
    EXPECT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].name, "content");
    EXPECT_EQ(found[0].original->size, 3'520u);
    return original.messages[1].parts[0].facts.hash;
  };
  const WorkingList list = store.list(arrived);
  EXPECT_EQ(store.list(original).messages[3].chain, list.messages[3].chain);
  EXPECT_TRUE(list.messages[1].parts[0].arguments[0].replaced);
}

TEST(Known, DecisionsAreApplied) {
  FakeStore store;
  const Conversation conversation = ListBuilder()
                                        .user(900)
                                        .calls({"a", "b"}, "write_file", 700)
                                        .result("a", 800)
                                        .result("b", 600)
                                        .model(5)
                                        .user(5)
                                        .done();
  store.arguments = [](const Part& call) {
    return std::vector<ArgumentFacts>{{"content", facts_of("argument " + call.call_id, 650)}};
  };
  const std::string text(400, 'n');
  store.decision(ArtifactKind::human, "", conversation.messages[0].parts[0].facts, text);
  store.decision(ArtifactKind::argument, "b", facts_of("argument b", 650), text);
  store.decision(ArtifactKind::tool_result, "a", conversation.messages[2].parts[0].facts, text);
  store.decision(ArtifactKind::old_result, "b", conversation.messages[3].parts[0].facts, text);
  const WorkingList list = store.list(conversation);
  const uint64_t cost = estimate_tokens(text);
  EXPECT_EQ(list.messages[0].tokens, cost);
  EXPECT_EQ(list.messages[1].tokens, 1'400 - 650 + cost);
  EXPECT_FALSE(list.messages[1].parts[0].arguments[0].replaced);
  EXPECT_TRUE(list.messages[1].parts[1].arguments[0].replaced);
  EXPECT_EQ(list.messages[1].parts[1].arguments[0].text, text);
  EXPECT_EQ(list.messages[2].parts[0].text, text);
  EXPECT_EQ(list.messages[2].tokens, cost);
  EXPECT_EQ(list.messages[3].tokens, cost);
  EXPECT_EQ(list.messages[5].tokens, 5u);
  EXPECT_EQ(list.messages[2].identity, conversation.messages[2].identity);
}

TEST(Known, OwnReadersAreAskedWithTheirCall) {
  FakeStore store;
  store.own_reader = [](const Part& result, const Part* call) {
    return call != nullptr && call->call_id == "b" && result.call_id == "b";
  };
  const Conversation conversation =
      ListBuilder().calls({"a", "b"}).result("b", 100).result("a", 100).result("x", 100).done();
  const WorkingList list = store.list(conversation);
  EXPECT_TRUE(list.is_reader(list.messages[1], 0));
  EXPECT_FALSE(list.is_reader(list.messages[2], 0));
  EXPECT_FALSE(list.is_reader(list.messages[3], 0));
}

TEST(Known, FirstTaskIsPinnedUpToItsLimit) {
  const auto first = [](const Conversation& conversation) {
    return list_of(conversation).messages[0];
  };
  EXPECT_TRUE(first(ListBuilder().user(4'000).model(5).done()).pinned);
  EXPECT_TRUE(first(ListBuilder().user(4'000).model(5).done()).first_task);
  EXPECT_FALSE(first(ListBuilder().user(4'001).model(5).done()).pinned);
  FakeStore store;
  const Conversation large = ListBuilder().user(60'000).model(5).user(5).done();
  store.decision(ArtifactKind::human, "", large.messages[0].parts[0].facts, "preview");
  EXPECT_TRUE(store.list(large).messages[0].pinned) << "as it stands, put away";
}

TEST(Known, SystemMessagesAndTheCallersPinsArePinned) {
  const Conversation conversation = ListBuilder()
                                        .user(5)
                                        .model(5)
                                        .developer(5)
                                        .user(5)
                                        .calls({"a"})
                                        .result("a", 5)
                                        .user(5)
                                        .done();
  const WorkingList list = list_of(conversation, {}, {3, 4, 5});
  std::vector<bool> pinned;
  for (const WorkingMessage& message : list.messages) pinned.push_back(message.pinned);
  EXPECT_THAT(pinned, ElementsAre(true, false, true, true, false, false, false));
  EXPECT_TRUE(list_of(conversation, {}, {0}).messages[0].pinned);
  EXPECT_FALSE(list_of(conversation, {}, {0}).messages[0].first_task)
      << "a pin of the caller never yields";
}

}  // namespace
}  // namespace ebla::context
