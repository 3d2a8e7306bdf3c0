// Contents and put-away decisions of the model store.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/path.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {
namespace {

bool is_name(std::string_view name) {
  return name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

}  // namespace

std::string join_replacement(const std::vector<std::string>& parts, std::string_view name) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += name;
    text += parts[i];
  }
  return text;
}

Result<ContentId> ModelState::stage(ContentId content, uint64_t offset, std::string_view bytes) {
  if (bytes.size() > limits::kStageSliceBytes) {
    return fail(Code::too_large, fmt::format("a slice has at most {} bytes, this one {}",
                                             limits::kStageSliceBytes, bytes.size()));
  }
  uint64_t have = 0;
  if (content != 0) {
    const auto at = contents_.find(content);
    if (at == contents_.end() || at->second.references > 0) {
      return fail(Code::file_not_found, fmt::format("content {} is not staged", content));
    }
    have = at->second.bytes.size();
  }
  if (offset != have || have % limits::kStageSliceBytes != 0) {
    return fail(Code::out_of_range,
                fmt::format("slices come in order, each but the last of {} bytes: {} bytes are "
                            "here, offset {} was given",
                            limits::kStageSliceBytes, have, offset));
  }
  if (offset + bytes.size() > limits::kFileBytes) {
    return fail(Code::too_large, fmt::format("a file has at most {} bytes", limits::kFileBytes));
  }
  const ContentId id = content != 0 ? content : next_id_++;
  contents_[id].bytes += bytes;
  return id;
}

void ModelState::discard(ContentId content) {
  const auto at = contents_.find(content);
  if (at != contents_.end() && at->second.references == 0) contents_.erase(at);
}

Result<void> ModelState::check_content(const ContentRef& content) const {
  uint64_t size = content.bytes.size();
  if (content.staged != 0) {
    const auto at = contents_.find(content.staged);
    if (at == contents_.end() || at->second.references > 0) {
      return fail(Code::file_not_found,
                  fmt::format("content {} is not staged: send it again", content.staged));
    }
    size = at->second.bytes.size();
  } else if (size > limits::kInlineContentBytes) {
    return fail(Code::too_large, fmt::format("contents over {} bytes must be staged in slices",
                                             limits::kInlineContentBytes));
  }
  if (size != content.size) {
    return fail(Code::invalid_params,
                fmt::format("the content has {} bytes, the plan says {}", size, content.size));
  }
  return {};
}

std::string_view ModelState::bytes_of(const ContentRef& content) const {
  return content.staged != 0 ? contents_.at(content.staged).bytes : content.bytes;
}

// Equal bytes are held once; a staged content that turns out to be known is dropped.
ContentId ModelState::adopt_content(const ContentRef& content) {
  for (auto& [id, held] : contents_) {
    if (held.references > 0 && held.hash == content.hash && held.bytes == bytes_of(content)) {
      ++held.references;
      discard(content.staged);
      return id;
    }
  }
  const ContentId id = content.staged != 0 ? content.staged : next_id_++;
  ModelContent& held = contents_[id];
  if (content.staged == 0) held.bytes = content.bytes;
  held.hash = content.hash;
  held.references = 1;
  return id;
}

std::optional<EvictionOutcome> ModelState::find_eviction(SessionId tree, ArtifactKind kind,
                                                         std::string_view call_id, Hash128 hash,
                                                         uint64_t size) const {
  for (const ModelDecision& d : decisions_) {
    if (d.tree == tree && d.kind == kind && d.call_id == call_id && d.hash == hash &&
        d.size == size) {
      return outcome_of(d, true);
    }
  }
  return std::nullopt;
}

bool ModelState::is_replacement(SessionId tree, Hash128 hash) const {
  return replacements_.contains({tree, hash});
}

std::vector<PathAlias> ModelState::path_aliases() const {
  std::vector<PathAlias> out;
  for (const auto& [prefix, subtree] : aliases_) {
    out.push_back({.prefix = prefix, .subtree = subtree});
  }
  return out;
}

EvictionOutcome ModelState::outcome_of(const ModelDecision& decision, bool known) const {
  return {.ino = decision.ino,
          .path = path_in(decision.folder, decision.name),
          .replacement = decision.replacement,
          .size = decision.size,
          .lines = decision.lines,
          .tokens = decision.tokens,
          .known = known,
          .same_as = "",
          .id = decision.id};
}

