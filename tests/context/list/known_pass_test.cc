// Passes: found by content, after a retry, a rewind, a fork, and by a client that replaced its
// list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/list/identity.h"
#include "tests/context/list/known_support.h"

namespace ebla::context {
namespace {

// user, model, user, model, … with texts that depend on the place alone.
ListBuilder turns(size_t count, std::string_view branch = "main") {
  ListBuilder builder;
  builder.rules(20, "system");
  for (size_t i = 0; i < count; ++i) {
    const std::string text = std::string(branch) + std::to_string(i);
    i % 2 == 0 ? builder.user(100, text) : builder.model(100, text);
  }
  return builder;
}

// A pass over the first `cut` messages of that list.
PassKey commit(FakeStore& store, const Conversation& conversation, size_t cut,
               std::string_view summary) {
  const PassKey key = pass_key(store.list(conversation), cut);
  store.pass(key, summary);
  return key;
}

std::vector<size_t> indexes(const std::vector<WorkingMessage>& messages) {
  std::vector<size_t> out;
  for (const WorkingMessage& message : messages) out.push_back(message.index);
  return out;
}

using Indexes = std::vector<size_t>;

TEST(KnownPass, AppliedToEveryListThatBeginsWithIt) {
  FakeStore store;
  const PassKey key = commit(store, turns(9).done(), 6, "summary one");
  EXPECT_EQ(key.messages, 6u);
  EXPECT_EQ(key.pinned, std::vector<uint64_t>{0}) << "the first task";
  const Conversation longer = turns(15).done();
  const WorkingList list = store.list(longer);
  EXPECT_EQ(list.summary, "summary one");
  EXPECT_EQ(list.covered, 7u);
  EXPECT_EQ(indexes(list.pins), (Indexes{0, 1}));
  EXPECT_EQ(indexes(list.messages), (Indexes{7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_FALSE(list.carrier);
  EXPECT_EQ(list.counted(), 20 + 100 + estimate_tokens("summary one") + 900);
}

TEST(KnownPass, TheSameWhenAppliedAndWhenFoundAgain) {
  FakeStore store;
  const Conversation conversation = turns(9).done();
  WorkingList list = store.list(conversation);
  store.pass(pass_key(list, 6), "summary one");
  cover(list, 6, "summary one", estimate_tokens("summary one"));
  const WorkingList again = store.list(conversation);
  EXPECT_EQ(list.covered, again.covered);
  EXPECT_EQ(list.pinned, again.pinned);
  EXPECT_EQ(list.counted(), again.counted());
  EXPECT_EQ(indexes(list.pins), indexes(again.pins));
  EXPECT_EQ(indexes(list.messages), indexes(again.messages));
}

TEST(KnownPass, TheLongestWins) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  commit(store, turns(15).done(), 4, "summary two");  // 6 + 4 messages
  EXPECT_EQ(store.list(turns(12).done()).summary, "summary two");
  EXPECT_EQ(store.list(turns(10).done()).summary, "summary one");
  EXPECT_EQ(store.list(turns(7).done()).summary, "summary one");
}

TEST(KnownPass, NotAppliedAfterARewindBelowIt) {
  FakeStore store;
  commit(store, turns(19).done(), 14, "summary one");
  Conversation branch = turns(9).done();
  Conversation other = turns(15, "branch").done();
  branch.messages.insert(branch.messages.end(), other.messages.begin() + 10, other.messages.end());
  const WorkingList list = store.list(branch);
  EXPECT_EQ(list.summary, "");
  EXPECT_EQ(list.messages.size(), 15u);
  EXPECT_EQ(store.list(turns(19).done()).summary, "summary one") << "and back";
}

TEST(KnownPass, NeverCoversTheLastMessageOrAFreshResult) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  EXPECT_EQ(store.list(turns(6).done()).summary, "");
  EXPECT_EQ(store.list(turns(7).done()).summary, "summary one");

  const auto calls = [] {
    return ListBuilder().user(5, "task").calls({"a"}).result("a", 90).model(5, "so").user(5, "go");
  };
  commit(store, calls().done(), 3, "summary two");
  EXPECT_EQ(store.list(calls().done()).summary, "summary two");
  Conversation rewound = calls().done();
  rewound.messages.erase(rewound.messages.begin() + 3);  // the answer
  EXPECT_EQ(store.list(rewound).summary, "") << "the result is fresh again";
}

TEST(KnownPass, NotAppliedWhereAResultCameLater) {
  FakeStore store;
  ListBuilder builder;
  builder.user(5, "task").calls({"a"}).user(5, "go on").model(5, "yes").user(5, "well");
  commit(store, builder.done(), 4, "summary one");
  const Conversation more = builder.model(5).user(5).done();
  EXPECT_EQ(store.list(more).summary, "summary one");
  const Conversation answered = builder.result("a", 50).user(5).done();
  EXPECT_EQ(store.list(answered).summary, "") << "its call is in the pass";
}

TEST(KnownPass, BothWaysToKeepAListComeToTheSame) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  const Conversation conversation = turns(9).done();
  const WorkingList kept = store.list(conversation);
  Conversation client = as_replaced(kept);
  const WorkingList replaced = store.list(client);
  ASSERT_EQ(replaced.carrier, 2u);
  EXPECT_EQ(replaced.covered, 3u);
  EXPECT_EQ(replaced.summary, "summary one");
  EXPECT_EQ(indexes(replaced.pins), (Indexes{0, 1}));
  EXPECT_EQ(replaced.counted(), kept.counted());
  ASSERT_EQ(replaced.messages.size(), kept.messages.size());
  for (size_t i = 0; i < kept.messages.size(); ++i) {
    EXPECT_EQ(replaced.messages[i].chain, kept.messages[i].chain);
    EXPECT_EQ(replaced.messages[i].place, kept.messages[i].place);
  }
  EXPECT_TRUE(replaced.pins[1].first_task);
  const PassKey a = pass_key(kept, 2);
  const PassKey b = pass_key(replaced, 2);
  EXPECT_EQ(a.prefix, b.prefix);
  EXPECT_EQ(a.messages, b.messages);
  EXPECT_EQ(a.pinned, b.pinned);
}

TEST(KnownPass, AReplacedListTakesTheNextPassToo) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  const Conversation conversation = turns(9).done();
  Conversation client = as_replaced(store.list(conversation));
  const Conversation rest = turns(15).done();
  client.messages.insert(client.messages.end(), rest.messages.begin() + 10, rest.messages.end());
  commit(store, client, 4, "summary two");
  const WorkingList list = store.list(client);
  EXPECT_EQ(list.summary, "summary two");
  EXPECT_FALSE(list.carrier) << "its own summary is an older one";
  EXPECT_EQ(indexes(list.pins), (Indexes{0, 1}));
  EXPECT_EQ(list.covered, 7u);
  EXPECT_EQ(store.list(rest).summary, "summary two") << "a client that kept its list, too";
  const WorkingList again = store.list(as_replaced(list));
  EXPECT_EQ(again.carrier, 2u);
  EXPECT_EQ(again.summary, "summary two");
}

TEST(KnownPass, ASummaryInFrontOfAUsersMessage) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  const Conversation conversation = turns(9).done();
  const WorkingList kept = store.list(conversation);
  Conversation client = as_replaced(kept);
  // Where two user messages may not follow each other, the summary stands before what is said.
  Message merged = client.messages[3];
  merged.parts.insert(merged.parts.begin(), client.messages[2].parts[0]);
  merged.tokens += client.messages[2].tokens;
  std::vector<Hash128> hashes = {merged.parts[0].facts.hash, merged.parts[1].facts.hash};
  merged.identity = identity_of(merged, hashes);
  client.messages.erase(client.messages.begin() + 2);
  client.messages[2] = merged;
  const WorkingList list = store.list(client);
  ASSERT_EQ(list.carrier, 2u);
  EXPECT_EQ(list.covered, 2u);
  EXPECT_EQ(list.summary, "summary one");
  ASSERT_EQ(list.messages.size(), kept.messages.size());
  EXPECT_EQ(list.messages[0].parts.size(), 1u);
  EXPECT_EQ(list.counted(), kept.counted());
  for (size_t i = 0; i < kept.messages.size(); ++i) {
    EXPECT_EQ(list.messages[i].chain, kept.messages[i].chain) << i;
    EXPECT_EQ(list.messages[i].identity, kept.messages[i].identity) << i;
    EXPECT_EQ(list.messages[i].place, kept.messages[i].place) << i;
  }
}

