// Names, attributes and extended attributes of clients' nodes in the model store.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/limits.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {
namespace {

constexpr uint32_t kGuarded = kNodeProtected | kNodeFixed;

Error protected_node(Ino ino) {
  return {Code::operation_not_permitted, fmt::format("node {} is protected", ino)};
}

uint32_t without_privileges(uint32_t mode) {
  mode &= ~04000u;
  return (mode & 010) != 0 ? mode & ~02000u : mode;
}

Result<void> check_xattr_name(std::string_view name) {
  if (!name.starts_with("user.") || name == "user.") {
    return fail(Code::not_supported, "only attributes of the user namespace are kept");
  }
  if (name.starts_with("user.ebla.")) {
    return fail(Code::not_supported, "attributes of Ebla are computed");
  }
  if (name.size() > limits::kNameBytes) return fail(Code::name_too_long, "attribute name");
  return {};
}

}  // namespace

void ModelState::name_session(SessionId session, ChangeSet& changes) const {
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  changes.session = session;
  changes.tree = at->second.tree;
}

Result<void> ModelState::check_new_entry(Ino parent, std::string_view name) const {
  const auto dir = folder(parent);
  if (!dir) return std::unexpected(dir.error());
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    return fail(Code::invalid_path, "not a name");
  }
  if (name.size() > limits::kNameBytes) return fail(Code::name_too_long, "name");
  if ((*dir)->attr.nlink == 0) return fail(Code::file_not_found, "the folder has been removed");
  return {};
}

Result<void> ModelState::check_unreserved(Ino parent, std::string_view name) const {
  if (!taken_.contains({parent, std::string(name)})) return {};
  return fail(Code::operation_not_permitted, "the name of a removed result");
}

void ModelState::add_entry(Ino parent, const std::string& name, uint64_t cookie, ModelNode& node) {
  ModelNode& dir = nodes_.at(parent);
  dir.cookies[name] = cookie;
  dir.entries[cookie] = {name, node.attr.ino};
  if (node.attr.kind == NodeKind::directory) ++dir.attr.nlink;
  if (node.parent == 0) {
    node.parent = parent;
    node.name = name;
  } else {
    node.more_names.emplace_back(parent, name);
  }
}

uint64_t ModelState::take_entry(Ino parent, const std::string& name, ModelNode& node) {
  ModelNode& dir = nodes_.at(parent);
  const uint64_t cookie = dir.cookies.at(name);
  dir.entries.erase(cookie);
  dir.cookies.erase(name);
  if (node.attr.kind == NodeKind::directory) --dir.attr.nlink;
  std::erase(node.more_names, std::pair(parent, name));
  if (node.parent != parent || node.name != name) return cookie;
  node.parent = 0;
  node.name.clear();
  const auto first = std::ranges::min_element(node.more_names, {}, [this](const auto& other) {
    return std::pair(other.first, nodes_.at(other.first).cookies.at(other.second));
  });
  if (first != node.more_names.end()) {
    std::tie(node.parent, node.name) = *first;
    node.more_names.erase(first);
  }
  return cookie;
}

// The first name of a node stays the first one when it is changed.
void ModelState::keep_first(ModelNode& node, bool was_first, Ino parent, const std::string& name) {
  if (!was_first || node.more_names.empty()) return;
  const auto at = std::ranges::find(node.more_names, std::pair(parent, name));
  if (at == node.more_names.end()) return;
  std::swap(node.parent, at->first);
  std::swap(node.name, at->second);
}

void ModelState::lose_name(ModelNode& node, ChangeSet& changes) {
  const bool is_folder = node.attr.kind == NodeKind::directory;
  node.attr.nlink = is_folder ? 0 : node.attr.nlink - 1;
  touch_ctime(node, changes);
  if (node.attr.nlink == 0) changes.orphaned.push_back(node.attr.ino);
}

