// What was decided, for who watches: told by the rows of the decisions themselves, in the order of
// their numbers, which is that of the commits.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/json.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/sqlite_store.h"

// ?1: number above which to look, ?2: session, ?3: how many. Each branch comes in the order of its
// table, so that they are merged and no more rows are read than are asked for.
#define EBLA_EVENTS(of_evictions, of_passes, of_sections, of_sessions, of_turns, order)     \
  "SELECT e.id AS id, e.created_ns, e.session, 0 AS what, e.kind, e.tool, e.tokens, "       \
  "e.tokens_after, e.name, s.id FROM evictions e JOIN sessions s ON s.serial = e.session "  \
  "WHERE e.id > ?1 " of_evictions                                                           \
  " UNION ALL SELECT p.id, p.created_ns, p.session, 1, p.source, x'', p.tokens_before, "    \
  "p.tokens_after, x'', s.id FROM passes p JOIN sessions s ON s.serial = p.session "        \
  "WHERE p.id > ?1 " of_passes                                                              \
  " UNION ALL SELECT h.id, h.created_ns, h.session, 2, 0, x'', 0, 0, x'', s.id "            \
  "FROM sections h JOIN sessions s ON s.serial = h.session "                                \
  "WHERE h.id > ?1 AND NOT EXISTS (SELECT 1 FROM passes p WHERE p.id = h.id) " of_sections  \
  " UNION ALL SELECT o.serial, o.created_ns, o.serial, 3, 0, x'', 0, 0, x'', o.id "         \
  "FROM sessions o WHERE o.serial > ?1 " of_sessions                                        \
  " UNION ALL SELECT t.id, t.at_ns, t.session, 3 + t.closed, 0, x'', 0, 0, x'', s.id "      \
  "FROM session_events t JOIN sessions s ON s.serial = t.session WHERE t.id > ?1 " of_turns \
  " ORDER BY 1 " order " LIMIT ?3"

#define EBLA_ALL_EVENTS(order) EBLA_EVENTS("AND ?2 = 0", "", "", "", "", order)

// Of one session: its decisions are among those that its tree is searched by.
#define EBLA_SESSION_EVENTS(order)                                                     \
  EBLA_EVENTS(                                                                         \
      "AND e.session = ?2 AND e.id IN (SELECT k.eviction FROM eviction_keys k "        \
      "WHERE k.tree = (SELECT tree FROM sessions WHERE serial = ?2))",                 \
      "AND p.session = ?2 AND p.tree = (SELECT tree FROM sessions WHERE serial = ?2)", \
      "AND h.session = ?2", "AND o.serial = ?2", "AND t.session = ?2", order)

namespace ebla::sqlite {
namespace {

enum class What : uint8_t { eviction, pass, history, opened, closed };

Event to_event(const Statement& row) {
  Event event;
  event.id = row.uint64(0);
  event.at_ns = row.int64(1);
  event.session = row.uint64(2);
  event.tokens_before = row.uint64(6);
  event.tokens_after = row.uint64(7);
  switch (static_cast<What>(row.int64(3))) {
    case What::eviction: {
      const auto kind = static_cast<ArtifactKind>(row.int64(4));
      event.what = artifact_kind_name(kind);
      event.detail = printable(row.bytes(5));
      event.path = artifact_path(kind, row.bytes(9), row.bytes(8));
      break;
    }
    case What::pass:
      event.what = "summary";
      event.detail = summary_source_name(static_cast<SummarySource>(row.int64(4)));
      event.path = history_path(row.bytes(9));
      break;
    case What::history:
      event.what = "history";
      event.path = history_path(row.bytes(9));
      break;
    case What::opened:
      event.what = "session_open";
      break;
    case What::closed:
      event.what = "session_close";
      break;
  }
  return event;
}

const char* statement_of(const EventQuery& query) {
  if (query.session == 0) {
    return query.newest ? EBLA_ALL_EVENTS("DESC") : EBLA_ALL_EVENTS("ASC");
  }
  return query.newest ? EBLA_SESSION_EVENTS("DESC") : EBLA_SESSION_EVENTS("ASC");
}

}  // namespace

Result<std::vector<Event>> SqliteStore::events(const EventQuery& wanted) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto rows = query(**reader, statement_of(wanted), std::min<uint64_t>(wanted.after, INT64_MAX),
                    wanted.session, std::min<uint64_t>(wanted.limit, INT64_MAX));
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<Event> events;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return events;
    events.push_back(to_event(*rows));
  }
}

}  // namespace ebla::sqlite
