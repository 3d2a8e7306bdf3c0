// A file of a client's written as a whole, in the model store.
#include "schema/base/limits.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {

// What has the name; nullptr: nothing has.
Result<const ModelNode*> ModelState::check_replace(const ReplacePlan& plan) const {
  if (const auto good = check_new_entry(plan.parent, plan.name); !good) {
    return std::unexpected(good.error());
  }
  const auto there = lookup(plan.parent, plan.name);
  if (!there) {
    if (plan.expected != 0) return fail(Code::conflict, "it is gone");
    if (const auto good = check_unreserved(plan.parent, plan.name); !good) {
      return std::unexpected(good.error());
    }
    return nullptr;
  }
  if (there->kind == NodeKind::directory) return fail(Code::is_directory, "a folder");
  if ((there->flags & (kNodeProtected | kNodeFixed)) != 0) {
    return fail(Code::operation_not_permitted, "protected");
  }
  if (there->kind != NodeKind::file) return fail(Code::invalid_params, "no file");
  const bool changed = plan.change && *plan.change != there->change;
  if (there->ino != plan.expected || changed) return fail(Code::conflict, "another one");
  return &nodes_.at(there->ino);
}

Result<std::string> ModelState::take_bytes(const ContentRef& content) {
  if (content.staged == 0) {
    if (content.bytes.size() <= limits::kInlineContentBytes) return content.bytes;
    return fail(Code::too_large, "to be staged");
  }
  const auto at = contents_.find(content.staged);
  if (at == contents_.end() || at->second.references > 0) {
    return fail(Code::file_not_found, "not staged");
  }
  std::string bytes = std::move(at->second.bytes);
  contents_.erase(at);
  return bytes;
}

Result<Attr> ModelState::replace(const ReplacePlan& plan, ChangeSet& changes) {
  const auto old = check_replace(plan);
  if (!old) return std::unexpected(old.error());
  const auto bytes = take_bytes(plan.content);
  if (!bytes) return std::unexpected(bytes.error());
  if (*old == nullptr) {
    const auto made = create({.parent = plan.parent,
                              .name = plan.name,
                              .mode = plan.mode,
                              .uid = plan.uid,
                              .gid = plan.gid},
                             changes);
    if (!made) return made;
    ModelNode& node = nodes_.at(made->ino);
    put_bytes(node, 0, *bytes);
    return node.attr;
  }
  ModelNode& before = nodes_.at((*old)->attr.ino);
  Attr attr = before.attr;
  if (plan.drop_privileges) attr.mode &= (attr.mode & 010) != 0 ? ~06000u : ~04000u;
  attr.size = attr.raw_bytes = 0;
  const Ino ino = make_node(0, "", attr, changes);
  ModelNode& node = nodes_.at(ino);
  node.attr.atime_ns = attr.atime_ns;
  node.session = before.session;
  node.own_xattrs = before.own_xattrs;
  add_entry(plan.parent, plan.name, take_entry(plan.parent, plan.name, before), node);
  lose_name(before, changes);
  touch(nodes_.at(plan.parent), changes);
  put_bytes(node, 0, *bytes);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = ino,
                              .kind = DentryChange::Kind::replaced});
  name_session(node.session, changes);
  return node.attr;
}

}  // namespace ebla::kit
