// Items, passes, closing, events and facts.
#include "schema/path.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ItemQuery query_of(const EvictionPlan& plan) {
  return {.kind = plan.kind,
          .call_id = plan.call_id,
          .hash = plan.content.hash,
          .size = plan.content.size};
}

TEST_P(StoreContract, ItemsOfATreeWithoutDecisionsAreAllUnknown) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const auto plan = kit::eviction_plan(session, "call", "text");
  const std::vector<ItemQuery> items(3, query_of(plan));
  const auto answers = store().find_items(session.tree, items);
  ASSERT_TRUE(answers.has_value()) << answers.error().text;
  ASSERT_EQ(answers->size(), 3u);
  for (const ItemAnswer& answer : *answers) {
    EXPECT_FALSE(answer.decision || answer.original);
  }
  EXPECT_TRUE(store().find_items(session.tree, {})->empty());
}

TEST_P(StoreContract, ItemsAreAnsweredInTheirOrder) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const Session child = kit::make_session(store(), "s-bbbbb", "", session.serial);
  const Session other = kit::make_session(store(), "s-ccccc");
  const auto one = kit::eviction_plan(session, "one", "first text");
  auto two = kit::eviction_plan(child, "", "second text", "message-1");
  two.kind = ArtifactKind::human;
  const auto first = kit::commit_eviction(store(), one);
  const auto second = kit::commit_eviction(store(), two);
  ASSERT_TRUE(first.ok() && second.ok());
  auto other_call = query_of(one);
  other_call.call_id = "two";
  auto other_kind = query_of(one);
  other_kind.kind = ArtifactKind::old_result;
  auto other_size = query_of(one);
  ++other_size.size;
  const std::vector<ItemQuery> items = {query_of(two),
                                        other_call,
                                        query_of(one),
                                        other_kind,
                                        other_size,
                                        {.kind = ArtifactKind::tool_result,
                                         .call_id = "any",
                                         .hash = xxh3_128(first->replacement),
                                         .size = first->replacement.size()}};
  const auto answers = store().find_items(session.tree, items);
  ASSERT_TRUE(answers.has_value()) << answers.error().text;
  ASSERT_EQ(answers->size(), items.size());
  ASSERT_TRUE(answers->at(0).decision.has_value());
  EXPECT_EQ(answers->at(0).decision->replacement, second->replacement);
  EXPECT_EQ(answers->at(0).decision->path, "/conversation_history/s-bbbbb/message-1");
  EXPECT_FALSE(answers->at(1).decision.has_value());
  ASSERT_TRUE(answers->at(2).decision.has_value());
  EXPECT_EQ(answers->at(2).decision->replacement, first->replacement);
  EXPECT_TRUE(answers->at(2).decision->known);
  EXPECT_EQ(answers->at(2).decision->ino, first->ino);
  EXPECT_FALSE(answers->at(3).decision.has_value());
  EXPECT_FALSE(answers->at(4).decision.has_value());
  EXPECT_FALSE(answers->at(5).decision.has_value());
  ASSERT_TRUE(answers->at(5).original.has_value());
  EXPECT_EQ(answers->at(5).original->kind, ArtifactKind::tool_result);
  EXPECT_EQ(answers->at(5).original->call_id, "one");
  EXPECT_EQ(answers->at(5).original->hash, one.content.hash);
  EXPECT_EQ(answers->at(5).original->size, one.content.size);
  EXPECT_EQ(answers->at(5).original->tokens, one.tokens);
  EXPECT_EQ(answers->at(5).original->path, first->path);
  const auto elsewhere = store().find_items(other.tree, items);
  for (const ItemAnswer& answer : *elsewhere) EXPECT_FALSE(answer.decision || answer.original);
}

