// Histories, their sections, and passes.
#include <array>

#include <fmt/format.h>

#include "schema/base/hash.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite::check {
namespace {

// The sections follow each other in the order of their numbers, which never change.
Result<bool> mend_layout(const Mend& mend, const Offender& at) {
  // Out of the way first: two sections never have one place, not even in between.
  auto done = execute(mend.db, "UPDATE sections SET at = -1 - id WHERE session = ?", at.id);
  if (done) {
    done = execute(mend.db,
                   "UPDATE sections SET at = w.at, sections = w.number, lines = w.lines, messages "
                   "= w.messages "
                   "FROM (SELECT id AS number_of, sum(size) OVER o - size AS at, row_number() OVER "
                   "o AS number, "
                   "max(lines) OVER o AS lines, max(messages) OVER o AS messages FROM sections "
                   "WHERE session = ?1 WINDOW o AS (ORDER BY id)) w "
                   "WHERE sections.id = w.number_of AND sections.session = ?1",
                   at.id);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

// The summary lives on in a section of its own, where the lost one was.
Result<bool> mend_pass(const Mend& mend, const Offender& at) {
  std::string text;
  int64_t session = 0;
  int64_t created = 0;
  {
    auto row =
        query(mend.db, "SELECT session, created_ns, message FROM passes WHERE id = ?", at.id);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return found;
    if (!*found) return true;
    session = row->int64(0);
    created = row->int64(1);
    text = fmt::format(
        "(The messages of this section were lost when the store was damaged. What "
        "their summary said:)\n\n{}\n\n",
        row->bytes(2));
  }
  auto content = next_id(mend.db);
  if (!content) return std::unexpected(std::move(content.error()));
  auto done = insert_chunks(mend.db, *content, 0, text, chunk_sums(text));
  const HashBytes hash(xxh3_128(text));
  if (done) {
    done = execute(mend.db,
                   "UPDATE sections SET id = (SELECT seq FROM sqlite_sequence WHERE name = "
                   "'inodes') + 1 WHERE id = ? AND session <> ?",
                   at.id, session);
  }
  if (done) {
    done = execute(mend.db,
                   "INSERT INTO sections(id, session, at, size, hash, content, start, sections, "
                   "lines, messages, created_ns) VALUES(?1, ?2, -1 - ?1, ?3, ?4, ?5, 0, 0, 0, 0, "
                   "?6)",
                   at.id, session, text.size(), hash.view(), *content, created);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return mend_layout(mend, {.id = session});
}

constexpr std::array kHistories = {
    Rule{.kind = "pass_broken",
         .text = "pass {id} cannot be used: what it stands for is not readable",
         .select = "SELECT id FROM passes WHERE length(prefix) <> 16 "
                   "OR length(message_identity) <> 16",
         .mend_sql = "DELETE FROM passes WHERE id = ?1"},
    Rule{.kind = "pass_pinned",
         .text = "pass {id} has lost which messages stay in front of its summary",
         .select = "SELECT id FROM passes WHERE length(pinned) % 8 <> 0",
         .mend_sql = "UPDATE passes SET pinned = x'' WHERE id = ?1"},
    Rule{.kind = "pass_tree",
         .text = "pass {id} counts for another session tree than its session",
         .select = "SELECT p.id FROM passes p JOIN sessions s ON s.serial = p.session "
                   "WHERE p.tree <> s.tree",
         .mend_sql = "UPDATE OR IGNORE passes SET tree = (SELECT tree FROM sessions "
                     "WHERE serial = passes.session) WHERE id = ?1"},
    Rule{.kind = "pass_section",
         .text = "pass {id} has no section in the history {path}",
         .select = "SELECT p.id, 0, s.history FROM passes p LEFT JOIN sections x ON x.id = p.id "
                   "AND x.session = p.session LEFT JOIN sessions s ON s.serial = p.session "
                   "WHERE x.id IS NULL",
         .mend = mend_pass},
    Rule{.kind = "sections",
         .text = "the sections of the history {path} do not follow each other",
         .select = "SELECT session, 0, (SELECT history FROM sessions WHERE serial = session) FROM "
                   "(SELECT session, id, at, sections, lag(at + size, 1, 0) OVER w AS end_before, "
                   "lag(sections, 1, 0) OVER w AS before, lag(id, 1, 0) OVER w AS id_before, "
                   "lines < lag(lines, 1, 0) OVER w OR messages < lag(messages, 1, 0) OVER w "
                   "AS shrinks FROM sections WINDOW w AS (PARTITION BY session ORDER BY at)) "
                   "WHERE at <> end_before OR sections <> before + 1 OR shrinks OR id <= id_before "
                   "GROUP BY session",
         .mend = mend_layout},
    Rule{.kind = "section_messages",
         .text = "the history {path} holds {a} messages and is said to hold {b}",
         .select = "SELECT * FROM (SELECT s.serial, 0, s.history AS node, NULL, (SELECT count(*) "
                   "FROM section_keys k WHERE k.session = s.serial) AS real, ifnull((SELECT "
                   "messages FROM sections x WHERE x.session = s.serial ORDER BY at DESC LIMIT 1), "
                   "0) AS said FROM sessions s) WHERE real <> said",
         .mend_sql =
             "UPDATE sections SET messages = CASE WHEN at = (SELECT max(at) FROM sections x "
             "WHERE x.session = ?1) THEN (SELECT count(*) FROM section_keys k WHERE "
             "k.session = ?1) ELSE min(messages, (SELECT count(*) FROM section_keys k "
             "WHERE k.session = ?1)) END WHERE session = ?1"},
    Rule{.kind = "section_keys",
         .text = "keys of messages belong to session {id}, which has no history",
         .select = "SELECT DISTINCT session FROM section_keys k WHERE NOT EXISTS (SELECT 1 FROM "
                   "sections x WHERE x.session = k.session)",
         .mend_sql = "DELETE FROM section_keys WHERE session = ?1"},
    Rule{.kind = "history_size",
         .text = "the history {path} has {a} bytes and is said to have {b}",
         .select = "SELECT serial, 0, history, NULL, real, size FROM (SELECT s.serial, s.history, "
                   "i.size, i.content, i.session, ifnull((SELECT max(at + size) FROM sections x "
                   "WHERE x.session = s.serial), 0) AS real FROM sessions s JOIN inodes i "
                   "ON i.ino = s.history) WHERE size <> real OR content <> (real > 0) * serial "
                   "OR session <> serial",
         .mend_sql = "UPDATE inodes SET session = ?1, size = ifnull((SELECT max(at + size) FROM "
                     "sections x WHERE x.session = ?1), 0), content = CASE WHEN EXISTS (SELECT 1 "
                     "FROM sections x WHERE x.session = ?1) THEN ?1 ELSE 0 END, "
                     "change = change + 1 WHERE ino = (SELECT history FROM sessions "
                     "WHERE serial = ?1)"},
};

}  // namespace

Group history_rules() {
  return kHistories;
}

}  // namespace ebla::sqlite::check
