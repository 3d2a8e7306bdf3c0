#include "schema/sqlite/quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schema/sqlite/overlay.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite {
namespace {

std::unexpected<Error> too_many_bytes(const Quotas& quotas) {
  return fail(Code::quota_exceeded,
              fmt::format("the files of a session and its children have at most {} bytes together "
                          "(--session-limit): remove what is not needed any more, or raise it",
                          quotas.session_bytes));
}

uint64_t not_negative(int64_t value) {
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

}  // namespace

Result<TreeUsage> tree_usage(Database& db, SessionId tree) {
  auto row = query(db, "SELECT files + directories, logical_bytes FROM usage WHERE tree = ?", tree);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return TreeUsage{};
  return TreeUsage{.files = not_negative(row->int64(0)), .bytes = not_negative(row->int64(1))};
}

Result<void> check_tree(const TreeUsage& usage, const Quotas& quotas) {
  if (quotas.session_bytes != 0 && usage.bytes > quotas.session_bytes) {
    return too_many_bytes(quotas);
  }
  if (quotas.session_files != 0 && usage.files > quotas.session_files) {
    return fail(Code::quota_exceeded,
                fmt::format("a session and its children have at most {} files and folders "
                            "(--session-files): remove what is not needed any more, or raise it",
                            quotas.session_files));
  }
  return {};
}

Result<uint64_t> tree_left(Database& db, const Overlay& overlay, Ino ino, const Quotas& quotas) {
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  SessionId tree = 0;
  {
    auto row = query(db,
                     "SELECT s.tree FROM inodes i JOIN sessions s ON s.serial = i.session "
                     "WHERE i.ino = ?",
                     ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return kAny;
    tree = row->uint64(0);
  }
  // The database first: what is committed in between is counted by neither, rather than twice.
  auto usage = tree_usage(db, tree);
  if (!usage) return std::unexpected(std::move(usage.error()));
  const int64_t used = static_cast<int64_t>(usage->bytes) + overlay.growth(tree);
  return quotas.session_bytes - std::min(quotas.session_bytes, not_negative(used));
}

Result<void> check_growth(uint64_t size, uint64_t end, const Quotas& quotas, uint64_t tree_left) {
  if (end <= size) return {};
  if (quotas.file_bytes != 0 && end > quotas.file_bytes) {
    return fail(Code::too_large,
                fmt::format("a file has at most {} bytes here (--file-limit)", quotas.file_bytes));
  }
  if (end - size > tree_left) return too_many_bytes(quotas);
  return {};
}

}  // namespace ebla::sqlite
