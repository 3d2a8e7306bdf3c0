// Two stores side by side: every operation runs on both, and whatever they answer and hold is
// compared. Ids are opaque, so they are paired as they appear.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/base/clock.h"
#include "schema/store.h"
#include "tests/kit/store_calls.h"

namespace ebla {

// Plain numbers: what they stand for is decided when the operation runs, so that any tail of a
// sequence is a sequence.
struct Operation {
  enum class Kind : uint8_t {
    open_session,
    put_away,
    put_again,
    put_staged,
    stage,
    discard,
    remove,
    reap,
    find,
    tick,
    sync,
    reopen,
    append_history,
    commit_pass,
    close_session,
    find_items,
    set_fact,
    create,
    link,
    rename,
    unlink,
    remove_folder,
    setattr,
    xattr,
    write,
    allocate,
    copy,
    flush,
    replace,
  };
  Kind kind = Kind::tick;
  std::array<uint32_t, 8> random{};
};
std::string describe(const Operation& operation);
// Now and then one waits for the disk.
ChangeOptions options_of(const Operation& operation);

// What a value says without ids, and its ids in order.
struct Described {
  std::string text;
  std::vector<uint64_t> inos;
  std::vector<uint64_t> sessions;
  std::vector<uint64_t> contents;
};

class RandomWorld {
 public:
  using Opener = std::function<std::unique_ptr<Store>(const Clock&)>;
  // `left` is opened once and never again; `right` keeps its state when it is opened again.
  RandomWorld(const Opener& left, Opener right);

  // Empty while the two agree, else where they differ.
  std::string run(const Operation& operation);
  // The whole tree, all attributes and contents, sessions, tombstones, aliases and counters.
  // `thorough`: also every byte of long files.
  std::string compare_all(bool thorough);

 private:
  enum Side : size_t { kLeft, kRight };
  template <class T>
  using Both = std::array<T, 2>;

  class IdPairs {
   public:
    bool match(uint64_t left, uint64_t right);
    std::optional<uint64_t> right_of(uint64_t left) const;

   private:
    std::map<uint64_t, uint64_t> to_right_{{0, 0}};
    std::map<uint64_t, uint64_t> to_left_{{0, 0}};
  };

  Store& store(Side side) { return *stores_[side]; }
  template <class F>
  auto on_both(F call) {
    return Both<decltype(call(kLeft))>{call(kLeft), call(kRight)};
  }
  // Compares results, and change sets when both succeeded.
  template <class T>
  std::string compare(const char* what, const Both<kit::Ended<T>>& ended);
  template <class T>
  std::string compare(const char* what, const Both<Result<T>>& results);
  std::string compare(const char* what, const Both<Described>& values);
  std::string compare(const Both<ChangeSet>& changes);

  std::string open_session(const Operation& op);
  std::string put_away(const Operation& op, bool again);
  std::string put_staged(const Operation& op);
  std::string commit(const Operation& op, const Both<EvictionPlan>& plans);
  std::string stage(const Operation& op);
  std::string discard(const Operation& op);
  std::string remove(const Operation& op);
  std::string reap(const Operation& op);
  std::string find(const Operation& op);
  std::string reopen();

  // What the context engine remembers: random_passes.cc.
  std::string grow_history(const Operation& op, bool pass);
  std::string close_session(const Operation& op);
  std::string find_items(const Operation& op);
  std::string set_fact(const Operation& op);
  std::string compare_memory();
  // random_files.cc
  std::string run_file(const Operation& op);
  std::string create(const Operation& op);
  std::string link(const Operation& op);
  std::string rename(const Operation& op);
  std::string unlink(const Operation& op, bool folder);
  std::string setattr(const Operation& op);
  std::string xattr(const Operation& op);
  std::string write(const Operation& op);
  std::string allocate(const Operation& op);
  std::string copy(const Operation& op);
  std::string flush(const Operation& op);
  std::string replace(const Operation& op);
  Both<Ino> some_node(uint32_t random) const;
  void note_orphans(const ChangeSet& changes);
  void touched(const Both<Ino>& ino) { read_whole_[ino[kLeft]] = false; }

  std::string compare_folder(const Both<Ino>& dir, const std::string& path, bool thorough);
  std::string compare_node(const Both<Ino>& ino, const std::string& path, bool thorough);
  std::string compare_bytes(const Both<Ino>& ino, uint64_t size, const std::string& path,
                            bool thorough);
  std::string compare_sessions();
  // The change counter grows whenever an attribute changed.
  std::string check_growth(Side side, const Attr& attr, const std::string& path);

  EvictionPlan base_plan(const Operation& op, Side side) const;
  Both<SessionId> some_session(uint32_t random) const;
  Both<Ino> some_folder(uint32_t random) const;

  struct Staged {
    Both<ContentId> id;
    std::string bytes;
  };
  struct Name {
    Both<Ino> folder;
    std::string name;
  };

  ManualClock clock_;
  Opener open_right_;
  Both<std::unique_ptr<Store>> stores_;
  IdPairs inos_;
  IdPairs session_ids_;
  IdPairs contents_;
  std::vector<Both<Session>> sessions_;
  std::vector<Both<EvictionPlan>> plans_;  // committed ones
  std::vector<Hash128> replacements_;
  std::vector<Staged> staged_;
  std::vector<Both<Ino>> orphans_;
  std::vector<Both<Ino>> nodes_;    // of clients, gone ones too
  std::vector<Both<Ino>> folders_;  // of clients
  std::vector<Name> names_;         // entries that were seen, with what they name or named
  std::array<std::map<Ino, Attr>, 2> last_;
  std::map<Ino, bool> read_whole_;  // left ids
  Both<uint64_t> revisions_{};
};

}  // namespace ebla