Result<void> ModelState::remove(const RemovePlan& plan, ChangeSet& changes) {
  const auto found = lookup(plan.parent, plan.name);
  if (!found) return std::unexpected(found.error());
  const std::string path = path_in(plan.parent, plan.name);
  if (found->kind == NodeKind::directory) {
    return fail(Code::is_directory, fmt::format("{} is a folder", path));
  }
  if ((found->flags & kNodeProtected) != 0 && (found->flags & kNodeRemovable) == 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} is protected: it cannot be removed", path));
  }
  ModelNode& node = nodes_.at(found->ino);
  take_entry(plan.parent, plan.name, node);
  touch(nodes_.at(plan.parent), changes);
  lose_name(node, changes);
  for (ModelDecision& decision : decisions_) {
    if (decision.ino != found->ino) continue;
    decision.ino = 0;
    tombstones_[{plan.parent, plan.name}] = {.path = path,
                                             .removed_ns = clock_.wall_ns(),
                                             .uid = plan.uid,
                                             .reason = plan.reason,
                                             .size = node.attr.size};
  }
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = found->ino,
                              .kind = DentryChange::Kind::removed});
  name_session(node.session, changes);
  return {};
}

Result<void> ModelState::remove_folder(const RemovePlan& plan, ChangeSet& changes) {
  const auto found = lookup(plan.parent, plan.name);
  if (!found) return std::unexpected(found.error());
  if (found->kind != NodeKind::directory) return fail(Code::not_directory, "no folder");
  if ((found->flags & kNodeFixed) != 0) {
    return fail(plan.parent == kRoot ? Code::busy : Code::operation_not_permitted, "protected");
  }
  ModelNode& node = nodes_.at(found->ino);
  if (!node.entries.empty()) return fail(Code::not_empty, "not empty");
  take_entry(plan.parent, plan.name, node);
  touch(nodes_.at(plan.parent), changes);
  lose_name(node, changes);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = found->ino,
                              .kind = DentryChange::Kind::removed});
  name_session(node.session, changes);
  return {};
}

Result<Attr> ModelState::create(const CreatePlan& plan, ChangeSet& changes) {
  if (const auto good = check_new_entry(plan.parent, plan.name); !good) {
    return std::unexpected(good.error());
  }
  const bool symlink = plan.kind == NodeKind::symlink;
  if (symlink == plan.target.empty()) return fail(Code::invalid_params, "target");
  if (plan.target.size() > limits::kLinkTargetBytes) return fail(Code::name_too_long, "target");
  if (has_name(plan.parent, plan.name)) return fail(Code::already_exists, "the name is taken");
  if (const auto good = check_unreserved(plan.parent, plan.name); !good) {
    return std::unexpected(good.error());
  }
  const Attr dir = nodes_.at(plan.parent).attr;
  const SessionId session = nodes_.at(plan.parent).session;
  Attr attr{.kind = plan.kind,
            .mode = symlink ? 0777 : plan.mode & 07777,
            .uid = plan.uid,
            .gid = plan.gid,
            .rdev = plan.rdev,
            .size = plan.target.size()};
  if ((dir.mode & 02000) != 0) {
    attr.gid = dir.gid;
    if (plan.kind == NodeKind::directory) attr.mode |= 02000;
  }
  ModelNode& node = nodes_.at(make_node(plan.parent, plan.name, attr, changes));
  node.session = session;
  node.target = plan.target;
  name_session(session, changes);
  return node.attr;
}

Result<Attr> ModelState::link(const LinkPlan& plan, ChangeSet& changes) {
  if (const auto good = check_new_entry(plan.parent, plan.name); !good) {
    return std::unexpected(good.error());
  }
  const auto at = nodes_.find(plan.ino);
  if (at == nodes_.end() || (at->second.attr.nlink == 0)) {
    return fail(Code::file_not_found, "the node has no name");
  }
  ModelNode& node = at->second;
  if (node.attr.kind == NodeKind::directory || (node.attr.flags & kGuarded) != 0) {
    return std::unexpected(protected_node(plan.ino));
  }
  if (has_name(plan.parent, plan.name)) return fail(Code::already_exists, "the name is taken");
  if (const auto good = check_unreserved(plan.parent, plan.name); !good) {
    return std::unexpected(good.error());
  }
  if (node.attr.nlink >= limits::kLinks) return fail(Code::too_many_links, "links");
  add_entry(plan.parent, plan.name, next_cookie_++, node);
  ++node.attr.nlink;
  touch_ctime(node, changes);
  touch(nodes_.at(plan.parent), changes);
  changes.dentries.push_back({.parent = plan.parent, .name = plan.name, .child = plan.ino});
  name_session(node.session, changes);
  return node.attr;
}

