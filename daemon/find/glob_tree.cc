#include "daemon/find/glob_tree.h"

#include <string_view>
#include <utility>

namespace ebla::daemon {

Result<GlobReport> glob_tree(const SearchTools& tools, const SearchScope& scope, const Glob& glob,
                             const std::string& start, size_t limit) {
  // The total counts what lies before the page too.
  TreeWalk walk(tools.store, scope.path, scope.root, scope.visible, "");
  const size_t prefix = scope.path == "/" ? 1 : scope.path.size() + 1;
  GlobReport report;
  for (;;) {
    if (tools.cancelled()) return std::unexpected(cut_off());
    auto node = walk.next();
    if (!node) {
      report.skipped.add(walk.unreadable(), node.error().code);
      continue;
    }
    if (!*node) return report;
    if (tools.out_of_time()) {
      report.timed_out = true;
      if (!report.next && (*node)->key() >= start) report.next = (*node)->key();
      return report;
    }
    const bool folder = (*node)->kind == NodeKind::directory;
    if (!glob.matches(std::string_view((*node)->path).substr(prefix), folder)) continue;
    ++report.total;
    if ((*node)->key() < start) continue;
    if (report.nodes.size() < limit) {
      report.nodes.push_back(*std::move(*node));
    } else if (!report.next) {
      report.next = (*node)->key();
    }
  }
}

}  // namespace ebla::daemon
