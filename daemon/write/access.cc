#include "daemon/write/access.h"

#include <fmt/format.h>

#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

constexpr uint32_t kSticky = 01000;
constexpr uint32_t kAnyExecute = 0111;

bool owns(const Actor& actor, const Attr& node) {
  return actor.owns_all || actor.uid == node.uid;
}

std::string_view verb_of(Wish wish) {
  switch (wish) {
    case Wish::read:
      return "read";
    case Wish::write:
      return "write to";
    case Wish::search:
      return "enter";
  }
  return "use";
}

}  // namespace

bool may(const Actor& actor, const Attr& node, Wish wish) {
  if (actor.uid == 0) {
    return wish != Wish::search || node.kind == NodeKind::directory ||
           (node.mode & kAnyExecute) != 0;
  }
  const int shift = owns(actor, node) ? 6 : actor.gid == node.gid ? 3 : 0;
  return (node.mode >> shift & static_cast<uint32_t>(wish)) != 0;
}

Result<void> check_may(const Actor& actor, const Attr& node, std::string_view path, Wish wish) {
  if (may(actor, node, wish)) return {};
  return fail(
      Code::permission_denied,
      fmt::format("{}: uid {} may not {} it (mode {:04o}, owner {}, group {}): its owner "
                  "changes that with chmod",
                  printable(path), actor.uid, verb_of(wish), node.mode, node.uid, node.gid));
}

Result<void> check_entry(const Actor& actor, const Attr& folder, std::string_view folder_path,
                         const Attr* node) {
  for (const Wish wish : {Wish::write, Wish::search}) {
    if (auto good = check_may(actor, folder, folder_path, wish); !good) return good;
  }
  const bool sticky = (folder.mode & kSticky) != 0 && actor.uid != 0;
  if (node == nullptr || !sticky || owns(actor, *node) || owns(actor, folder)) return {};
  return fail(Code::operation_not_permitted,
              fmt::format("{} has the sticky bit: only the owner of a file (here uid {}) renames, "
                          "replaces or removes it",
                          printable(folder_path), node->uid));
}

}  // namespace ebla::daemon
