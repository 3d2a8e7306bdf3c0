// What the context engine remembers, in the model store: items, passes, histories, events, facts.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/limits.h"
#include "schema/path.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {

Original ModelState::original_of(const ModelDecision& decision) const {
  return {.kind = decision.kind,
          .call_id = decision.call_id,
          .hash = decision.hash,
          .size = decision.size,
          .tokens = decision.tokens,
          .path = path_in(decision.folder, decision.name)};
}

ItemAnswer ModelState::answer(SessionId tree, const ItemQuery& query) const {
  ItemAnswer out{.decision = find_eviction(tree, query.kind, query.call_id, query.hash, query.size),
                 .original = std::nullopt};
  for (const ModelDecision& d : decisions_) {
    if (d.tree != tree || xxh3_128(d.replacement) != query.hash) continue;
    const bool same_call = d.kind == query.kind && d.call_id == query.call_id;
    if (!out.original || same_call) out.original = original_of(d);
    if (same_call) break;
  }
  return out;
}

std::vector<ItemAnswer> ModelState::find_items(SessionId tree,
                                               std::span<const ItemQuery> items) const {
  std::vector<ItemAnswer> out;
  for (const ItemQuery& item : items) out.push_back(answer(tree, item));
  return out;
}

std::vector<Pass> ModelState::passes(SessionId tree, uint64_t after) const {
  std::vector<Pass> out;
  for (const ModelPass& p : passes_) {
    if (p.tree == tree && p.pass.id > after) out.push_back(p.pass);
  }
  return out;
}

Result<std::string> ModelState::pass_message(uint64_t pass) const {
  for (const ModelPass& p : passes_) {
    if (p.pass.id == pass) return p.message;
  }
  return fail(Code::file_not_found, fmt::format("pass {} does not exist", pass));
}

Result<HistoryState> ModelState::history_state(SessionId session) const {
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) {
    return fail(Code::unknown_session, fmt::format("session number {} does not exist", session));
  }
  const auto history = history_texts_.find(at->second.history);
  return history == history_texts_.end() ? HistoryState{} : history->second.state;
}

Result<std::vector<bool>> ModelState::history_holds(SessionId session,
                                                    std::span<const Hash128> keys) const {
  if (auto state = history_state(session); !state) return std::unexpected(state.error());
  const auto history = history_texts_.find(sessions_.at(session).history);
  std::vector<bool> out;
  for (const Hash128& key : keys) {
    out.push_back(history != history_texts_.end() && history->second.keys.contains(key));
  }
  return out;
}

Result<void> ModelState::check_section(SessionId session, const std::string& section,
                                       uint64_t history_bytes) const {
  if (!section.ends_with('\n')) {
    return fail(Code::invalid_params, "a section of a history ends with a line's end");
  }
  const auto state = history_state(session);
  if (!state) return std::unexpected(state.error());
  if (state->bytes != history_bytes) {
    return fail(Code::conflict,
                fmt::format("the history has {} bytes, the section was written for {}: write it "
                            "again",
                            state->bytes, history_bytes));
  }
  return {};
}

void ModelState::grow_history(const Session& session, const std::string& section, uint64_t lines,
                              const std::vector<Hash128>& keys, ChangeSet& changes) {
  ModelHistory& history = history_texts_[session.history];
  ModelNode& node = nodes_.at(session.history);
  const uint64_t before = history.text.size();
  history.text += section;
  history.keys.insert(keys.begin(), keys.end());
  history.state = {.bytes = history.text.size(),
                   .lines = history.state.lines + lines,
                   .sections = history.state.sections + 1,
                   .messages = history.keys.size()};
  node.attr.size = node.attr.raw_bytes = history.text.size();
  touch(node, changes);
  changes.ranges.push_back({.ino = session.history, .offset = before, .length = 0});
}

Result<Pass> ModelState::commit_pass(const PassPlan& plan, ChangeSet& changes) {
  const auto found = session(plan.session);
  if (!found) return std::unexpected(found.error());
  for (const ModelPass& p : passes_) {
    if (p.tree != found->tree || p.pass.prefix != plan.prefix) continue;
    Pass known = p.pass;
    known.known = true;
    return known;
  }
  const auto good = check_section(plan.session, plan.section, plan.history_bytes);
  if (!good) return std::unexpected(good.error());
  grow_history(*found, plan.section, plan.section_lines, plan.keys, changes);
  const uint64_t id = note_event({.session = plan.session,
                                  .what = "summary",
                                  .detail = std::string(summary_source_name(plan.source)),
                                  .tokens_before = plan.tokens_before,
                                  .tokens_after = plan.tokens_after,
                                  .path = path_in(histories_, found->id + ".md")});
  ModelPass& made = passes_.emplace_back();
  made.tree = found->tree;
  made.message = plan.message;
  made.pass.id = id;
  made.pass.session = plan.session;
  made.pass.prefix = plan.prefix;
  made.pass.messages = plan.messages;
  made.pass.pinned = plan.pinned;
  made.pass.message_identity = plan.message_identity;
  made.pass.tokens_after = plan.tokens_after;
  changes.tree = found->tree;
  changes.session = found->serial;
  return made.pass;
}

Result<HistoryState> ModelState::append_history(const HistoryPlan& plan, ChangeSet& changes) {
  const auto found = session(plan.session);
  if (!found) return std::unexpected(found.error());
  const auto held = history_holds(plan.session, plan.keys);
  if (!held->empty() && std::ranges::all_of(*held, [](bool holds) { return holds; })) {
    return history_state(plan.session);
  }
  const auto good = check_section(plan.session, plan.section, plan.history_bytes);
  if (!good) return std::unexpected(good.error());
  grow_history(*found, plan.section, plan.section_lines, plan.keys, changes);
  note_event(plan.session, "history", path_in(histories_, found->id + ".md"));
  changes.tree = found->tree;
  changes.session = found->serial;
  return history_state(plan.session);
}

uint64_t ModelState::note_event(Event event) {
  event.id = next_id_++;
  event.at_ns = clock_.wall_ns();
  events_.push_back(std::move(event));
  return events_.back().id;
}

void ModelState::note_event(SessionId session, std::string what, std::string path) {
  Event event;
  event.session = session;
  event.what = std::move(what);
  event.path = std::move(path);
  note_event(std::move(event));
}

std::vector<Event> ModelState::events(const EventQuery& query) const {
  std::vector<Event> out;
  for (const Event& event : events_) {
    if (event.id > query.after && (query.session == 0 || event.session == query.session)) {
      out.push_back(event);
    }
  }
  if (query.newest) std::ranges::reverse(out);
  if (out.size() > query.limit) out.resize(query.limit);
  return out;
}

std::optional<std::string> ModelState::fact(std::string_view name) const {
  const auto at = facts_.find(name);
  if (at == facts_.end()) return std::nullopt;
  return at->second;
}

Result<void> ModelState::set_fact(const std::string& name,
                                  const std::optional<std::string>& value) {
  if (name.empty() || name.size() > limits::kFactNameBytes) {
    return fail(Code::invalid_params,
                fmt::format("the name of a fact has 1 to {} bytes", limits::kFactNameBytes));
  }
  if (value && value->size() > limits::kFactBytes) {
    return fail(Code::too_large, fmt::format("a fact has at most {} bytes", limits::kFactBytes));
  }
  if (value) {
    facts_[name] = *value;
  } else {
    facts_.erase(name);
  }
  return {};
}

}  // namespace ebla::kit
