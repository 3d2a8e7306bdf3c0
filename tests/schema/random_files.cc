// Operations on clients' files. What they act on is whatever was made before: nodes with and
// without a name, gone ones, and now and then something of the daemon's.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/limits.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/random_compare.h"

namespace ebla {
namespace {

const std::array<std::string, 14> kNames = {
    "a", "b",      "c",      "notes.md", "ünï", "a",  "b",
    "c", "call_1", "call_2", "x\ny",     "",    "..", std::string(256, 'n')};

const std::string& some_name(uint32_t random) {
  // Mostly one that can be given.
  return kNames.at(random % 32 == 0 ? kNames.size() - 1 - random / 32 % 3 : random % 11);
}

uint64_t some_offset(uint32_t random) {
  switch (random % 4) {
    case 0:
      return random / 4 % 5'000;
    case 1:
      return random / 4 % 4 * limits::kChunkBytes + random / 16 % 3 - (random / 64 % 2);
    default:
      return random / 4 % 400'000;
  }
}

}  // namespace

std::string RandomWorld::run_file(const Operation& op) {
  switch (op.kind) {
    case Operation::Kind::create:
      return create(op);
    case Operation::Kind::link:
      return link(op);
    case Operation::Kind::rename:
      return rename(op);
    case Operation::Kind::unlink:
      return unlink(op, false);
    case Operation::Kind::remove_folder:
      return unlink(op, true);
    case Operation::Kind::setattr:
      return setattr(op);
    case Operation::Kind::xattr:
      return xattr(op);
    case Operation::Kind::write:
      return write(op);
    case Operation::Kind::allocate:
      return allocate(op);
    case Operation::Kind::copy:
      return copy(op);
    case Operation::Kind::flush:
      return flush(op);
    case Operation::Kind::replace:
      return replace(op);
    default:
      return "unknown operation";
  }
}

void RandomWorld::note_orphans(const ChangeSet& changes) {
  for (const Ino ino : changes.orphaned) {
    orphans_.push_back({ino, inos_.right_of(ino).value_or(0)});
  }
}

RandomWorld::Both<Ino> RandomWorld::some_node(uint32_t random) const {
  if (random % 16 == 0) return {Ino{1} << 50, Ino{1} << 50};
  if (random % 16 == 1 && !sessions_.empty()) {
    const auto& session = sessions_[random / 16 % sessions_.size()];
    if (random % 32 == 1) return {session[kLeft].history, session[kRight].history};
    return {session[kLeft].folder, session[kRight].folder};
  }
  if (nodes_.empty()) return {1, 1};
  // Newer ones more often.
  const size_t back =
      random / 16 % (random % 2 == 0 ? std::min<size_t>(8, nodes_.size()) : nodes_.size());
  return nodes_[nodes_.size() - 1 - back];
}

RandomWorld::Both<Ino> RandomWorld::some_folder(uint32_t random) const {
  const auto top = [&](std::string_view name) {
    return Both<Ino>{stores_[kLeft]->lookup(stores_[kLeft]->root(), name)->ino,
                     stores_[kRight]->lookup(stores_[kRight]->root(), name)->ino};
  };
  switch (random % 12) {
    case 0:
      return some_node(random / 12);
    case 1:
      return top(random % 24 == 1 ? "large_tool_results" : "conversation_history");
    case 2:
      if (!sessions_.empty()) {
        const auto& session = sessions_[random / 12 % sessions_.size()];
        return {session[kLeft].folder, session[kRight].folder};
      }
      break;
    case 3:
    case 4:
    case 5:
      break;
    default:
      if (!folders_.empty()) return folders_[random / 12 % folders_.size()];
  }
  return {stores_[kLeft]->root(), stores_[kRight]->root()};
}

std::string RandomWorld::create(const Operation& op) {
  static constexpr std::array kKinds = {
      NodeKind::file,      NodeKind::file,    NodeKind::file, NodeKind::directory,
      NodeKind::directory, NodeKind::symlink, NodeKind::fifo, NodeKind::char_device};
  const Both<Ino> folder = some_folder(op.random[0]);
  const NodeKind kind = kKinds.at(op.random[1] % kKinds.size());
  const auto ended = on_both([&](Side side) {
    CreatePlan plan;
    plan.parent = folder[side];
    plan.name = some_name(op.random[2]);
    plan.kind = kind;
    plan.mode = op.random[3] % 010000;
    plan.uid = 1000 + op.random[4] % 2;
    plan.gid = 100 + op.random[4] / 2 % 2;
    if (kind == NodeKind::char_device) plan.rdev = op.random[5];
    if ((kind == NodeKind::symlink) != (op.random[5] % 32 == 0)) plan.target = "to/" + plan.name;
    return kit::create(store(side), std::move(plan), options_of(op));
  });
  if (auto difference = compare("create", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  const Both<Ino> made = {ended[kLeft]->ino, ended[kRight]->ino};
  nodes_.push_back(made);
  if (kind == NodeKind::directory) folders_.push_back(made);
  return "";
}

std::string RandomWorld::link(const Operation& op) {
  const Both<Ino> node = some_node(op.random[0]);
  const Both<Ino> folder = some_folder(op.random[1]);
  return compare("link", on_both([&](Side side) {
                   return kit::link(
                       store(side),
                       {.ino = node[side], .parent = folder[side], .name = some_name(op.random[2])},
                       options_of(op));
                 }));
}

std::string RandomWorld::rename(const Operation& op) {
  using Mode = RenamePlan::Mode;
  static constexpr std::array kModes = {Mode::replace, Mode::replace, Mode::replace, Mode::keep,
                                        Mode::exchange};
  const Both<Ino> from = some_folder(op.random[0]);
  const Both<Ino> to = op.random[1] % 3 == 0 ? from : some_folder(op.random[2]);
  const auto ended = on_both([&](Side side) {
    RenamePlan plan;
    plan.parent = from[side];
    plan.name = some_name(op.random[3]);
    if (op.random[3] % 16 == 0) plan.name = "large_tool_results";
    plan.new_parent = to[side];
    plan.new_name = some_name(op.random[4]);
    plan.mode = kModes.at(op.random[5] % kModes.size());
    auto renamed = kit::rename(store(side), std::move(plan), options_of(op));
    // Two names of one node: at most it tells of raw_bytes, as a flush.
    if (renamed.changes.dentries.empty()) renamed.changes = {};
    return renamed;
  });
  if (ended[kLeft].ok()) note_orphans(ended[kLeft].changes);
  return compare("rename", ended);
}

std::string RandomWorld::unlink(const Operation& op, bool folder) {
  const Both<Ino> parent = some_folder(op.random[0]);
  const auto ended = on_both([&](Side side) {
    RemovePlan plan{
        .parent = parent[side], .name = some_name(op.random[1]), .uid = 1000, .reason = "rm"};
    if (folder && op.random[1] % 8 == 0) plan.name = "conversation_history";
    return folder ? kit::remove_folder(store(side), std::move(plan), options_of(op))
                  : kit::remove(store(side), std::move(plan), options_of(op));
  });
  if (auto difference = compare("unlink", ended); !difference.empty()) return difference;
  if (ended[kLeft].ok()) note_orphans(ended[kLeft].changes);
  return "";
}

std::string RandomWorld::setattr(const Operation& op) {
  const Both<Ino> node = some_node(op.random[0]);
  const auto ended = on_both([&](Side side) {
    SetAttrPlan plan{.ino = node[side]};
    const uint32_t what = op.random[1];
    if ((what & 1) != 0) plan.size = some_offset(op.random[2]);
    if (what % 64 == 5) plan.size = limits::kFileBytes + 1;
    if ((what & 2) != 0) plan.mode = op.random[3] % 020000;
    if ((what & 12) == 4) plan.uid = 1000 + op.random[4] % 3;
    if ((what & 12) == 8) plan.gid = 100 + op.random[4] % 3;
    if ((what & 48) == 16) plan.mtime = {.ns = static_cast<int64_t>(op.random[5]) - 1'000'000};
    if ((what & 48) == 32) plan.mtime = TimeValue{};
    if ((what & 64) != 0) plan.atime = {.ns = static_cast<int64_t>(op.random[5]) * 1'000'003};
    plan.drop_privileges = (what & 128) != 0;
    return kit::setattr(store(side), plan, options_of(op));
  });
  touched(node);
  return compare("setattr", ended);
}

std::string RandomWorld::xattr(const Operation& op) {
  static const std::array<std::string, 6> kAttributes = {
      "user.a", "user.b", "user.comment", "user.ebla.kind", "trusted.x", "user."};
  const Both<Ino> node = some_node(op.random[0]);
  const std::string& name =
      kAttributes.at(op.random[1] % 12 < 6 ? op.random[1] % 3 : op.random[1] % 6);
  if (op.random[2] % 3 == 0) {
    return compare("remove_xattr", on_both([&](Side side) {
                     return kit::remove_xattr(store(side), node[side], name, options_of(op));
                   }));
  }
  return compare("set_xattr", on_both([&](Side side) {
                   XattrPlan plan;
                   plan.ino = node[side];
                   plan.name = name;
                   plan.value = kit::random_bytes(op.random[3] % 300, op.random[3]);
                   if (op.random[3] % 64 == 0) plan.value.resize(limits::kXattrBytes + 1);
                   plan.mode = static_cast<XattrPlan::Mode>(op.random[4] % 3);
                   return kit::set_xattr(store(side), std::move(plan), options_of(op));
                 }));
}

std::string RandomWorld::write(const Operation& op) {
  const Both<Ino> node = some_node(op.random[0]);
  const size_t size = op.random[1] % 8 == 0 ? op.random[2] % 300'000 : op.random[2] % 6'000;
  const std::string bytes =
      op.random[1] % 4 == 0 ? std::string(size, 'q') : kit::random_bytes(size, op.random[3] % 16);
  const auto ended = on_both([&](Side side) {
    WritePlan plan{.ino = node[side]};
    plan.offset = some_offset(op.random[4]);
    if (op.random[4] % 64 == 7) plan.offset = limits::kFileBytes - 10;
    if (op.random[4] % 64 == 7 && size <= 10) plan.offset = limits::kFileBytes + 1;
    plan.append = op.random[5] % 3 == 0;
    plan.drop_privileges = op.random[5] % 4 == 0;
    return kit::write(store(side), plan, bytes, options_of(op));
  });
  touched(node);
  return compare("write", ended);
}

std::string RandomWorld::allocate(const Operation& op) {
  const Both<Ino> node = some_node(op.random[0]);
  const auto ended = on_both([&](Side side) {
    return kit::allocate(store(side),
                         {.ino = node[side],
                          .offset = some_offset(op.random[1]),
                          .length = op.random[2] % 16 == 0 ? 0 : some_offset(op.random[2]) + 1,
                          .mode = static_cast<AllocatePlan::Mode>(op.random[3] % 5)},
                         options_of(op));
  });
  touched(node);
  return compare("allocate", ended);
}

std::string RandomWorld::copy(const Operation& op) {
  Both<Ino> from = some_node(op.random[0]);
  if (!names_.empty() && op.random[0] % 4 == 1) {
    // A put-away file.
    const Name& name = names_[op.random[1] % names_.size()];
    from = on_both([&](Side side) {
      const auto attr = store(side).lookup(name.folder[side], name.name);
      return attr ? attr->ino : Ino{0};
    });
  }
  const Both<Ino> to = op.random[1] % 4 == 0 ? from : some_node(op.random[2]);
  const auto ended = on_both([&](Side side) {
    auto copied = kit::copy_range(store(side),
                                  {.from = from[side],
                                   .from_offset = some_offset(op.random[3]),
                                   .to = to[side],
                                   .to_offset = some_offset(op.random[4]),
                                   .length = some_offset(op.random[5])},
                                  options_of(op));
    kit::Ended<WriteOutcome> told{.result = {}, .changes = std::move(copied.changes)};
    if (copied.ok()) {
      told.result = WriteOutcome{.offset = 0, .count = *copied};
    } else {
      told.result = std::unexpected(copied.result.error());
    }
    return told;
  });
  touched(to);
  return compare("copy_range", ended);
}

// Mostly what has the name is expected, now and then with its counter.
std::string RandomWorld::replace(const Operation& op) {
  const Both<Ino> folder = some_folder(op.random[0]);
  const std::string bytes = kit::random_bytes(op.random[1] % 200'000, op.random[2] % 16);
  const auto ended = on_both([&](Side side) {
    ReplacePlan plan;
    plan.parent = folder[side];
    plan.name = some_name(op.random[3]);
    const auto there = store(side).lookup(plan.parent, plan.name);
    if (there && op.random[4] % 8 != 0) plan.expected = there->ino;
    if (there && op.random[4] % 4 == 1) plan.change = there->change;
    if (op.random[4] % 16 == 2) plan.change = 1'000'000;
    plan.content.bytes = bytes;
    plan.mode = op.random[5] % 010000;
    plan.uid = 1000 + op.random[6] % 2;
    plan.gid = 100 + op.random[6] / 2 % 2;
    plan.drop_privileges = op.random[6] % 4 == 0;
    return kit::replace(store(side), std::move(plan), options_of(op));
  });
  if (auto difference = compare("replace", ended); !difference.empty()) return difference;
  if (!ended[kLeft].ok()) return "";
  note_orphans(ended[kLeft].changes);
  nodes_.push_back({ended[kLeft]->ino, ended[kRight]->ino});
  return "";
}

std::string RandomWorld::flush(const Operation& op) {
  const Both<Ino> node = some_node(op.random[0]);
  return compare("flush", on_both([&](Side side) {
                   auto ended = kit::flush(store(side), node[side], options_of(op));
                   ended.changes = {};  // tells of raw_bytes, which is each engine's own business
                   return ended;
                 }));
}

}  // namespace ebla