// A mark of an argument names the file that the tool wrote: two calls may share it.
TEST_P(StoreContract, AReplacementThatTwoCallsShareStandsForTheOneOfTheCall) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::vector<EvictionPlan> plans;
  for (const char* id : {"one", "two", "three"}) {
    auto plan = kit::eviction_plan(session, id, std::string("text of ") + id);
    plan.kind = ArtifactKind::argument;
    plan.replacement_parts = {"the same mark"};
    ASSERT_TRUE(kit::commit_eviction(store(), plan).ok());
    plans.push_back(plan);
  }
  const Hash128 mark = xxh3_128("the same mark");
  const auto answers = store().find_items(
      session.tree,
      std::vector<ItemQuery>{
          {.kind = ArtifactKind::argument, .call_id = "two", .hash = mark, .size = 13},
          {.kind = ArtifactKind::human, .call_id = "", .hash = mark, .size = 13}});
  ASSERT_TRUE(answers.has_value());
  ASSERT_TRUE(answers->at(0).original && answers->at(1).original);
  EXPECT_EQ(answers->at(0).original->hash, plans[1].content.hash);
  EXPECT_EQ(answers->at(1).original->hash, plans[0].content.hash);
}

TEST_P(StoreContract, APassIsThereWithItsSectionAndItsKeys) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const std::string section = kit::section_text(1, 3'000);
  PassPlan plan = kit::pass_plan(store(), session, section, 12);
  plan.pinned = {0, 3, uint64_t{1} << 60};
  plan.source = SummarySource::client;
  plan.message = std::string("nul \0 and \xff", 12);
  const auto ended = kit::commit_pass(store(), plan);
  ASSERT_TRUE(ended.ok()) << ended.result.error().text;
  EXPECT_FALSE(ended->known);
  EXPECT_NE(ended->id, 0u);
  EXPECT_EQ(ended->prefix, plan.prefix);
  EXPECT_EQ(ended->messages, 12u);
  EXPECT_EQ(ended->pinned, plan.pinned);
  EXPECT_EQ(ended->message_identity, plan.message_identity);
  EXPECT_EQ(ended->tokens_after, plan.tokens_after);
  EXPECT_THAT(*store().passes(session.tree, 0), ElementsAre(*ended));
  EXPECT_EQ(*store().pass_message(ended->id), plan.message);
  EXPECT_EQ(store().pass_message(ended->id + 1'000).error().code, Code::file_not_found);
  EXPECT_EQ(kit::read_file(store(), session.history), section);
  EXPECT_THAT(*store().history_holds(session.serial,
                                     std::vector{kit::message_key(12), kit::message_key(13)}),
              ElementsAre(true, false));
}

TEST_P(StoreContract, AKnownPrefixIsAnsweredAsItWasStored) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const Session child = kit::make_session(store(), "s-bbbbb", "", session.serial);
  const Session other = kit::make_session(store(), "s-ccccc");
  const auto first = kit::commit_pass(store(), kit::pass_plan(store(), session, "first\n", 5));
  ASSERT_TRUE(first.ok());
  for (const Session& again : {session, child}) {
    PassPlan plan = kit::pass_plan(store(), again, "second\n", 5);
    plan.message = "another summary";
    plan.history_bytes = 77;  // would be a conflict, were it a new one
    const auto ended = kit::commit_pass(store(), plan);
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    EXPECT_TRUE(ended->known);
    EXPECT_EQ(ended->id, first->id);
    EXPECT_EQ(ended->session, session.serial);
    EXPECT_TRUE(ended.changes.empty());
  }
  EXPECT_EQ(kit::read_file(store(), session.history), "first\n");
  EXPECT_EQ(*store().pass_message(first->id), "summary of 5 messages");
  const auto elsewhere = kit::commit_pass(store(), kit::pass_plan(store(), other, "other\n", 5));
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_FALSE(elsewhere->known);
  EXPECT_EQ(store().passes(session.tree, 0)->size(), 1u);
  EXPECT_EQ(store().passes(other.tree, 0)->size(), 1u);
}

TEST_P(StoreContract, PassesComeInTheirOrderAfterAnId) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::vector<Pass> made;
  for (const uint64_t messages : {30u, 10u, 20u}) {
    const auto ended = kit::commit_pass(
        store(), kit::pass_plan(store(), session, kit::section_text(messages, 100), messages));
    ASSERT_TRUE(ended.ok());
    made.push_back(*ended);
  }
  EXPECT_THAT(*store().passes(session.tree, 0), ElementsAre(made[0], made[1], made[2]));
  EXPECT_THAT(*store().passes(session.tree, made[0].id), ElementsAre(made[1], made[2]));
  EXPECT_THAT(*store().passes(session.tree, UINT64_MAX), IsEmpty());
  reopen();
  EXPECT_THAT(*store().passes(session.tree, made[1].id), ElementsAre(made[2]));
}

