// The operations. How values are described and compared: random_compare.cc.
#include "tests/schema/random_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "schema/base/limits.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/random_compare.h"

namespace ebla {
namespace {

template <class C>
const auto& pick(const C& choices, uint32_t random) {
  return choices[random % choices.size()];
}

const std::array<std::string, 6> kKeys = {"", "", "build", "test", std::string("k\0y", 3), "键"};
const std::array<std::string, 9> kIds = {"default", "s-aaaaa", "s-bbbbb", "t-aaaaa", "t-bbbbb",
                                         "u-aaaaa", "u-bbbbb", "call_1",  "media"};
const std::array<std::string, 7> kCallIds = {
    "", "call_1", "call_1", "call_2", "a/b", "a_b", std::string("x\0y", 3)};
const std::array<std::string, 12> kStems = {
    "call_1",  "call_1",  "call_2", "a_b", "call_1.2", "s-aaaaa",
    "t-aaaaa", "message", "x\ny",   "..",  "a/b",      std::string(255, 'n')};

const std::array<ArtifactKind, 8> kKinds = {ArtifactKind::tool_result, ArtifactKind::tool_result,
                                            ArtifactKind::tool_result, ArtifactKind::human,
                                            ArtifactKind::human,       ArtifactKind::argument,
                                            ArtifactKind::old_result,  ArtifactKind::media};

std::string text_of(uint32_t random) {
  switch (random % 16) {
    case 0:
      return "";
    case 1:
      return kit::random_bytes(limits::kChunkBytes + random / 16 % 3 - 1, 1);
    case 2:
      return kit::with_nul(3000);
    case 3:
      return kit::invalid_utf8(700 + random / 16 % 2);
    case 4:
      return kit::chinese(400);
    default:
      return kit::numbered_rows(random / 16 % 8 + 1);
  }
}

}  // namespace

ChangeOptions options_of(const Operation& op) {
  return {.durability = op.random[7] % 16 == 0 ? Durability::durable : Durability::ordered,
          .origin = op.random[6] % 3};
}

std::string describe(const Operation& operation) {
  static constexpr std::array<std::string_view, 29> kNames = {
      "open_session",   "put_away",    "put_again",     "put_staged",    "stage",    "discard",
      "remove",         "reap",        "find",          "tick",          "sync",     "reopen",
      "append_history", "commit_pass", "close_session", "find_items",    "set_fact", "create",
      "link",           "rename",      "unlink",        "remove_folder", "setattr",  "xattr",
      "write",          "allocate",    "copy",          "flush",         "replace"};
  std::string text = fmt::format("{} {{", kNames.at(static_cast<size_t>(operation.kind)));
  for (const uint32_t number : operation.random) text += fmt::format("{}, ", number);
  return text + "}";
}

RandomWorld::RandomWorld(const Opener& left, Opener right) : open_right_(std::move(right)) {
  stores_ = {left(clock_), open_right_(clock_)};
  inos_.match(store(kLeft).root(), store(kRight).root());
}

std::string RandomWorld::run(const Operation& op) {
  switch (op.kind) {
    case Operation::Kind::open_session:
      return open_session(op);
    case Operation::Kind::put_away:
      return put_away(op, false);
    case Operation::Kind::put_again:
      return put_away(op, true);
    case Operation::Kind::put_staged:
      return put_staged(op);
    case Operation::Kind::stage:
      return stage(op);
    case Operation::Kind::discard:
      return discard(op);
    case Operation::Kind::remove:
      return remove(op);
    case Operation::Kind::reap:
      return reap(op);
    case Operation::Kind::find:
      return find(op);
    case Operation::Kind::tick:
      clock_.advance_ns(op.random[0]);
      return "";
    case Operation::Kind::sync:
      return compare("sync", on_both([&](Side side) { return kit::sync(store(side)); }));
    case Operation::Kind::reopen:
      return reopen();
    case Operation::Kind::append_history:
      return grow_history(op, false);
    case Operation::Kind::commit_pass:
      return grow_history(op, true);
    case Operation::Kind::close_session:
      return close_session(op);
    case Operation::Kind::find_items:
      return find_items(op);
    case Operation::Kind::set_fact:
      return set_fact(op);
    default:
      return run_file(op);
  }
}

RandomWorld::Both<SessionId> RandomWorld::some_session(uint32_t random) const {
  // Now and then one that never was.
  const size_t index = random % (sessions_.size() * 8 + 1);
  if (index == sessions_.size() * 8) return {SessionId{1} << 50, SessionId{1} << 50};
  const auto& session = sessions_[index % sessions_.size()];
  return {session[kLeft].serial, session[kRight].serial};
}

std::string RandomWorld::open_session(const Operation& op) {
  const Both<SessionId> parent =
      op.random[0] % 3 == 0 ? some_session(op.random[1]) : Both<SessionId>{0, 0};
  const auto ended = on_both([&](Side side) {
    SessionPlan plan;
    plan.uid = 1000 + op.random[2] % 2;
    plan.gid = 100;
    plan.key = pick(kKeys, op.random[3]);
    plan.id_candidates = {pick(kIds, op.random[4]), pick(kIds, op.random[4] / 16)};
    plan.parent = parent[side];
    if (op.random[5] % 4 == 0) plan.label = kit::random_bytes(op.random[5] % 40, op.random[5]);
    if (op.random[5] % 4 == 1) plan.project = op.random[5] % 8 == 1 ? "/p" : "/q";
    if (op.random[5] % 4 == 2) plan.model = "model";
    if (op.random[6] % 3 == 0) plan.window = op.random[6];
    if (op.random[6] % 4 == 1) plan.settings = {{"keep", "0.2"}, {"trigger", "null"}};
    if (op.random[6] % 4 == 2) plan.settings = {{"keep", "null"}, {"trigger", "\"x\""}};
    if (op.random[7] % 3 == 0) plan.capabilities = R"({"shell":true})";
    if (op.random[7] % 5 == 0) plan.mount_prefix = "/mnt";
    return kit::open_session(store(side), std::move(plan), options_of(op));
  });
  if (auto difference = compare("open_session", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  const Both<Session> opened = {ended[kLeft]->session, ended[kRight]->session};
  for (auto& known : sessions_) {
    if (known[kLeft].serial != opened[kLeft].serial) continue;
    known = opened;
    return "";
  }
  sessions_.push_back(opened);
  return "";
}

EvictionPlan RandomWorld::base_plan(const Operation& op, Side side) const {
  EvictionPlan plan;
  plan.session = some_session(op.random[0])[side];
  plan.kind = pick(kKinds, op.random[1]);
  if (plan.kind == ArtifactKind::human) plan.extension = ".md";
  if (plan.kind == ArtifactKind::media) plan.extension = op.random[1] % 3 == 0 ? ".jpg" : ".png";
  plan.call_id = pick(kCallIds, op.random[2]);
  plan.stem = pick(kStems, op.random[3]);
  plan.tool = op.random[3] % 5 == 0 ? "" : "bash";
  plan.uid = 1000 + op.random[4] % 2;
  plan.gid = 100;
  plan.characters = op.random[4];
  plan.lines = op.random[4] % 1000;
  plan.tokens = op.random[4] % 5000;
  plan.tokens_after = op.random[4] % 50;
  plan.replacement_parts = {"kept in ", fmt::format(" ({})", op.random[4] % 7)};
  if (op.random[4] % 4 == 0) plan.replacement_parts.push_back(" twice");
  if (op.random[6] % 3 == 0) {
    plan.path_prefix = op.random[6] % 2 == 0 ? "/mnt" : "/home/u/.ebla";
    plan.path_subtree = "/";
  }
  return plan;
}

std::string RandomWorld::put_away(const Operation& op, bool again) {
  if (again && !plans_.empty()) {
    Both<EvictionPlan> plans = plans_[op.random[0] % plans_.size()];
    for (EvictionPlan& plan : plans) plan.replacement_parts = {"another text"};
    return commit(op, plans);
  }
  Both<EvictionPlan> plans = {base_plan(op, kLeft), base_plan(op, kRight)};
  for (EvictionPlan& plan : plans) {
    plan.content.bytes = text_of(op.random[5]);
    plan.content.size = plan.content.bytes.size();
    plan.content.hash = xxh3_128(plan.content.bytes);
    // Forged: many texts of one hash, and now and then a wrong size.
    if (op.random[7] % 8 == 0) plan.content.hash = {.high = 1, .low = 2};
    if (op.random[7] % 32 == 1) ++plan.content.size;
  }
  return commit(op, plans);
}

std::string RandomWorld::put_staged(const Operation& op) {
  Both<EvictionPlan> plans = {base_plan(op, kLeft), base_plan(op, kRight)};
  if (staged_.empty()) return "";
  const size_t index = op.random[5] % staged_.size();
  for (const Side side : {kLeft, kRight}) {
    ContentRef& content = plans[side].content;
    content.staged = staged_[index].id[side];
    content.size = staged_[index].bytes.size();
    content.hash = xxh3_128(staged_[index].bytes);
    if (op.random[7] % 8 == 0) content.hash = {.high = 1, .low = 2};
    if (op.random[7] % 16 == 1) --content.size;
  }
  return commit(op, plans);
}

std::string RandomWorld::commit(const Operation& op, const Both<EvictionPlan>& plans) {
  const auto ended = on_both(
      [&](Side side) { return kit::commit_eviction(store(side), plans[side], options_of(op)); });
  if (auto difference = compare("commit_eviction", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  // What was staged is used up, also where the decision was known.
  Both<EvictionPlan> kept = plans;
  for (const Side side : {kLeft, kRight}) {
    kept[side].content.bytes = kit::read_file(store(side), ended[side]->ino);
    kept[side].content.staged = 0;
  }
  if (kept[kLeft].content.size <= limits::kInlineContentBytes) plans_.push_back(std::move(kept));
  replacements_.push_back(xxh3_128(ended[kLeft]->replacement));
  for (const auto& dentry : ended[kLeft].changes.dentries) {
    const auto right = inos_.right_of(dentry.parent);
    names_.push_back({.folder = {dentry.parent, right.value_or(0)}, .name = dentry.name});
  }
  return "";
}

std::string RandomWorld::stage(const Operation& op) {
  // A new content, the next slice of one, or a slice at a wrong place.
  Both<ContentId> id = {0, 0};
  uint64_t offset = 0;
  size_t index = staged_.size();
  if (!staged_.empty() && op.random[0] % 3 != 0) {
    index = op.random[1] % staged_.size();
    id = staged_[index].id;
    offset = staged_[index].bytes.size();
  }
  if (op.random[2] % 8 == 0) offset += op.random[3] % 3;
  std::string bytes = op.random[4] % 4 == 0
                          ? kit::random_bytes(limits::kStageSliceBytes, op.random[5] % 2)
                          : text_of(op.random[5]);
  if (op.random[4] % 64 == 1) bytes.resize(limits::kStageSliceBytes + 1);
  const auto ended = on_both(
      [&](Side side) { return kit::stage(store(side), id[side], offset, bytes, options_of(op)); });
  if (auto difference = compare("stage", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  if (index == staged_.size()) {
    staged_.push_back({.id = {*ended[kLeft], *ended[kRight]}, .bytes = std::move(bytes)});
  } else {
    staged_[index].bytes += bytes;
  }
  return "";
}

std::string RandomWorld::discard(const Operation& op) {
  Both<ContentId> id = {ContentId{1} << 50, ContentId{1} << 50};
  if (!staged_.empty() && op.random[0] % 8 != 0) id = staged_[op.random[1] % staged_.size()].id;
  return compare("discard", on_both([&](Side side) {
                   return kit::discard(store(side), id[side], options_of(op));
                 }));
}

std::string RandomWorld::remove(const Operation& op) {
  Name target{.folder = {store(kLeft).root(), store(kRight).root()}, .name = "large_tool_results"};
  if (!names_.empty() && op.random[0] % 16 != 0) {
    target = names_[op.random[1] % names_.size()];
  } else if (!sessions_.empty() && op.random[0] % 32 == 0) {
    const auto& session = sessions_[op.random[1] % sessions_.size()];
    target = {.folder = {session[kLeft].history, session[kRight].history}, .name = "x"};
  }
  const auto ended = on_both([&](Side side) {
    return kit::remove(store(side),
                       {.parent = target.folder[side],
                        .name = target.name,
                        .uid = op.random[2] % 5,
                        .reason = op.random[3] % 2 == 0 ? "rm" : "purge"},
                       options_of(op));
  });
  if (auto difference = compare("remove", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  note_orphans(ended[kLeft].changes);
  return "";
}

std::string RandomWorld::reap(const Operation& op) {
  Both<std::vector<Ino>> inos;
  const size_t count = op.random[0] % 4;
  for (size_t i = 0; i < count; ++i) {
    Both<Ino> ino = {Ino{1} << 50, Ino{1} << 50};
    if (!orphans_.empty()) ino = orphans_[(op.random[1] + i * 7) % orphans_.size()];
    if (!sessions_.empty() && op.random[2] % 8 == 0) {
      const auto& session = sessions_[op.random[3] % sessions_.size()];
      ino = {session[kLeft].history, session[kRight].history};
    }
    for (const Side side : {kLeft, kRight}) inos[side].push_back(ino[side]);
  }
  return compare("reap", on_both([&](Side side) {
                   return kit::reap(store(side), inos[side], options_of(op));
                 }));
}

std::string RandomWorld::find(const Operation& op) {
  if (!replacements_.empty() && !sessions_.empty()) {
    const auto& session = sessions_[op.random[4] % sessions_.size()];
    const Hash128 hash = replacements_[op.random[5] % replacements_.size()];
    auto difference = compare("is_replacement", on_both([&](Side side) {
                                return store(side).is_replacement(session[side].tree, hash);
                              }));
    if (!difference.empty()) return difference;
  }
  if (plans_.empty()) return "";
  const Both<EvictionPlan>& plans = plans_[op.random[0] % plans_.size()];
  const auto tree = on_both([&](Side side) {
    const auto session = store(side).session(plans[side].session);
    return session ? session->tree : 0;
  });
  return compare("find_eviction", on_both([&](Side side) {
                   const EvictionPlan& plan = plans[side];
                   const std::string& id =
                       op.random[1] % 4 == 0 ? pick(kCallIds, op.random[2]) : plan.call_id;
                   return store(side).find_eviction(tree[side], plan.kind, id, plan.content.hash,
                                                    plan.content.size);
                 }));
}

// What a start reclaims, the other store is told to forget.
std::string RandomWorld::reopen() {
  stores_[kRight].reset();
  stores_[kRight] = open_right_(clock_);
  if (stores_[kRight] == nullptr) return "the store cannot be opened again";
  std::vector<Ino> orphans;
  for (const auto& orphan : orphans_) orphans.push_back(orphan[kLeft]);
  kit::reap(store(kLeft), std::move(orphans));
  for (const Staged& staged : staged_) kit::discard(store(kLeft), staged.id[kLeft]);
  staged_.clear();
  revisions_[kRight] = 0;
  return compare_all(true);
}

}  // namespace ebla