// Where the bytes are still held they must be equal; where they are gone, hash and size decide.
ModelDecision* ModelState::known_decision(SessionId tree, const EvictionPlan& plan) {
  ModelDecision* forgotten = nullptr;
  for (ModelDecision& d : decisions_) {
    if (d.tree != tree || d.kind != plan.kind || d.call_id != plan.call_id ||
        d.hash != plan.content.hash || d.size != plan.content.size) {
      continue;
    }
    const auto held = contents_.find(d.content);
    if (held == contents_.end()) {
      if (forgotten == nullptr) forgotten = &d;
    } else if (held->second.bytes == bytes_of(plan.content)) {
      return &d;
    }
  }
  return forgotten;
}

std::string ModelState::same_bytes_path(SessionId tree, const ContentRef& content) const {
  for (const ModelDecision& d : decisions_) {
    if (d.tree == tree && d.ino != 0 && d.hash == content.hash &&
        contents_.at(d.content).bytes == bytes_of(content)) {
      return path_in(d.folder, d.name);
    }
  }
  return "";
}

Result<std::string> ModelState::free_name(Ino dir, const EvictionPlan& plan) const {
  std::string name = plan.stem + plan.extension;
  for (uint64_t n = 2; dir != 0 && !name_is_free(dir, name); ++n) {
    name = fmt::format("{}.{}{}", plan.stem, n, plan.extension);
  }
  if (name.size() > limits::kNameBytes) {
    return fail(Code::name_too_long, fmt::format("a name has at most {} bytes, this one {}",
                                                 limits::kNameBytes, name.size()));
  }
  return name;
}

// 0: the folder for messages of that session is yet to be made.
Result<Ino> ModelState::folder_for(const Session& session, ArtifactKind kind) const {
  if (kind != ArtifactKind::human) return session.folder;
  const auto made = human_folders_.find(session.serial);
  if (made != human_folders_.end()) return made->second;
  if (has_name(histories_, session.id)) {
    return fail(Code::conflict,
                fmt::format("the folder for messages of session {} cannot be made: its name is "
                            "taken",
                            session.id));
  }
  return 0;
}

Ino ModelState::human_folder(const Session& session, const EvictionPlan& plan, ChangeSet& changes) {
  Ino& folder = human_folders_[session.serial];
  if (folder == 0) {
    folder = make_node(histories_, session.id,
                       {.kind = NodeKind::directory,
                        .mode = 0700,
                        .uid = plan.uid,
                        .gid = plan.gid,
                        .flags = kNodeFixed},
                       changes);
    nodes_.at(folder).xattrs = {{"user.ebla.session", session.id}};
    nodes_.at(folder).session = session.serial;
  }
  return folder;
}

// Makes the file that a decision names.
void ModelState::fill(ModelDecision& decision, const EvictionPlan& plan, ChangeSet& changes) {
  decision.content = adopt_content(plan.content);
  uint32_t flags = kNodeProtected | kNodeImmutable;
  const bool media = decision.kind == ArtifactKind::media;
  if (!media && decision.kind != ArtifactKind::human) flags |= kNodeRemovable;
  const Attr& owner = nodes_.at(decision.folder).attr;
  decision.ino = make_node(decision.folder, decision.name,
                           {.mode = 0400,
                            .uid = media ? owner.uid : plan.uid,
                            .gid = media ? owner.gid : plan.gid,
                            .size = decision.size,
                            .raw_bytes = decision.size,
                            .flags = flags},
                           changes);
  ModelNode& node = nodes_.at(decision.ino);
  node.content = decision.content;
  node.session = decision.session;
  node.xattrs = {{"user.ebla.created", utc_text(decision.created_ns)},
                 {"user.ebla.kind", std::string(artifact_kind_name(decision.kind))}};
  // Media belong to no session.
  if (!media) node.xattrs.push_back({"user.ebla.session", sessions_.at(decision.session).id});
  node.xattrs.push_back({"user.ebla.tokens", std::to_string(decision.tokens)});
  if (!media && !decision.tool.empty()) node.xattrs.push_back({"user.ebla.tool", decision.tool});
  if (!media && !decision.call_id.empty()) {
    node.xattrs.push_back({"user.ebla.tool_call_id", decision.call_id});
  }
  node.xattrs.push_back({"user.ebla.xxh3", decision.hash.hex()});
}