TEST_P(StoreContract, APassThatFailsLeavesNothing) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  auto plan = kit::pass_plan(store(), session, "text\n", 5);
  plan.history_bytes = 1;
  EXPECT_EQ(kit::commit_pass(store(), plan).code(), Code::conflict);
  plan.history_bytes = 0;
  plan.section = "no end of line";
  EXPECT_EQ(kit::commit_pass(store(), plan).code(), Code::invalid_params);
  plan.section = "";
  EXPECT_EQ(kit::commit_pass(store(), plan).code(), Code::invalid_params);
  plan.session = 999'999;
  plan.section = "text\n";
  EXPECT_EQ(kit::commit_pass(store(), plan).code(), Code::unknown_session);
  EXPECT_THAT(*store().passes(session.tree, 0), IsEmpty());
  EXPECT_EQ(*store().history_state(session.serial), HistoryState{});
  EXPECT_EQ(kit::read_file(store(), session.history), "");
  EXPECT_THAT(*store().history_holds(session.serial, plan.keys), ElementsAre(false));
}

TEST_P(StoreContract, AClosedSessionStaysReadableAndIsOpenedAgain) {
  const Session session = kit::make_session(store(), "s-aaaaa", "key");
  put(session, "call", "text");
  clock_.advance_ns(5);
  ASSERT_TRUE(kit::close_session(store(), session.serial).ok());
  const int64_t closed = clock_.wall_ns();
  EXPECT_EQ(store().session(session.serial)->closed_ns, closed);
  clock_.advance_ns(5);
  ASSERT_TRUE(kit::close_session(store(), session.serial).ok());
  EXPECT_EQ(store().session(session.serial)->closed_ns, closed);
  EXPECT_EQ(kit::names(store(), session.folder), std::vector<std::string>{"call"});
  const auto again = kit::open_session(store(), kit::session_plan("s-bbbbb", "key"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->session, session);
  EXPECT_EQ(kit::close_session(store(), 999'999).code(), Code::unknown_session);
}

std::vector<std::string> whats(const std::vector<Event>& events) {
  std::vector<std::string> out;
  for (const Event& event : events) out.push_back(event.what);
  return out;
}

TEST_P(StoreContract, EventsTellEveryDecisionInTheOrderOfCommits) {
  const Session session = kit::make_session(store(), "s-aaaaa", "key");
  clock_.advance_ns(7);
  auto plan = kit::eviction_plan(session, "call", "text");
  plan.tool = "tool\x1b[31m";
  plan.tokens = 9'000;
  plan.tokens_after = 30;
  const auto put_away = kit::commit_eviction(store(), plan);
  ASSERT_TRUE(put_away.ok());
  ASSERT_TRUE(kit::commit_eviction(store(), plan).ok());  // known: no decision
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), session, "a\n", 1)).ok());
  auto pass = kit::pass_plan(store(), session, "b\n", 5);
  pass.source = SummarySource::daemon;
  const auto passed = kit::commit_pass(store(), pass);
  ASSERT_TRUE(passed.ok());
  const Session other = kit::make_session(store(), "s-bbbbb");
  ASSERT_TRUE(kit::close_session(store(), session.serial).ok());
  ASSERT_TRUE(kit::open_session(store(), kit::session_plan("x", "key")).ok());
  ASSERT_TRUE(kit::open_session(store(), kit::session_plan("x", "key")).ok());
  auto human = kit::eviction_plan(other, "", "words", "message-1");
  human.kind = ArtifactKind::human;
  ASSERT_TRUE(kit::commit_eviction(store(), human).ok());

  const auto events = store().events({});
  ASSERT_TRUE(events.has_value()) << events.error().text;
  EXPECT_THAT(whats(*events),
              ElementsAre("session_open", "tool_result", "history", "summary", "session_open",
                          "session_close", "session_open", "human"));
  for (size_t i = 1; i < events->size(); ++i) EXPECT_LT(events->at(i - 1).id, events->at(i).id);
  const Event& away = events->at(1);
  EXPECT_EQ(away.at_ns, clock_.wall_ns());
  EXPECT_EQ(away.session, session.serial);
  EXPECT_EQ(away.detail, "tool\\x1b[31m");
  EXPECT_EQ(away.tokens_before, 9'000u);
  EXPECT_EQ(away.tokens_after, 30u);
  EXPECT_EQ(away.path, put_away->path);
  const Event& summary = events->at(3);
  EXPECT_EQ(summary.id, passed->id);
  EXPECT_EQ(summary.detail, "daemon");
  EXPECT_EQ(summary.tokens_before, 500u);
  EXPECT_EQ(summary.tokens_after, 5u);
  EXPECT_EQ(summary.path, "/conversation_history/s-aaaaa.md");

  EXPECT_THAT(whats(*store().events({.session = other.serial})),
              ElementsAre("session_open", "human"));
  EXPECT_THAT(whats(*store().events({.after = summary.id, .limit = 2})),
              ElementsAre("session_open", "session_close"));
  EXPECT_THAT(whats(*store().events({.after = away.id, .limit = 2, .newest = true})),
              ElementsAre("human", "session_open"));
  EXPECT_THAT(whats(*store().events({.session = session.serial, .limit = 3, .newest = true})),
              ElementsAre("session_open", "session_close", "summary"));
  EXPECT_THAT(*store().events({.after = UINT64_MAX}), IsEmpty());
  EXPECT_THAT(*store().events({.limit = 0}), IsEmpty());
  reopen();
  EXPECT_EQ(*store().events({}), *events);
}

