#include "tests/schema/sqlite/fault_script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "schema/base/limits.h"
#include "schema/path.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"

namespace ebla::sqlite::test {
namespace {

constexpr char kSession[] = "s-aaaaa";
constexpr uint32_t kUid = 1000;
constexpr size_t kSlice = 65'536;

bool absent(const Error& error) {
  return error.code == Code::file_not_found || error.code == Code::unknown_session;
}

// Nothing there is an answer, too.
Result<State> unless_absent(Error error) {
  if (absent(error)) return State{};
  return std::unexpected(std::move(error));
}

std::string content_of(size_t bytes) {
  return kit::random_bytes(bytes, bytes);
}

Result<std::string> read_all(Store& store, Ino ino) {
  std::string text;
  for (;;) {
    const size_t at = text.size();
    text.resize(at + kSlice);
    const auto count = store.read(ino, at, std::span(text).subspan(at));
    if (!count) return std::unexpected(count.error());
    text.resize(at + *count);
    if (*count < kSlice) return text;
  }
}

Result<State> look_at_file(Store& store, std::string_view path) {
  const auto attr = resolve(store, path);
  if (!attr) return unless_absent(attr.error());
  auto text = read_all(store, attr->ino);
  if (!text) return std::unexpected(std::move(text.error()));
  if (text->size() != attr->size) return State("of another size than its attributes say");
  return State(std::move(*text));
}

Result<State> look_at_attribute(Store& store, std::string_view path) {
  const auto attr = resolve(store, path);
  if (!attr) return unless_absent(attr.error());
  const auto all = store.xattrs(attr->ino);
  if (!all) return std::unexpected(all.error());
  const auto at = std::ranges::find(*all, "user.note", &Xattr::name);
  return at == all->end() ? State{} : State(at->value);
}

// Named by call and size, which say what its content is.
Result<State> look_at_put(Store& store, ArtifactKind kind, std::string_view name) {
  const size_t blank = name.find(' ');
  size_t size = 0;
  std::from_chars(name.data() + blank + 1, name.data() + name.size(), size);
  const std::string content = content_of(size);
  const auto session = store.find_session(kUid, kSession);
  if (!session) return unless_absent(session.error());
  const auto known =
      store.find_eviction(session->tree, kind, name.substr(0, blank), xxh3_128(content), size);
  if (!known) return std::unexpected(known.error());
  if (!*known) return State{};
  const auto bytes = look_at_file(store, (*known)->path);
  if (!bytes) return bytes;
  if (!*bytes) return State("removed");
  return State(**bytes == content ? "there" : "there with other bytes");
}

Result<State> look_at_history(Store& store) {
  const auto session = store.find_session(kUid, kSession);
  if (!session) return unless_absent(session.error());
  const auto state = store.history_state(session->serial);
  if (!state) return std::unexpected(state.error());
  const auto passes = store.passes(session->tree, 0);
  if (!passes) return std::unexpected(passes.error());
  auto text = read_all(store, session->history);
  if (!text) return std::unexpected(std::move(text.error()));
  if (text->size() != state->bytes) return State("of another size than its state says");
  if (state->sections == 0) return State{};
  return State(*text + "passes " + std::to_string(passes->size()));
}

Result<State> look_at_session(Store& store, std::string_view id) {
  const auto session = store.find_session(kUid, id);
  if (!session) return unless_absent(session.error());
  return State(session->closed_ns == 0 ? "open" : "closed");
}

std::string shortened(const State& state) {
  if (!state) return "(not there)";
  if (state->size() < 60) return *state;
  return std::to_string(state->size()) + " bytes";
}

}  // namespace

Result<State> look(Store& store, std::string_view thing) {
  const size_t blank = thing.find(' ');
  const std::string_view kind = thing.substr(0, blank);
  const std::string_view name = blank == thing.npos ? "" : thing.substr(blank + 1);
  if (kind == "session") return look_at_session(store, name);
  if (kind == "history") return look_at_history(store);
  if (kind == "fact") return store.fact(name);
  if (kind == "attribute") return look_at_attribute(store, name);
  if (kind == "file") return look_at_file(store, name);
  if (kind == "human") return look_at_put(store, ArtifactKind::human, name);
  if (kind == "media") return look_at_put(store, ArtifactKind::media, name);
  return look_at_put(store, ArtifactKind::tool_result, name);
}

void Ledger::attempted(const std::string& thing, State state) {
  things_[thing].states.push_back(std::move(state));
}

void Ledger::committed(const std::string& thing) {
  Thing& one = things_[thing];
  one.committed = one.states.size() - 1;
}

void Ledger::acknowledged() {
  ++acknowledgements_;
  for (auto& [name, one] : things_) {
    one.states.erase(one.states.begin(),
                     one.states.begin() + static_cast<ptrdiff_t>(std::exchange(one.committed, 0)));
  }
}

void Ledger::check(Store& store, const std::string& what) const {
  for (const auto& [name, one] : things_) {
    const auto found = look(store, name);
    if (!found) {
      ADD_FAILURE() << what << ": " << name << ": " << found.error().text;
    } else if (std::ranges::find(one.states, *found) == one.states.end()) {
      ADD_FAILURE() << what << ": " << name << " is " << shortened(*found) << ", not "
                    << shortened(one.states.front()) << " or one of " << one.states.size() - 1
                    << " later ones";
    }
  }
}

template <class Ended>
bool FaultScript::note(const std::string& thing, const Ended& ended, Durability durability) {
  if (!ended.ok()) return false;
  ledger_.committed(thing);
  if (durability == Durability::durable) ledger_.acknowledged();
  return true;
}

bool FaultScript::open_session(const std::string& id) {
  const std::string thing = "session " + id;
  ledger_.attempted(thing, "open");
  const auto opened = kit::open_session(store_, kit::session_plan(id));
  if (!note(thing, opened)) return false;
  session_ = opened->session;
  return true;
}

void FaultScript::put(const std::string& name, size_t bytes, ArtifactKind kind) {
  std::string content = content_of(bytes);
  auto plan = kit::eviction_plan(session_, name, content);
  plan.kind = kind;
  if (bytes > limits::kInlineContentBytes) {
    plan.content.bytes.clear();
    for (size_t at = 0; at < bytes; at += limits::kStageSliceBytes) {
      const auto staged =
          kit::stage(store_, plan.content.staged, at, content.substr(at, limits::kStageSliceBytes),
                     {.durability = Durability::ordered});
      if (!staged.ok()) return;
      plan.content.staged = *staged;
    }
  }
  const std::string word =
      kind == ArtifactKind::tool_result ? "put" : std::string(artifact_kind_name(kind));
  const std::string thing = word + " " + name + " " + std::to_string(bytes);
  ledger_.attempted(thing, "there");
  const auto ended = kit::commit_eviction(store_, std::move(plan));
  if (!ended.ok()) return;
  ledger_.attempted("file " + ended->path, content);
  note("file " + ended->path, ended);
  // Where its bytes cannot be compared with those of the known decision, it is a decision of its
  // own, with a file of its own.
  if (kind != ArtifactKind::tool_result || ended->path.ends_with("/" + name)) note(thing, ended);
}

void FaultScript::remove_put(const std::string& name, size_t bytes) {
  if (!store_.lookup(session_.folder, name)) return;
  const std::string thing = "put " + name + " " + std::to_string(bytes);
  const std::string path = "file /large_tool_results/" + session_.id + "/" + name;
  ledger_.attempted(thing, "removed");
  ledger_.attempted(path, std::nullopt);
  const auto removed =
      kit::remove(store_, {.parent = session_.folder, .name = name, .uid = 0, .reason = "rm"});
  if (removed.ok()) ledger_.committed(path);
  if (note(thing, removed)) (void)kit::reap(store_, removed.changes.orphaned);
}

void FaultScript::append(uint64_t number, size_t bytes, Durability durability, bool pass) {
  const auto text = read_all(store_, session_.history);
  const auto passes = store_.passes(session_.tree, 0);
  if (!text || !passes) return;
  const std::string section = kit::section_text(number, bytes);
  const size_t count = passes->size() + (pass ? 1 : 0);
  ledger_.attempted("history", *text + section + "passes " + std::to_string(count));
  PassPlan plan;
  plan.session = session_.serial;
  plan.uid = kUid;
  plan.prefix = kit::message_key(1000 + number);
  plan.messages = number;
  plan.message = "summary";
  plan.message_identity = xxh3_128(plan.message);
  plan.section = section;
  plan.section_lines = static_cast<uint64_t>(std::ranges::count(section, '\n'));
  plan.history_bytes = text->size();
  plan.keys = {kit::message_key(number)};
  if (pass) {
    note("history", kit::commit_pass(store_, plan, {.durability = durability}), durability);
    return;
  }
  const HistoryPlan history{.session = plan.session,
                            .section = plan.section,
                            .section_lines = plan.section_lines,
                            .history_bytes = plan.history_bytes,
                            .keys = plan.keys};
  note("history", kit::append_history(store_, history, {.durability = durability}), durability);
}

void FaultScript::set_fact(const std::string& name, State value, Durability durability) {
  ledger_.attempted("fact " + name, value);
  note("fact " + name, kit::set_fact(store_, name, value, {.durability = durability}), durability);
}

// 0: it can be neither found nor made.
Ino FaultScript::file(const std::string& name, Durability durability) {
  if (const auto there = store_.lookup(store_.root(), name)) return there->ino;
  ledger_.attempted("file /" + name, "");
  const auto made =
      kit::create(store_, {.parent = store_.root(), .name = name, .mode = 0600, .uid = kUid},
                  {.durability = durability});
  return note("file /" + name, made, durability) ? made->ino : 0;
}

void FaultScript::write(const std::string& name, size_t bytes, Durability durability) {
  const Ino ino = file(name, Durability::ordered);
  const auto before = read_all(store_, ino);
  if (ino == 0 || !before) return;
  const std::string text = kit::random_bytes(bytes, ++number_);
  if (!kit::write(store_, {.ino = ino, .append = true}, text).ok()) return;
  ledger_.attempted("file /" + name, *before + text);
  // Whatever becomes of the disk, readers see what was taken. A read may fail, not lie.
  const auto seen = read_all(store_, ino);
  EXPECT_TRUE(!seen || *seen == *before + text) << name;
  note("file /" + name, kit::flush(store_, ino, {.durability = durability}), durability);
}

// As a careful program does it: a new file, synced, renamed over the old one.
void FaultScript::replace(const std::string& name, size_t bytes) {
  remove("new");
  write("new", bytes, Durability::durable);
  const auto text = look(store_, "file /new");
  if (!text || !*text) return;
  ledger_.attempted("file /" + name, *text);
  ledger_.attempted("file /new", std::nullopt);
  const auto renamed = kit::rename(
      store_,
      {.parent = store_.root(), .name = "new", .new_parent = store_.root(), .new_name = name});
  if (renamed.ok()) ledger_.committed("file /new");
  if (note("file /" + name, renamed)) (void)kit::reap(store_, renamed.changes.orphaned);
}

void FaultScript::cut(const std::string& name, uint64_t size) {
  const auto there = store_.lookup(store_.root(), name);
  if (!there) return;
  auto text = read_all(store_, there->ino);
  if (!text) return;
  text->resize(size);
  ledger_.attempted("file /" + name, *text);
  note("file /" + name, kit::setattr(store_, {.ino = there->ino, .size = size}));
}

void FaultScript::set_attribute(const std::string& name, const std::string& value) {
  const auto there = store_.lookup(store_.root(), name);
  if (!there) return;
  ledger_.attempted("attribute /" + name, value);
  note("attribute /" + name,
       kit::set_xattr(store_, {.ino = there->ino, .name = "user.note", .value = value}));
}

void FaultScript::link(const std::string& name, const std::string& other) {
  const auto there = store_.lookup(store_.root(), name);
  if (!there) return;
  const auto text = read_all(store_, there->ino);
  if (!text) return;
  ledger_.attempted("file /" + other, *text);
  note("file /" + other,
       kit::link(store_, {.ino = there->ino, .parent = store_.root(), .name = other}));
}

void FaultScript::remove(const std::string& name) {
  const auto there = store_.lookup(store_.root(), name);
  if (!there) return;
  ledger_.attempted("file /" + name, std::nullopt);
  const auto removed = kit::remove(store_, {.parent = store_.root(), .name = name});
  if (note("file /" + name, removed)) (void)kit::reap(store_, removed.changes.orphaned);
}

bool FaultScript::go_on(const std::string& value) {
  ledger_.attempted("fact goes on", value);
  return note("fact goes on", kit::set_fact(store_, "goes on", value));
}

void FaultScript::run() {
  constexpr auto kDurable = Durability::durable;
  constexpr auto kOrdered = Durability::ordered;
  open_session("s-bbbbb");
  if (!open_session(kSession)) return;
  put("call_1", 3'000);
  write("log", 30'000, kDurable);
  append(1, 3'000, kDurable, false);
  put("call_2", 200'000);
  replace("notes", 150'000);
  set_fact("ratio", "0.25", kOrdered);
  put("same", 200'000);  // bytes that are there
  append(2, 60'000, kDurable, true);
  put("call_3", limits::kInlineContentBytes + 5'000);
  write("log", 100, kOrdered);
  cut("notes", 140'000);
  put("words", 2'000, ArtifactKind::human);
  put("picture", 40'000, ArtifactKind::media);
  append(3, limits::kInlineContentBytes + 9'000, kDurable, true);
  remove_put("call_2", 200'000);
  set_attribute("log", "one");
  replace("notes", 160'000);
  write("still", 500, kDurable);
  link("still", "other");
  put("call_2", 200'000);  // filled again
  append(4, 40'000, kOrdered, false);
  set_fact("ratio", std::nullopt, kDurable);
  cut("notes", 200'000);
  remove("still");
  set_attribute("log", std::string(3'000, 'v'));
  ledger_.attempted("session s-bbbbb", "closed");
  if (const auto other = store_.find_session(kUid, "s-bbbbb"))
    note("session s-bbbbb", kit::close_session(store_, other->serial));
  write("log", 5'000, kDurable);
}

}  // namespace ebla::sqlite::test