TEST(KnownPass, ASummaryThatIsQuotedLaterIsATextLikeAnyOther) {
  FakeStore store;
  commit(store, turns(9).done(), 6, "summary one");
  Conversation client = turns(8, "other").done();
  client.messages.push_back(summary_carrier("summary one"));
  const WorkingList list = store.list(client);
  EXPECT_EQ(list.summary, "");
  EXPECT_EQ(list.messages.size(), 9u);
}

TEST(KnownPass, PinsStayInFrontFromPassToPass) {
  FakeStore store;
  const std::vector<uint64_t> pinned = {3};
  WorkingList list = store.list(turns(9).done(), pinned);
  const PassKey first = pass_key(list, 6);
  EXPECT_EQ(first.pinned, (std::vector<uint64_t>{0, 2}));
  store.pass(first, "summary one");
  const Conversation longer = turns(15).done();
  const WorkingList without = store.list(longer);
  EXPECT_EQ(indexes(without.pins), (Indexes{0, 1, 3})) << "the pass remembers";
  const PassKey second = pass_key(without, 4);
  EXPECT_EQ(second.pinned, (std::vector<uint64_t>{0, 2}));
  store.pass(second, "summary two");
  const WorkingList late = store.list(turns(19).done(), {5, 13});
  EXPECT_EQ(late.summary, "summary two");
  EXPECT_EQ(indexes(late.pins), (Indexes{0, 1, 3, 5})) << "one that the caller pins later";
  EXPECT_EQ(late.pinned, (std::vector<uint64_t>{0, 2, 4}));
}

}  // namespace
}  // namespace ebla::context