Result<EvictionOutcome> ModelState::commit_eviction(const EvictionPlan& plan, ChangeSet& changes) {
  const auto at = sessions_.find(plan.session);
  if (at == sessions_.end()) {
    return fail(Code::unknown_session, "the session does not exist: open it first");
  }
  const Session& session = at->second;
  if (const auto good = check_content(plan.content); !good) return std::unexpected(good.error());
  // The store names media itself.
  const std::string stem = plan.kind == ArtifactKind::media ? "0" : plan.stem;
  if (stem.empty() || !is_name(stem + plan.extension)) {
    return fail(Code::invalid_path,
                "a file name is not empty, \".\" or \"..\" and holds neither "
                "'/' nor NUL");
  }
  changes.tree = session.tree;
  changes.session = session.serial;
  if (ModelDecision* known = known_decision(session.tree, plan); known != nullptr) {
    if (known->ino == 0) {
      fill(*known, plan, changes);
    } else {
      discard(plan.content.staged);
    }
    return outcome_of(*known, true);
  }

  if (plan.kind == ArtifactKind::media) return decide_media(session, plan, changes);
  const auto folder_then = folder_for(session, plan.kind);
  if (!folder_then) return std::unexpected(folder_then.error());
  const auto name = free_name(*folder_then, plan);
  if (!name) return std::unexpected(name.error());
  return decide(session, plan, *name, changes);
}

EvictionOutcome ModelState::decide(const Session& session, const EvictionPlan& plan,
                                   const std::string& name, ChangeSet& changes) {
  ModelDecision decision;
  decision.session = session.serial;
  decision.folder =
      plan.kind == ArtifactKind::human ? human_folder(session, plan, changes) : session.folder;
  decision.name = name;
  return keep_decision(std::move(decision), plan, changes);
}

const ModelNode* ModelState::media_file(const ContentRef& content) const {
  for (const ModelDecision& d : decisions_) {
    if (d.kind == ArtifactKind::media && d.hash == content.hash &&
        contents_.at(d.content).bytes == bytes_of(content)) {
      return &nodes_.at(d.ino);
    }
  }
  return nullptr;
}

Result<EvictionOutcome> ModelState::decide_media(const Session& session, const EvictionPlan& plan,
                                                 ChangeSet& changes) {
  ModelDecision decision;
  decision.session = session.serial;
  if (const ModelNode* file = media_file(plan.content); file != nullptr) {
    decision.folder = media_folder_;
    decision.name = file->name;
    decision.ino = file->attr.ino;
    decision.content = file->content;
    discard(plan.content.staged);
    return keep_decision(std::move(decision), plan, changes);
  }
  EvictionPlan named = plan;
  named.stem = plan.content.hash.hex();
  const auto name = free_name(media_folder_, named);
  if (!name) return std::unexpected(name.error());
  if (media_folder_ == 0) {
    const Attr owner = nodes_.at(histories_).attr;
    media_folder_ = make_node(histories_, kMediaName,
                              {.kind = NodeKind::directory,
                               .mode = 0700,
                               .uid = owner.uid,
                               .gid = owner.gid,
                               .flags = kNodeFixed},
                              changes);
  }
  decision.folder = media_folder_;
  decision.name = *name;
  return keep_decision(std::move(decision), plan, changes);
}

// `decision` brings session, folder and name, and the file where there is one.
EvictionOutcome ModelState::keep_decision(ModelDecision decision, const EvictionPlan& plan,
                                          ChangeSet& changes) {
  const Session& session = sessions_.at(decision.session);
  decision.tree = session.tree;
  decision.kind = plan.kind;
  decision.call_id = plan.call_id;
  decision.hash = plan.content.hash;
  decision.size = plan.content.size;
  decision.tool = plan.tool;
  decision.replacement = join_replacement(plan.replacement_parts, decision.name);
  decision.lines = plan.lines;
  decision.tokens = plan.tokens;
  decision.created_ns = clock_.wall_ns();
  std::string same_as;
  if (decision.ino == 0) {
    same_as = same_bytes_path(session.tree, plan.content);
    fill(decision, plan, changes);
  } else {
    same_as = same_bytes_path(session.tree, {.bytes = contents_.at(decision.content).bytes,
                                             .staged = 0,
                                             .size = plan.content.size,
                                             .hash = plan.content.hash});
  }
  taken_.insert({decision.folder, decision.name});
  replacements_.insert({session.tree, xxh3_128(decision.replacement)});
  if (!plan.path_prefix.empty()) aliases_.insert({plan.path_prefix, plan.path_subtree});
  decisions_.push_back(std::move(decision));
  decisions_.back().id =
      note_event({.session = session.serial,
                  .what = std::string(artifact_kind_name(plan.kind)),
                  .detail = printable(plan.tool),
                  .tokens_before = plan.tokens,
                  .tokens_after = plan.tokens_after,
                  .path = path_in(decisions_.back().folder, decisions_.back().name)});
  EvictionOutcome outcome = outcome_of(decisions_.back(), false);
  outcome.same_as = same_as;
  return outcome;
}

}  // namespace ebla::kit
