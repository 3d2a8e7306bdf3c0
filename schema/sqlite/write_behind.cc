#include "schema/sqlite/write_behind.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <iterator>
#include <limits>
#include <string>

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/sqlite/file_content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

using limits::kDirtyBytes;
using limits::kDirtyFileBytes;
using limits::kFileBytes;

constexpr auto kAge = std::chrono::milliseconds(limits::kDirtyAgeMs);
// A byte needs room in the log and, later, in the database.
constexpr uint64_t kRoomFactor = 2;

// The first error of several completions, told when all have run.
class Joined {
 public:
  Joined(size_t parts, std::move_only_function<void(Result<void>)> done)
      : left_(parts), done_(std::move(done)) {}
  void end(Result<void> part) {
    {
      const std::scoped_lock lock(mutex_);
      if (!part && result_) result_ = std::move(part);
      if (--left_ != 0) return;
    }
    done_(std::move(result_));
  }

 private:
  std::mutex mutex_;
  size_t left_;
  Result<void> result_;
  std::move_only_function<void(Result<void>)> done_;
};

// Bytes of the caller's until the call returns; from then on a copy.
struct Source {
  std::string_view bytes;
  std::string copy;
};

void note_growth(DirtyFile& file, uint64_t offset, uint64_t end) {
  if (end <= file.size) return;
  // What lies within the file counts as held.
  file.raw_bytes += end - std::max(offset, file.size);
  file.size = end;
}

}  // namespace

Result<void> Carried::write(Database& db, Ino ino, ChangeSet& changes) {
  const auto layer = overlay_.close(ino);
  if (!layer) return {};
  taken_.push_back({.ino = ino, .layer = layer});
  auto change = write_layer(db, ino, *layer, changes);
  if (!change) return std::unexpected(std::move(change.error()));
  if (*change == 0) return {};
  taken_.back().written = true;
  overlay_.note_written(ino, layer, *change);
  return {};
}

void Carried::committed() {
  for (const Taken& one : taken_) overlay_.drop(one.ino, one.layer);
  taken_.clear();
}

void Carried::undone() {
  for (const Taken& one : taken_) {
    if (one.written) overlay_.note_written(one.ino, one.layer, 0);
  }
  taken_.clear();
}

// One call that changes a file.
struct WriteBehind::Edit {
  Ino ino = 0;
  uint64_t weight = 0;  // bytes that it brings; 0: nothing grows
  ChangeOptions options;
  bool tells_range = true;
  uint64_t tree_left = std::numeric_limits<uint64_t>::max();  // looked at before each attempt
  // With the file's mutex held: what the call is about, or why not; then the change itself, unless
  // the range is empty.
  std::move_only_function<Result<Range>(const DirtyFile&, uint64_t tree_left)> range;
  std::move_only_function<void(DirtyFile&, Layer&, Range)> apply;
  std::move_only_function<void()> keep;  // before it waits
  std::move_only_function<void(Result<Range>, const ChangeSet&)> done;
};

WriteBehind::WriteBehind(Overlay& overlay, ReaderPool& readers, const Clock& clock,
                         const Quotas& quotas)
    : overlay_(overlay), readers_(readers), clock_(clock), quotas_(quotas) {}

WriteBehind::~WriteBehind() {
  stop();
}

Result<FileStart> WriteBehind::read_start(Ino ino) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader,
                   "SELECT i.kind, i.flags, i.size, i.raw, i.session, s.tree FROM inodes i "
                   "LEFT JOIN sessions s ON s.serial = i.session WHERE i.ino = ?",
                   ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such_node(ino));
  const auto kind = static_cast<NodeKind>(row->int64(0));
  if (kind != NodeKind::file) {
    return fail(kind == NodeKind::directory ? Code::is_directory : Code::invalid_params,
                fmt::format("node {} is no file: it holds no bytes", ino));
  }
  if ((row->int64(1) & (kNodeProtected | kNodeImmutable)) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("node {} is protected: its content stays", ino));
  }
  return FileStart{.size = row->uint64(2),
                   .raw_bytes = row->uint64(3),
                   .session = row->uint64(4),
                   .tree = row->is_null(5) ? 0 : row->uint64(5)};
}

Result<void> WriteBehind::check_end(const DirtyFile& file, uint64_t tree_left, uint64_t end) const {
  return check_growth(file.size, end, quotas_, tree_left);
}