bool ModelState::lies_in(Ino folder, Ino above) const {
  for (Ino at = folder; at != 0; at = nodes_.at(at).parent) {
    if (at == above) return true;
  }
  return false;
}

Result<void> ModelState::check_rename(const RenamePlan& plan, const Attr& source,
                                      const Attr* target) const {
  const bool exchange = plan.mode == RenamePlan::Mode::exchange;
  if (exchange && target == nullptr) return fail(Code::file_not_found, "nothing to exchange");
  if (plan.mode == RenamePlan::Mode::keep && target != nullptr) {
    return fail(Code::already_exists, "the name is taken");
  }
  if (target != nullptr && target->ino == source.ino) return {};
  for (const auto& [attr, parent] :
       {std::pair(&source, plan.parent), std::pair(target, plan.new_parent)}) {
    if (attr == nullptr || (attr->flags & kGuarded) == 0) continue;
    const bool top = (attr->flags & kNodeFixed) != 0 && parent == kRoot;
    return fail(top ? Code::busy : Code::operation_not_permitted, "protected");
  }
  const auto is_folder = [](const Attr& attr) { return attr.kind == NodeKind::directory; };
  if (is_folder(source) && lies_in(plan.new_parent, source.ino)) {
    return fail(Code::invalid_path, "into itself");
  }
  if (exchange && is_folder(*target) && lies_in(plan.parent, target->ino)) {
    return fail(Code::invalid_path, "into itself");
  }
  if (target == nullptr) return check_unreserved(plan.new_parent, plan.new_name);
  if (exchange) return {};
  if (is_folder(*target) && !is_folder(source)) return fail(Code::is_directory, "a folder");
  if (!is_folder(*target) && is_folder(source)) return fail(Code::not_directory, "no folder");
  if (!nodes_.at(target->ino).entries.empty()) return fail(Code::not_empty, "not empty");
  return {};
}

Result<void> ModelState::rename(const RenamePlan& plan, ChangeSet& changes) {
  const auto found = lookup(plan.parent, plan.name);
  if (!found) return std::unexpected(found.error());
  if (const auto good = check_new_entry(plan.new_parent, plan.new_name); !good) return good;
  const auto there = lookup(plan.new_parent, plan.new_name);
  const Attr* target_attr = there ? &*there : nullptr;
  if (const auto good = check_rename(plan, *found, target_attr); !good) return good;
  ModelNode& source = nodes_.at(found->ino);
  if (there && there->ino == found->ino) return {};
  name_session(source.session, changes);
  if (plan.mode == RenamePlan::Mode::exchange) {
    exchange(plan, source, nodes_.at(there->ino), changes);
    return {};
  }
  const bool first = source.parent == plan.parent && source.name == plan.name;
  uint64_t cookie = take_entry(plan.parent, plan.name, source);
  if (there) {
    ModelNode& target = nodes_.at(there->ino);
    cookie = take_entry(plan.new_parent, plan.new_name, target);
    lose_name(target, changes);
  } else if (plan.parent != plan.new_parent) {
    cookie = next_cookie_++;
  }
  add_entry(plan.new_parent, plan.new_name, cookie, source);
  keep_first(source, first, plan.new_parent, plan.new_name);
  touch(nodes_.at(plan.parent), changes);
  if (plan.parent != plan.new_parent) touch(nodes_.at(plan.new_parent), changes);
  touch_ctime(source, changes);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = found->ino,
                              .kind = DentryChange::Kind::removed});
  changes.dentries.push_back(
      {.parent = plan.new_parent,
       .name = plan.new_name,
       .child = found->ino,
       .kind = there ? DentryChange::Kind::replaced : DentryChange::Kind::added});
  return {};
}

