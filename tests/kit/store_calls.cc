#include "tests/kit/store_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schema/base/limits.h"

namespace ebla::kit {

Ended<void> remove(Store& store, RemovePlan plan, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.remove(std::move(plan), options, std::move(done)); });
}

Ended<void> reap(Store& store, std::vector<Ino> inos, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.reap(std::move(inos), options, std::move(done)); });
}

Ended<void> sync(Store& store, ChangeOptions options) {
  return wait_for<void>([&](Completion<void> done) { store.sync(options, std::move(done)); });
}

Ended<SessionOutcome> open_session(Store& store, SessionPlan plan, ChangeOptions options) {
  return wait_for<SessionOutcome>([&](Completion<SessionOutcome> done) {
    store.open_session(std::move(plan), options, std::move(done));
  });
}

Ended<ContentId> stage(Store& store, ContentId content, uint64_t offset, std::string bytes,
                       ChangeOptions options) {
  return wait_for<ContentId>([&](Completion<ContentId> done) {
    store.stage(content, offset, std::move(bytes), options, std::move(done));
  });
}

Ended<void> discard(Store& store, ContentId content, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.discard(content, options, std::move(done)); });
}

Ended<EvictionOutcome> commit_eviction(Store& store, EvictionPlan plan, ChangeOptions options) {
  return wait_for<EvictionOutcome>([&](Completion<EvictionOutcome> done) {
    store.commit_eviction(std::move(plan), options, std::move(done));
  });
}

Ended<Pass> commit_pass(Store& store, PassPlan plan, ChangeOptions options) {
  return wait_for<Pass>(
      [&](Completion<Pass> done) { store.commit_pass(std::move(plan), options, std::move(done)); });
}

Ended<HistoryState> append_history(Store& store, HistoryPlan plan, ChangeOptions options) {
  return wait_for<HistoryState>([&](Completion<HistoryState> done) {
    store.append_history(std::move(plan), options, std::move(done));
  });
}

Ended<void> close_session(Store& store, SessionId serial, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.close_session(serial, options, std::move(done)); });
}

Ended<void> set_fact(Store& store, std::string name, std::optional<std::string> value,
                     ChangeOptions options) {
  return wait_for<void>([&](Completion<void> done) {
    store.set_fact(std::move(name), std::move(value), options, std::move(done));
  });
}

SessionPlan session_plan(std::string_view id, std::string_view key, SessionId parent) {
  SessionPlan plan;
  plan.uid = 1000;
  plan.gid = 1001;
  plan.key = key;
  plan.id_candidates = {std::string(id)};
  plan.parent = parent;
  return plan;
}

Session make_session(Store& store, std::string_view id, std::string_view key, SessionId parent) {
  auto ended = open_session(store, session_plan(id, key, parent));
  if (!ended.ok()) {
    ADD_FAILURE() << "session " << id << ": " << ended.result.error().text;
    return {};
  }
  return ended->session;
}

EvictionPlan eviction_plan(const Session& session, std::string_view call_id, std::string bytes,
                           std::string_view stem) {
  EvictionPlan plan;
  plan.session = session.serial;
  plan.call_id = call_id;
  plan.tool = "bash";
  plan.uid = 1000;
  plan.gid = 1001;
  plan.stem = stem.empty() ? call_id : stem;
  plan.replacement_parts = {"stored at ", fmt::format(", {} bytes", bytes.size())};
  plan.characters = bytes.size();
  plan.lines = static_cast<uint64_t>(std::ranges::count(bytes, '\n'));
  plan.tokens = (bytes.size() + 3) / 4;
  plan.content.size = bytes.size();
  plan.content.hash = xxh3_128(bytes);
  plan.content.bytes = std::move(bytes);
  return plan;
}

ContentRef stage_all(Store& store, std::string_view bytes) {
  ContentRef ref;
  ref.size = bytes.size();
  ref.hash = xxh3_128(bytes);
  for (size_t at = 0; at == 0 || at < bytes.size(); at += limits::kStageSliceBytes) {
    auto ended =
        stage(store, ref.staged, at, std::string(bytes.substr(at, limits::kStageSliceBytes)));
    if (!ended.ok()) {
      ADD_FAILURE() << "slice at " << at << ": " << ended.result.error().text;
      return ref;
    }
    ref.staged = *ended;
  }
  return ref;
}

std::string section_text(uint64_t number, size_t bytes) {
  const std::string line = fmt::format("section {} of {} bytes\n", number, bytes);
  std::string text;
  text.reserve(bytes + line.size());
  while (text.size() < bytes) text += line;
  text.resize(std::max<size_t>(bytes, 1));
  text.back() = '\n';
  return text;
}

Hash128 message_key(uint64_t number) {
  return xxh3_128(fmt::format("message {}", number));
}

HistoryPlan history_plan(Store& store, const Session& session, std::string section,
                         uint64_t number) {
  const auto state = store.history_state(session.serial);
  if (!state) ADD_FAILURE() << "history: " << state.error().text;
  HistoryPlan plan;
  plan.session = session.serial;
  plan.section_lines = static_cast<uint64_t>(std::ranges::count(section, '\n'));
  plan.section = std::move(section);
  plan.history_bytes = state ? state->bytes : 0;
  plan.keys = {message_key(number)};
  return plan;
}

PassPlan pass_plan(Store& store, const Session& session, std::string section, uint64_t messages) {
  HistoryPlan history = history_plan(store, session, std::move(section), messages);
  PassPlan plan;
  plan.session = session.serial;
  plan.uid = 1000;
  plan.gid = 1001;
  plan.prefix = xxh3_128(fmt::format("prefix of {}", messages));
  plan.messages = messages;
  plan.message = fmt::format("summary of {} messages", messages);
  plan.message_identity = xxh3_128(plan.message);
  plan.tokens_before = messages * 100;
  plan.tokens_after = messages;
  plan.section = std::move(history.section);
  plan.section_lines = history.section_lines;
  plan.history_bytes = history.history_bytes;
  plan.keys = std::move(history.keys);
  return plan;
}

std::string read_file(Store& store, Ino ino, size_t slice) {
  std::string text;
  for (;;) {
    const size_t at = text.size();
    text.resize(at + slice);
    const auto count = store.read(ino, at, std::span(text).subspan(at));
    if (!count) {
      ADD_FAILURE() << "read at " << at << ": " << count.error().text;
      return "";
    }
    text.resize(at + *count);
    if (*count < slice) return text;
  }
}

std::vector<DirEntry> list(Store& store, Ino dir, size_t page) {
  std::vector<DirEntry> all;
  for (;;) {
    auto entries = store.readdir(dir, all.empty() ? 0 : all.back().cookie, page);
    if (!entries) {
      ADD_FAILURE() << "readdir: " << entries.error().text;
      return all;
    }
    if (entries->empty()) return all;
    all.insert(all.end(), entries->begin(), entries->end());
  }
}

std::vector<std::string> names(Store& store, Ino dir) {
  std::vector<std::string> out;
  for (const DirEntry& entry : list(store, dir)) out.push_back(entry.name);
  return out;
}

std::string xattr(Store& store, Ino ino, std::string_view name) {
  const auto all = store.xattrs(ino);
  if (!all) return "(" + all.error().text + ")";
  const auto at = std::ranges::find(*all, name, &Xattr::name);
  return at == all->end() ? "(none)" : at->value;
}

}  // namespace ebla::kit