Result<void> WriteBehind::admit(uint64_t bytes) {
  auto accepted = writer_->accepts_growth(kRoomFactor * bytes);
  if (accepted || accepted.error().code != Code::no_space || probing_.exchange(true)) {
    return accepted;
  }
  // Free pages count as room, and only the writer sees them: a unit of nothing makes it look.
  Writer::Unit look;
  look.options.durability = Durability::ordered;
  look.growth = false;
  look.apply = [](Database&, ChangeSet&) -> Result<void> { return {}; };
  look.done = [this](const Result<void>&, const ChangeSet&) { probing_ = false; };
  writer_->submit(std::move(look));
  return accepted;
}

bool WriteBehind::must_wait(const DirtyFile& file, uint64_t weight) const {
  if (weight == 0) return false;
  if (!file.clean() && file.weight + weight > kDirtyFileBytes) return true;
  return overlay_.weight() != 0 && overlay_.weight() + weight > kDirtyBytes;
}

Result<bool> WriteBehind::try_edit(Edit& edit, Range& range, ChangeSet& changes) {
  if (edit.options.deadline < std::chrono::steady_clock::now()) {
    return fail(Code::timeout, "the store was too busy: the deadline of the change passed");
  }
  if (quotas_.session_bytes != 0) {
    auto reader = readers_.take();
    if (!reader) return std::unexpected(std::move(reader.error()));
    auto left = sqlite::tree_left(**reader, overlay_, edit.ino, quotas_);
    if (!left) return std::unexpected(std::move(left.error()));
    edit.tree_left = *left;
  }
  bool waits = false;
  bool ask = false;
  const auto start = [this](Ino ino) { return read_start(ino); };
  auto done = overlay_.change(edit.ino, start, [&](DirtyFile& file) -> Result<void> {
    auto wanted = edit.range(file, edit.tree_left);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    range = *wanted;
    if (range.offset == range.end) return {};
    waits = must_wait(file, edit.weight);
    if (!waits && edit.weight != 0) {
      if (auto room = admit(overlay_.weight() + edit.weight); !room) return room;
    }
    if (!waits) {
      if (file.clean()) file.due = std::chrono::steady_clock::now() + kAge;
      if (!file.open) file.open = std::make_shared<Layer>();
      Layer& layer = *file.open;
      const size_t before = layer.weight();
      edit.apply(file, layer, range);
      overlay_.add_weight(file,
                          static_cast<ptrdiff_t>(layer.weight()) - static_cast<ptrdiff_t>(before));
      layer.size = file.size;
      layer.raw_bytes = file.raw_bytes;
      layer.time_ns = clock_.wall_ns();
      ++layer.changes;
      changes.origin = edit.options.origin;
      changes.session = file.session;
      changes.tree = file.tree;
      changes.attributes.push_back(edit.ino);
      if (edit.tells_range) {
        changes.ranges.push_back(
            {.ino = edit.ino, .offset = range.offset, .length = range.end - range.offset});
      }
    }
    ask = !file.flush_asked && file.open && (waits || file.open->weight() > kDirtyFileBytes / 2);
    if (ask) file.flush_asked = true;
    return {};
  });
  if (ask) submit_quietly(edit.ino);
  if (!done) return std::unexpected(std::move(done.error()));
  wake(waits || overlay_.weight() > kDirtyBytes / 2);
  return !waits;
}

void WriteBehind::run(std::unique_ptr<Edit> edit) {
  ChangeSet changes;
  Range range;
  const uint64_t drops = overlay_.drops();
  auto ended = try_edit(*edit, range, changes);
  if (!ended) return edit->done(std::unexpected(std::move(ended.error())), {});
  if (*ended) return edit->done(range, changes);
  if (edit->keep) edit->keep();
  {
    const std::scoped_lock lock(waiting_mutex_);
    waiting_.push_back(std::move(edit));
  }
  // The room may have been made before this one was there to see it.
  if (overlay_.drops() != drops) room_made();
}

void WriteBehind::room_made() {
  std::deque<std::unique_ptr<Edit>> all;
  {
    const std::scoped_lock lock(waiting_mutex_);
    all.swap(waiting_);
  }
  for (auto& edit : all) run(std::move(edit));
}

void WriteBehind::fail_waiting(const Error& error) {
  std::deque<std::unique_ptr<Edit>> all;
  {
    const std::scoped_lock lock(waiting_mutex_);
    all.swap(waiting_);
  }
  for (auto& edit : all) edit->done(std::unexpected(error), {});
}

namespace {

Result<void> check_range(uint64_t offset, uint64_t length) {
  if (offset <= kFileBytes && length <= kFileBytes - offset) return {};
  return fail(Code::too_large, fmt::format("a file has at most {} bytes", kFileBytes));
}

}  // namespace

