// Which node has which content. What the contents hold is looked at by the pass over the chunks.
#include <array>

#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

// Hash and flag belong together; the bytes decide what both are.
Result<bool> mend_immutable(const Mend& mend, const Offender& at) {
  auto done = execute(mend.db,
                      "UPDATE inodes SET flags = flags | 4, hash = ifnull(hash, "
                      "ifnull((SELECT hash FROM contents c WHERE c.content = inodes.content), "
                      "zeroblob(16))) WHERE ino = ?",
                      at.id);
  if (!done) return std::unexpected(std::move(done.error()));
  return settle_content(mend, at.second);
}

Result<bool> mend_content(const Mend& mend, const Offender& at) {
  return settle_content(mend, at.second);
}

// Put back where its decision says, else a file of the lost folder.
Result<bool> mend_unused(const Mend& mend, const Offender& at) {
  auto row = query(mend.db,
                   "SELECT e.ino FROM evictions e JOIN eviction_keys k ON k.eviction = e.id "
                   "AND k.key = 1 AND k.tree = e.tree AND k.hash = e.hash "
                   "WHERE k.hash = (SELECT hash FROM contents WHERE content = ?1) "
                   "AND e.content = ?1 AND e.ino <> 0 AND e.ino NOT IN (SELECT ino FROM inodes) "
                   "LIMIT 1",
                   at.id);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return found;
  if (!*found) return adopt_content(mend, at.id);
  const int64_t ino = row->int64(0);
  if (auto end = row->run(); !end) return std::unexpected(std::move(end.error()));
  auto restored = restore_node(mend, ino);
  if (!restored) return restored;
  return *restored ? give_name(mend, ino) : adopt_content(mend, at.id);
}

Result<bool> mend_shared(const Mend& mend, const Offender& at) {
  return copy_content(mend, at.id);
}

constexpr std::array kContents = {
    Rule{.kind = "content_folder",
         .text = "{path} is no file and has a content",
         .select = "SELECT ino, 0, ino FROM inodes WHERE kind <> 0 AND (content <> 0 OR hash IS "
                   "NOT NULL OR flags & 4 OR raw <> 0)",
         .mend_sql = "UPDATE inodes SET content = 0, hash = NULL, raw = 0, flags = flags & ~4 "
                     "WHERE ino = ?1"},
    Rule{.kind = "immutable",
         .text = "{path} never changes and has no hash, or the other way round",
         .select = "SELECT ino, content, ino FROM inodes WHERE kind = 0 "
                   "AND (flags & 4 <> 0) <> (hash IS NOT NULL)",
         .mend = mend_immutable},
    Rule{.kind = "content_row",
         .text = "{path} has another content, hash or size than the list of contents says",
         .select = "SELECT i.ino, i.content, i.ino FROM inodes i LEFT JOIN contents c "
                   "ON c.hash = i.hash AND c.content = i.content AND c.size = i.size "
                   "WHERE i.hash IS NOT NULL AND c.content IS NULL",
         .mend = mend_content},
    Rule{.kind = "content_freed",
         .text = "content {id} is in use and listed as one that goes",
         .select = "SELECT o.content FROM temp.owners o WHERE o.kind < 3 AND (o.content IN (SELECT "
                   "content FROM freed) OR o.content IN (SELECT content FROM staged))",
         .mend = [](const Mend& mend, const Offender& at) -> Result<bool> {
           auto done = execute(mend.db, "DELETE FROM freed WHERE content = ?", at.id);
           if (done) done = execute(mend.db, "DELETE FROM staged WHERE content = ?", at.id);
           if (!done) return std::unexpected(std::move(done.error()));
           return true;
         }},
    Rule{.kind = "content_staged",
         .text = "content {id} is listed as arriving and as going",
         .select = "SELECT content FROM staged WHERE content IN (SELECT content FROM freed)",
         .mend_sql = "DELETE FROM staged WHERE content = ?1"},
    Rule{.kind = "content_shared",
         .text = "{path} has its bytes in a content that belongs to another",
         .select = "SELECT i.ino, 0, i.ino FROM inodes i JOIN temp.owners o "
                   "ON o.content = i.content WHERE i.hash IS NULL AND i.content NOT IN (0, "
                   "i.session) AND (o.kind < 2 OR (o.kind = 2 AND o.ino <> i.ino))",
         .mend = mend_shared},
    Rule{.kind = "content_mixed",
         .text = "content {id} holds a history and is listed as a put-away file's",
         .select = "SELECT content FROM contents WHERE content IN (SELECT content FROM sections)"},
    Rule{.kind = "content_unused",
         .text = "{b} bytes that were put away are no file's any more (content {id})",
         .select = "SELECT c.content, 0, 0, NULL, 0, c.size FROM contents c LEFT JOIN temp.uses u "
                   "ON u.content = c.content WHERE u.content IS NULL",
         .mend = mend_unused},
    Rule{.kind = "refs",
         .text = "content {id} is used by {a} files and is said to be used by {b}",
         .select = "SELECT c.content, 0, 0, NULL, u.nodes, c.refs FROM contents c JOIN temp.uses u "
                   "ON u.content = c.content WHERE u.nodes <> c.refs",
         .mend_sql = "UPDATE contents SET refs = (SELECT nodes FROM temp.uses WHERE content = ?1) "
                     "WHERE hash = (SELECT hash FROM contents WHERE content = ?1) "
                     "AND content = ?1"},
};

}  // namespace

Group content_rules() {
  return kContents;
}

}  // namespace ebla::sqlite::check