TEST_P(StoreContract, FactsAreKeptReplacedAndRemoved) {
  const std::string name("a\0name", 6);
  EXPECT_FALSE(store().fact(name)->has_value());
  ASSERT_TRUE(kit::set_fact(store(), name, "").ok());
  EXPECT_EQ(*store().fact(name), "");
  const std::string most(limits::kFactBytes, 'x');
  ASSERT_TRUE(kit::set_fact(store(), name, most).ok());
  EXPECT_EQ(*store().fact(name), most);
  EXPECT_EQ(kit::set_fact(store(), name, most + "x").code(), Code::too_large);
  EXPECT_EQ(*store().fact(name), most);
  EXPECT_EQ(kit::set_fact(store(), "", "x").code(), Code::invalid_params);
  EXPECT_EQ(kit::set_fact(store(), std::string(limits::kFactNameBytes + 1, 'n'), "x").code(),
            Code::invalid_params);
  ASSERT_TRUE(kit::set_fact(store(), std::string(limits::kFactNameBytes, 'n'), "kept").ok());
  ASSERT_TRUE(kit::set_fact(store(), name, std::nullopt).ok());
  ASSERT_TRUE(kit::set_fact(store(), name, std::nullopt).ok());
  EXPECT_FALSE(store().fact(name)->has_value());
  reopen();
  EXPECT_EQ(*store().fact(std::string(limits::kFactNameBytes, 'n')), "kept");
}

}  // namespace
}  // namespace ebla