void WriteBehind::write(WritePlan plan, std::string_view bytes, ChangeOptions options,
                        Completion<WriteOutcome> done) {
  auto source = std::make_shared<Source>(bytes, std::string());
  auto edit = std::make_unique<Edit>();
  edit->ino = plan.ino;
  edit->weight = bytes.size();
  edit->options = options;
  edit->range = [this, plan, count = bytes.size()](const DirtyFile& file,
                                                   uint64_t left) -> Result<Range> {
    const uint64_t offset = plan.append ? file.size : plan.offset;
    auto good = check_range(offset, count);
    if (good) good = check_end(file, left, offset + count);
    if (!good) return std::unexpected(good.error());
    return Range{offset, offset + count};
  };
  edit->apply = [source, drop = plan.drop_privileges](DirtyFile& file, Layer& layer, Range range) {
    layer.write(range.offset, source->bytes);
    layer.drop_privileges |= drop;
    note_growth(file, range.offset, range.end);
  };
  edit->keep = [source] {
    if (source->copy.empty()) source->copy = source->bytes;
    source->bytes = source->copy;
  };
  edit->done = [done = std::move(done)](Result<Range> range, const ChangeSet& changes) mutable {
    if (!range) return done(std::unexpected(std::move(range.error())), changes);
    done(WriteOutcome{.offset = range->offset, .count = range->end - range->offset}, changes);
  };
  run(std::move(edit));
}

void WriteBehind::allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) {
  using Mode = AllocatePlan::Mode;
  const bool zeros = plan.mode != Mode::reserve && plan.mode != Mode::reserve_beyond;
  const bool grows = plan.mode == Mode::reserve || plan.mode == Mode::zero;
  if (plan.mode != Mode::punch) {
    if (auto room = admit(plan.length / kRoomFactor); !room) {
      return done(std::unexpected(std::move(room.error())), {});
    }
  }
  auto edit = std::make_unique<Edit>();
  edit->ino = plan.ino;
  edit->options = options;
  edit->tells_range = zeros;
  edit->range = [this, plan, grows](const DirtyFile& file, uint64_t left) -> Result<Range> {
    if (plan.length == 0) return fail(Code::invalid_params, "a range has at least one byte");
    auto good = check_range(plan.offset, plan.length);
    if (good && grows) good = check_end(file, left, plan.offset + plan.length);
    if (!good) return std::unexpected(good.error());
    return Range{plan.offset, plan.offset + plan.length};
  };
  edit->apply = [zeros, grows](DirtyFile& file, Layer& layer, Range range) {
    if (zeros) layer.zero(range.offset, std::min(range.end, std::max(file.size, range.offset)));
    if (grows) file.size = std::max(file.size, range.end);
  };
  edit->done = [done = std::move(done)](Result<Range> range, const ChangeSet& changes) mutable {
    if (!range) return done(std::unexpected(std::move(range.error())), changes);
    done({}, changes);
  };
  run(std::move(edit));
}

void WriteBehind::copy(CopyPlan plan, Segments segments, ChangeOptions options,
                       Completion<uint64_t> done) {
  auto edit = std::make_unique<Edit>();
  edit->ino = plan.to;
  edit->options = options;
  uint64_t count = 0;
  for (const auto& segment : segments) {
    count += segment.length();
    edit->weight += segment.bytes.size();
  }
  edit->range = [this, plan, count](const DirtyFile& file, uint64_t left) -> Result<Range> {
    if (count == 0) return Range{};
    auto good = check_range(plan.to_offset, count);
    if (good) good = check_end(file, left, plan.to_offset + count);
    if (!good) return std::unexpected(good.error());
    if (plan.from == plan.to && plan.from_offset < plan.to_offset + count &&
        plan.to_offset < plan.from_offset + count) {
      return fail(Code::invalid_params, "the ranges overlap");
    }
    return Range{plan.to_offset, plan.to_offset + count};
  };
  edit->apply = [segments = std::move(segments)](DirtyFile& file, Layer& layer, Range range) {
    uint64_t at = range.offset;
    for (const auto& segment : segments) {
      const uint64_t end = at + segment.length();
      if (segment.zeros == 0) {
        layer.write(at, segment.bytes);
        note_growth(file, at, end);
      } else {
        layer.zero(at, std::min(end, std::max(file.size, at)));
        file.size = std::max(file.size, end);
      }
      at = end;
    }
  };
  edit->done = [done = std::move(done)](Result<Range> range, const ChangeSet& changes) mutable {
    if (!range) return done(std::unexpected(std::move(range.error())), changes);
    done(range->end - range->offset, changes);
  };
  run(std::move(edit));
}

