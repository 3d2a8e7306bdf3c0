// Bytes of clients' files that are written but not committed: the newest state of every such file,
// which readers lay over what the database holds. Knows no SQL but the row a file starts from.
// ebla-store(5) says when they are committed; WriteBehind does it.
//
// A file has at most two layers. The open one takes what is written now. The closed one, below it,
// stays as it is: the writer has begun to commit it, and it goes when COMMIT has succeeded. When
// that fails, the next attempt takes both in one. A layer is laid over the database whether or not
// that has it yet, so that readers need not know; they only must not miss one that went while they
// read (Glance).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/base/result.h"
#include "schema/model.h"
#include "schema/sqlite/layer.h"

namespace ebla::sqlite {

// A file that is written to. Its mutex is held for copying bytes and for reading the row it starts
// from, never for a commit.
struct DirtyFile {
  explicit DirtyFile(Ino number) : ino(number) {}

  const Ino ino;
  std::mutex mutex;    // guards all below
  bool known = false;  // what the row says has been read
  bool gone = false;   // no longer in the table: look again
  SessionId session = 0;
  SessionId tree = 0;
  uint64_t size = 0;
  uint64_t committed_size = 0;
  uint64_t raw_bytes = 0;
  std::shared_ptr<Layer> closed;
  std::shared_ptr<Layer> open;
  size_t weight = 0;                          // of all layers
  bool flush_asked = false;                   // a unit that will take the open layer is under way
  std::chrono::steady_clock::time_point due;  // when what is here shall be committed
  uint64_t dropped_at = 0;  // Overlay's count when a layer of it last went, or when it came

  bool clean() const { return !closed && !open; }
};

// What a row says of a file before it is written to.
struct FileStart {
  uint64_t size = 0;
  uint64_t raw_bytes = 0;
  SessionId session = 0;
  SessionId tree = 0;
};

// Thread safe.
class Overlay {
 public:
  // Begins one that reads. Whatever was written before is seen by a read of the database after it,
  // or is in the overlay still.
  struct Glance {
    uint64_t drops = 0;
    bool any = false;    // of at_any(): which file it will be was not known
    bool dirty = false;  // of at(): the file was here
  };
  Glance at(Ino ino) const;
  Glance at_any() const { return {.drops = drops_.load(), .any = true, .dirty = false}; }

  // Both: false when a layer went meanwhile, so that the database must be read again. After
  // at_any() that is also said when layers of other files went.
  // Makes of the row's attributes those of now.
  bool amend(const Glance& glance, Attr& attr) const;
  // `out` holds `held` bytes of the database's content at `offset`; `count` says how many there are
  // now.
  bool amend(const Glance& glance, Ino ino, uint64_t offset, std::span<char> out, size_t held,
             size_t& count) const;
  // Attributes that the writer's thread has just read or made.
  void amend_now(Attr& attr) const;

  // Runs `change` on the file with its mutex held; `start` is asked for the row when the file is
  // new here. Answers start's error or change's.
  using Start = std::function<Result<FileStart>(Ino)>;
  Result<void> change(Ino ino, const Start& start,
                      const std::function<Result<void>(DirtyFile&)>& change);

  // Closes the open layer. Answers it, with whatever is still here of those closed before; nullptr:
  // there is none.
  std::shared_ptr<Layer> close(Ino ino);
  // It stands in the row now, with this change counter, and will be committed unless that fails.
  void note_written(Ino ino, const std::shared_ptr<Layer>& layer, uint64_t change);
  // It is committed.
  void drop(Ino ino, const std::shared_ptr<Layer>& layer);
  // The node is no more.
  void forget(Ino ino);

  // What layers say of where data is: more than there is, rather than less. nullopt: none.
  struct Outline {
    uint64_t size = 0;
    uint64_t cut = Layer::kUncut;  // nothing of the database's content is left from here on
    std::vector<std::pair<uint64_t, uint64_t>> data;  // offset and end of written ranges
  };
  std::optional<Outline> outline(Ino ino) const;

  std::vector<Ino> files() const;
  // Files that are due, and when the next one will be (max: none). Those that are told are due
  // again a while later, unless they have been committed by then.
  std::vector<Ino> take_due(std::chrono::steady_clock::time_point now,
                            std::chrono::steady_clock::time_point& next);
  // Files with an open layer that no unit is asked to take; now one is.
  std::vector<Ino> take_open();
  // The unit that was asked for did not come to it.
  void ask_again(Ino ino);
  size_t weight() const { return weight_.load(); }
  // How many bytes longer all files together, or those of one session tree, are than the database
  // says.
  int64_t growth(std::optional<SessionId> tree = std::nullopt) const;
  bool empty() const { return count_.load() == 0; }
  uint64_t drops() const { return drops_.load(); }  // how often layers went so far
  void add_weight(DirtyFile& file, ptrdiff_t by);

 private:
  std::shared_ptr<DirtyFile> find(Ino ino) const;
  std::shared_ptr<DirtyFile> find_or_add(Ino ino);
  bool unchanged(const Glance& glance) const;
  std::vector<std::shared_ptr<DirtyFile>> all() const;
  void remove_clean(const std::shared_ptr<DirtyFile>& file);

  mutable std::mutex mutex_;  // taken before a file's, never after
  std::unordered_map<Ino, std::shared_ptr<DirtyFile>> files_;
  std::atomic<size_t> count_{0};  // of files_: readers of a clean store take no lock
  std::atomic<uint64_t> drops_{0};
  std::atomic<size_t> weight_{0};
};

}  // namespace ebla::sqlite
