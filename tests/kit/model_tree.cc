// Nodes, names and reads of the model store.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "schema/base/limits.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {
namespace {

constexpr uint32_t kFolderMode = 0700;

Error no_such_node(Ino ino) {
  return {Code::file_not_found, fmt::format("node {} does not exist any more", ino)};
}

}  // namespace

ModelState::ModelState(const Clock& clock, uint32_t uid, uint32_t gid) : clock_(clock) {
  ChangeSet unseen;
  Attr folder{.kind = NodeKind::directory, .mode = kFolderMode, .uid = uid, .gid = gid};
  make_node(0, "", folder, unseen);
  folder.flags = kNodeFixed;
  results_ = make_node(kRoot, "large_tool_results", folder, unseen);
  histories_ = make_node(kRoot, "conversation_history", folder, unseen);
}

Result<Attr> ModelState::getattr(Ino ino) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return std::unexpected(no_such_node(ino));
  return at->second.attr;
}

Result<const ModelNode*> ModelState::folder(Ino ino) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return std::unexpected(no_such_node(ino));
  if (at->second.attr.kind != NodeKind::directory) {
    return fail(Code::not_directory, fmt::format("node {} is not a directory", ino));
  }
  return &at->second;
}

Result<Attr> ModelState::lookup(Ino parent, std::string_view name) const {
  const auto dir = folder(parent);
  if (!dir) return std::unexpected(dir.error());
  if (name.size() > limits::kNameBytes) {
    return fail(Code::name_too_long, fmt::format("a name has at most {} bytes, this one {}",
                                                 limits::kNameBytes, name.size()));
  }
  const auto cookie = (*dir)->cookies.find(name);
  if (cookie == (*dir)->cookies.end()) {
    return fail(Code::file_not_found, "no such file or folder");
  }
  return nodes_.at((*dir)->entries.at(cookie->second).second).attr;
}

Result<std::vector<DirEntry>> ModelState::readdir(Ino dir, uint64_t after_cookie,
                                                  size_t limit) const {
  const auto node = folder(dir);
  if (!node) return std::unexpected(node.error());
  std::vector<DirEntry> out;
  const auto& entries = (*node)->entries;
  for (auto at = entries.upper_bound(after_cookie); at != entries.end() && out.size() < limit;
       ++at) {
    const auto& [name, child] = at->second;
    out.push_back({.cookie = at->first, .name = name, .attr = nodes_.at(child).attr});
  }
  return out;
}

Result<uint64_t> ModelState::entry_count(Ino dir) const {
  const auto node = folder(dir);
  if (!node) return std::unexpected(node.error());
  return (*node)->entries.size();
}

Result<std::string> ModelState::readlink(Ino ino) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return std::unexpected(no_such_node(ino));
  if (at->second.attr.kind == NodeKind::symlink) return at->second.target;
  return fail(Code::invalid_params, fmt::format("node {} is not a symbolic link", ino));
}

Result<std::vector<Xattr>> ModelState::xattrs(Ino ino) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return std::unexpected(no_such_node(ino));
  std::vector<Xattr> all = at->second.xattrs;
  for (const auto& [name, value] : at->second.own_xattrs) all.push_back({name, value});
  std::ranges::sort(all, {}, &Xattr::name);
  return all;
}

std::string ModelState::path_in(Ino dir, std::string_view name) const {
  std::string path = fmt::format("/{}", name);
  for (Ino at = dir; at != kRoot; at = nodes_.at(at).parent) {
    path.insert(0, "/" + nodes_.at(at).name);
  }
  return path;
}

Result<std::string> ModelState::path_of(Ino ino) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return std::unexpected(no_such_node(ino));
  if (ino == kRoot) return std::string("/");
  if (at->second.parent == 0) {
    return fail(Code::file_not_found, fmt::format("node {} has no name any more", ino));
  }
  return path_in(at->second.parent, at->second.name);
}

std::optional<Tombstone> ModelState::tombstone(Ino parent, std::string_view name) const {
  const auto at = tombstones_.find({parent, std::string(name)});
  if (at == tombstones_.end()) return std::nullopt;
  return at->second;
}

Usage ModelState::usage() const {
  Usage usage;
  for (const auto& [ino, node] : nodes_) {
    if (node.attr.kind == NodeKind::directory) {
      ++usage.directories;
    } else {
      ++usage.files;
      usage.logical_bytes += node.attr.size;
    }
  }
  for (const auto& [id, content] : contents_) {
    if (content.references > 0) usage.content_bytes += content.bytes.size();
  }
  for (const auto& [ino, history] : history_texts_) usage.content_bytes += history.text.size();
  usage.sessions = sessions_.size();
  usage.evictions = decisions_.size();
  return usage;
}

bool ModelState::has_name(Ino dir, std::string_view name) const {
  return nodes_.at(dir).cookies.contains(name);
}

bool ModelState::name_is_free(Ino dir, std::string_view name) const {
  return !has_name(dir, name) && !taken_.contains({dir, std::string(name)});
}

void ModelState::touch_ctime(ModelNode& node, ChangeSet& changes) {
  node.attr.ctime_ns = clock_.wall_ns();
  ++node.attr.change;
  changes.attributes.push_back(node.attr.ino);
}

void ModelState::touch(ModelNode& node, ChangeSet& changes) {
  node.attr.mtime_ns = node.attr.ctime_ns = clock_.wall_ns();
  ++node.attr.change;
  changes.attributes.push_back(node.attr.ino);
}

// `attr` brings kind, mode, owner and flags; the rest is filled in here.
Ino ModelState::make_node(Ino parent, std::string_view name, Attr attr, ChangeSet& changes) {
  const bool is_folder = attr.kind == NodeKind::directory;
  attr.ino = next_id_++;
  attr.nlink = is_folder ? 2 : 1;
  attr.atime_ns = attr.mtime_ns = attr.ctime_ns = clock_.wall_ns();
  attr.change = 1;
  ModelNode& node = nodes_[attr.ino];
  node.attr = attr;
  node.parent = parent;
  node.name = name;
  if (parent == 0) return attr.ino;
  ModelNode& dir = nodes_.at(parent);
  const uint64_t cookie = next_cookie_++;
  dir.cookies[std::string(name)] = cookie;
  dir.entries[cookie] = {std::string(name), attr.ino};
  if (is_folder) ++dir.attr.nlink;
  touch(dir, changes);
  changes.dentries.push_back({.parent = parent,
                              .name = std::string(name),
                              .child = attr.ino,
                              .kind = DentryChange::Kind::added});
  return attr.ino;
}

void ModelState::reap(const std::vector<Ino>& inos) {
  for (const Ino ino : inos) {
    const auto at = nodes_.find(ino);
    if (at == nodes_.end() || ino == kRoot || at->second.parent != 0) continue;
    release_content(at->second.content);
    nodes_.erase(at);
  }
}

void ModelState::release_content(ContentId id) {
  const auto at = contents_.find(id);
  if (at != contents_.end() && --at->second.references == 0) contents_.erase(at);
}

std::string utc_text(int64_t wall_ns) {
  const auto seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace ebla::kit