Result<uint64_t> WriteBehind::resize(const SetAttrPlan& plan) {
  const uint64_t size = *plan.size;
  uint64_t before = 0;
  Result<void> ended;
  Edit edit;
  edit.ino = plan.ino;
  edit.range = [&](const DirtyFile& file, uint64_t left) -> Result<Range> {
    auto good = check_range(size, 0);
    if (good) good = check_end(file, left, size);
    if (!good) return std::unexpected(good.error());
    before = file.size;
    return Range{0, 1};  // never empty: the same size is a change too
  };
  edit.apply = [&](DirtyFile& file, Layer& layer, Range) {
    if (size < file.size) layer.cut(size);
    layer.drop_privileges |= plan.drop_privileges;
    file.size = size;
    file.raw_bytes = std::min(file.raw_bytes, size);
  };
  Range unused;
  ChangeSet unseen;
  if (auto done = try_edit(edit, unused, unseen); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return before;
}

void WriteBehind::submit(Ino ino, ChangeOptions options, Completion<void> done) {
  auto carried = std::make_shared<Carried>(overlay_);
  Writer::Unit unit;
  unit.options = options;
  unit.options.origin = 0;
  unit.admitted = true;
  unit.apply = [carried, ino](Database& db, ChangeSet& changes) {
    carried->begin();
    return carried->write(db, ino, changes);
  };
  unit.committed = [this, carried] {
    carried->committed();
    room_made();
  };
  unit.done = [done = std::move(done)](Result<void> result, const ChangeSet& changes) mutable {
    done(std::move(result), changes);
  };
  writer_->submit(std::move(unit));
}

void WriteBehind::submit_quietly(Ino ino) {
  submit(ino, {.durability = Durability::ordered},
         [this, ino](const Result<void>& result, const ChangeSet&) {
           if (result) return;
           overlay_.ask_again(ino);
           fail_waiting(result.error());
         });
}

void WriteBehind::flush(Ino ino, ChangeOptions options, Completion<void> done) {
  if (options.durability == Durability::ordered && !overlay_.at(ino).dirty) return done({}, {});
  submit(ino, options, std::move(done));
}

void WriteBehind::flush_all(std::move_only_function<void(Result<void>)> done) {
  const std::vector<Ino> inos = overlay_.files();
  if (inos.empty()) return done({});
  auto joined = std::make_shared<Joined>(inos.size(), std::move(done));
  for (const Ino ino : inos) {
    submit(ino, {.durability = Durability::ordered},
           [joined](Result<void> result, const ChangeSet&) { joined->end(std::move(result)); });
  }
}

void WriteBehind::start(Writer& writer) {
  writer_ = &writer;
  thread_ = std::thread([this] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "ebla-behind");
    look_after();
  });
}

void WriteBehind::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || writer_ == nullptr) return;
    stopping_ = true;
    wake_.notify_all();
  }
  thread_.join();
  std::promise<Result<void>> all;
  flush_all([&all](Result<void> result) { all.set_value(std::move(result)); });
  if (const auto result = all.get_future().get(); !result) {
    log::error("{} bytes written to files are lost, the store did not take them: {}",
               overlay_.weight(), result.error().text);
  }
  fail_waiting({Code::unavailable, "the store is being closed: try again after the next start"});
}

void WriteBehind::wake(bool all) {
  if (!all && armed_.load()) return;
  const std::scoped_lock lock(mutex_);
  all_wanted_ |= all;
  armed_ = true;
  wake_.notify_one();
}

void WriteBehind::look_after() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    armed_ = true;
    const bool all = std::exchange(all_wanted_, false);
    lock.unlock();
    auto next = std::chrono::steady_clock::time_point::max();
    std::vector<Ino> due = overlay_.take_due(std::chrono::steady_clock::now(), next);
    if (all) std::ranges::copy(overlay_.take_open(), std::back_inserter(due));
    for (const Ino ino : due) submit_quietly(ino);
    lock.lock();
    if (next != std::chrono::steady_clock::time_point::max()) {
      wake_.wait_until(lock, next, [this] { return stopping_ || all_wanted_; });
      continue;
    }
    armed_ = false;
    // A file that came before this was seen to be armed, and did not wake anybody.
    if (!overlay_.empty()) continue;
    wake_.wait(lock, [this] { return stopping_ || all_wanted_ || armed_.load(); });
  }
}

}  // namespace ebla::sqlite