void ModelState::exchange(const RenamePlan& plan, ModelNode& source, ModelNode& target,
                          ChangeSet& changes) {
  const bool source_first = source.parent == plan.parent && source.name == plan.name;
  const bool target_first = target.parent == plan.new_parent && target.name == plan.new_name;
  const uint64_t first = take_entry(plan.parent, plan.name, source);
  const uint64_t second = take_entry(plan.new_parent, plan.new_name, target);
  add_entry(plan.parent, plan.name, first, target);
  add_entry(plan.new_parent, plan.new_name, second, source);
  keep_first(source, source_first, plan.new_parent, plan.new_name);
  keep_first(target, target_first, plan.parent, plan.name);
  touch(nodes_.at(plan.parent), changes);
  if (plan.parent != plan.new_parent) touch(nodes_.at(plan.new_parent), changes);
  touch_ctime(source, changes);
  touch_ctime(target, changes);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = target.attr.ino,
                              .kind = DentryChange::Kind::replaced});
  changes.dentries.push_back({.parent = plan.new_parent,
                              .name = plan.new_name,
                              .child = source.attr.ino,
                              .kind = DentryChange::Kind::replaced});
}

Result<Attr> ModelState::setattr(const SetAttrPlan& plan, ChangeSet& changes) {
  const auto at = nodes_.find(plan.ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  ModelNode& node = at->second;
  Attr& attr = node.attr;
  if (plan.size && attr.kind != NodeKind::file) {
    return fail(attr.kind == NodeKind::directory ? Code::is_directory : Code::invalid_params,
                "size");
  }
  if ((attr.flags & kGuarded) != 0) return std::unexpected(protected_node(plan.ino));
  if (plan.size && *plan.size > limits::kFileBytes) return fail(Code::too_large, "size");
  const int64_t now = clock_.wall_ns();
  if (plan.size) {
    changes.ranges.push_back({.ino = plan.ino, .offset = std::min(attr.size, *plan.size)});
    resize(node, *plan.size);
    attr.mtime_ns = now;
    if (plan.drop_privileges) attr.mode = without_privileges(attr.mode);
  }
  const bool owner = plan.uid || plan.gid;
  if (owner && attr.kind != NodeKind::directory) attr.mode = without_privileges(attr.mode);
  attr.mode = plan.mode.value_or(attr.mode) & 07777;
  attr.uid = plan.uid.value_or(attr.uid);
  attr.gid = plan.gid.value_or(attr.gid);
  if (plan.atime) attr.atime_ns = plan.atime->ns.value_or(now);
  if (plan.mtime) attr.mtime_ns = plan.mtime->ns.value_or(now);
  touch_ctime(node, changes);
  name_session(node.session, changes);
  return attr;
}

Result<void> ModelState::set_xattr(const XattrPlan& plan, ChangeSet& changes) {
  const auto at = nodes_.find(plan.ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  ModelNode& node = at->second;
  if ((node.attr.flags & kGuarded) != 0) return std::unexpected(protected_node(plan.ino));
  if (const auto good = check_xattr_name(plan.name); !good) return good;
  if (plan.value.size() > limits::kXattrBytes) return fail(Code::too_large, "value");
  const bool there = node.own_xattrs.contains(plan.name);
  if (there && plan.mode == XattrPlan::Mode::create) return fail(Code::already_exists, "there");
  if (!there && plan.mode == XattrPlan::Mode::replace) return fail(Code::no_attribute, "none");
  size_t names = there ? 0 : plan.name.size() + 1;
  for (const auto& [name, value] : node.own_xattrs) names += name.size() + 1;
  if (names > limits::kXattrListBytes) return fail(Code::no_space, "too many attributes");
  node.own_xattrs[plan.name] = plan.value;
  touch_ctime(node, changes);
  name_session(node.session, changes);
  return {};
}

Result<void> ModelState::remove_xattr(Ino ino, const std::string& name, ChangeSet& changes) {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  ModelNode& node = at->second;
  if ((node.attr.flags & kGuarded) != 0) return std::unexpected(protected_node(ino));
  if (const auto good = check_xattr_name(name); !good) return good;
  if (node.own_xattrs.erase(name) == 0) return fail(Code::no_attribute, "no such attribute");
  touch_ctime(node, changes);
  name_session(node.session, changes);
  return {};
}

}  // namespace ebla::kit
