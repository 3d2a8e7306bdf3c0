// Histories: files that grow by whole sections and never change otherwise. Private to this folder.
//
// A section's bytes lie in a content of its own, so that a long one is staged like any other text
// and linked by one row, and a short one costs one chunk of its length. Later, neighbours that are
// shorter than a chunk are folded together into one.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "schema/change_set.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

// One on its way to the writer.
struct Section {
  SessionId session = 0;
  std::string bytes;
  uint64_t lines = 0;
  uint64_t history_bytes = 0;  // length that it was written for
  std::vector<Hash128> keys;
  Hash128 hash;
  std::vector<uint64_t> sums;  // of its chunks, unless staged
  ContentId staged = 0;
};

// Of a session that exists.
Result<HistoryState> last_state(Database& db, SessionId session);
// Appends the section as number `id`, which is that of its content too, unless it was staged.
// conflict, invalid_params, too_large. Gives the state after it.
Result<HistoryState> grow_history(Database& db, const Session& session, const Section& section,
                                  uint64_t id, int64_t now_ns, ChangeSet& changes);
// As read_content.
Result<bool> read_history(Database& db, SessionId session, uint64_t offset, std::span<char> out);

// Where short sections wait to be folded. Kept in memory alone: what a stop forgets is read as it
// is, and the history's next growth finds the newest of it.
class HistoryFolds {
 public:
  // A section has been written at `at`. Any thread.
  void note(SessionId session, uint64_t at, uint64_t size);
  // Idle work of the writer: a few milliseconds. True: there is more.
  Result<bool> step(Database& db);

 private:
  std::mutex mutex_;
  std::map<SessionId, uint64_t> from_;  // offset from which on there may be some
};

}  // namespace ebla::sqlite
