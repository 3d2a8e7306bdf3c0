// Random operations on what the context engine remembers, and its comparison.
#include <algorithm>

#include "schema/base/limits.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/random_compare.h"

namespace ebla {
namespace {

std::string section_of(uint32_t random) {
  switch (random % 32) {
    case 0:
      return kit::section_text(random, limits::kInlineContentBytes + random % 3);
    case 1:
      return kit::section_text(random, limits::kChunkBytes - 1 + random / 32 % 3);
    case 2:
      return "no end of line";
    case 3:
      return kit::invalid_utf8(900) + "\n";
    case 4:
    case 5:
      return kit::section_text(random, 40'000);
    default:
      return kit::section_text(random, 1 + random / 32 % 3'000);
  }
}

const std::array<std::string, 3> kFacts = {"", "breaker", std::string("a\0b", 3)};

}  // namespace

std::string RandomWorld::grow_history(const Operation& op, bool pass) {
  const Both<SessionId> session = some_session(op.random[0]);
  const auto states = on_both([&](Side side) { return store(side).history_state(session[side]); });
  if (auto difference = compare("history_state", states); !difference.empty()) return difference;
  HistoryPlan plan;
  plan.section = section_of(op.random[1]);
  plan.section_lines = op.random[2] % 100;
  plan.history_bytes = states[kLeft] ? states[kLeft]->bytes : 0;
  if (op.random[3] % 16 == 0) plan.history_bytes += op.random[3] / 16 % 3;
  for (uint32_t i = 0; i < op.random[4] % 4; ++i) {
    plan.keys.push_back(kit::message_key(op.random[5] % 50 + i));
  }
  std::string difference;
  if (!pass) {
    difference = compare("append_history", on_both([&](Side side) {
                           HistoryPlan own = plan;
                           own.session = session[side];
                           return kit::append_history(store(side), std::move(own), options_of(op));
                         }));
  } else {
    difference = compare("commit_pass", on_both([&](Side side) {
                           PassPlan own;
                           own.session = session[side];
                           own.prefix = xxh3_128(std::to_string(op.random[6] % 12));
                           own.messages = op.random[6] % 12;
                           for (uint32_t i = 0; i < op.random[4] % 3; ++i)
                             own.pinned.push_back(i * 300);
                           own.message = kit::random_bytes(op.random[2] % 100, op.random[2]);
                           own.message_identity = xxh3_128(own.message);
                           own.source = static_cast<SummarySource>(op.random[5] % 3);
                           own.tokens_before = op.random[5];
                           own.tokens_after = op.random[5] / 2;
                           own.section = plan.section;
                           own.section_lines = plan.section_lines;
                           own.history_bytes = plan.history_bytes;
                           own.keys = plan.keys;
                           return kit::commit_pass(store(side), std::move(own), options_of(op));
                         }));
  }
  if (!difference.empty()) return difference;
  return compare("history_holds", on_both([&](Side side) {
                   const std::vector<Hash128> keys = {kit::message_key(op.random[7] % 50),
                                                      kit::message_key(op.random[5] % 50)};
                   return store(side).history_holds(session[side], keys);
                 }));
}

std::string RandomWorld::close_session(const Operation& op) {
  const Both<SessionId> session = some_session(op.random[0]);
  return compare("close_session", on_both([&](Side side) {
                   return kit::close_session(store(side), session[side], options_of(op));
                 }));
}

// Plans that were committed, changed a little or not, and their replacements.
std::string RandomWorld::find_items(const Operation& op) {
  if (sessions_.empty()) return "";
  std::vector<ItemQuery> items;
  for (uint32_t i = 0; i < 6 && !plans_.empty(); ++i) {
    const EvictionPlan& plan = plans_[(op.random[i] + i) % plans_.size()][kLeft];
    ItemQuery item{.kind = plan.kind,
                   .call_id = plan.call_id,
                   .hash = plan.content.hash,
                   .size = plan.content.size};
    if (op.random[i] / 8 % 8 == 0) item.kind = static_cast<ArtifactKind>(op.random[i] % 5);
    if (op.random[i] / 8 % 8 == 1) item.call_id = "call_1";
    if (op.random[i] / 8 % 8 == 2) ++item.size;
    items.push_back(item);
    if (replacements_.empty()) continue;
    item.hash = replacements_[op.random[i] / 4 % replacements_.size()];
    items.push_back(item);
  }
  const auto& session = sessions_[op.random[6] % sessions_.size()];
  return compare("find_items", on_both([&](Side side) {
                   return store(side).find_items(session[side].tree, items);
                 }));
}

std::string RandomWorld::set_fact(const Operation& op) {
  std::optional<std::string> value;
  if (op.random[1] % 3 != 0) {
    const size_t bytes = op.random[1] % 8 == 1 ? limits::kFactBytes + op.random[2] % 2 : 5;
    value = kit::random_bytes(bytes, op.random[2]);
  }
  return compare("set_fact", on_both([&](Side side) {
                   return kit::set_fact(store(side), kFacts[op.random[0] % kFacts.size()], value,
                                        options_of(op));
                 }));
}

std::string RandomWorld::compare_memory() {
  auto difference = compare(
      "events", on_both([&](Side side) { return store(side).events({.limit = SIZE_MAX}); }));
  for (const std::string& name : kFacts) {
    if (!difference.empty()) return difference;
    difference = compare("fact", on_both([&](Side side) { return store(side).fact(name); }));
  }
  for (const auto& session : sessions_) {
    if (!difference.empty()) return difference;
    difference = compare("history_state", on_both([&](Side side) {
                           return store(side).history_state(session[side].serial);
                         }));
    if (difference.empty()) {
      difference = compare(
          "passes", on_both([&](Side side) { return store(side).passes(session[side].tree, 0); }));
    }
    if (difference.empty()) {
      difference = compare("events of a session", on_both([&](Side side) {
                             return store(side).events(
                                 {.session = session[side].serial, .limit = 5, .newest = true});
                           }));
    }
  }
  return difference;
}

}  // namespace ebla
