// P3: a section of 4 KB is appended to a history of 50 MB, durable when answered, against the same
// bytes appended to a file and synced with fdatasync; and whether it stays as fast over 10,000.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <future>
#include <string>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/sqlite/open.h"
#include "schema/store.h"
#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr size_t kSectionBytes = 4'096;
constexpr uint64_t kHistoryBytes = 50 * limits::kMiB;
constexpr uint64_t kAppends = 10'000;
constexpr uint64_t kWindow = 1'000;     // first and last ones
constexpr uint64_t kFloorInterval = 5;  // one file append after so many

template <class T, class F>
T wait_for(F start) {
  std::promise<Result<T>> ended;
  auto result = ended.get_future();
  start(Completion<T>(
      [&ended](Result<T> made, const ChangeSet&) { ended.set_value(std::move(made)); }));
  return must(result.get(), "change of the store");
}

class History {
 public:
  explicit History(Store& store) : store_(store) {
    SessionPlan plan;
    plan.id_candidates = {"bench"};
    session_ = wait_for<SessionOutcome>([&](Completion<SessionOutcome> done) {
                 store_.open_session(plan, {}, std::move(done));
               }).session.serial;
  }

  uint64_t bytes() const { return bytes_; }

  void append(size_t bytes) {
    HistoryPlan plan;
    plan.session = session_;
    plan.section = distinct_text(bytes, ++number_);
    plan.section.back() = '\n';
    plan.section_lines = bytes / 50;
    plan.history_bytes = bytes_;
    plan.keys = {xxh3_128(plan.section)};
    bytes_ = wait_for<HistoryState>([&](Completion<HistoryState> done) {
               store_.append_history(std::move(plan), {}, std::move(done));
             }).bytes;
  }

 private:
  Store& store_;
  SessionId session_ = 0;
  uint64_t bytes_ = 0;
  uint64_t number_ = 0;
};

}  // namespace

void row_history(const Settings&, const WorkFolder& folder) {
  const SystemClock clock;
  sqlite::OpenOptions options;
  options.path = folder / "p3.db";
  options.clock = &clock;
  const auto store = must(sqlite::open_store(options), "open the store");
  History history(*store);
  while (history.bytes() < kHistoryBytes) history.append(limits::kMiB);
  const UniqueFd file =
      must(open_file(folder / "p3.log", O_WRONLY | O_CREAT | O_APPEND, 0600), "open");
  const std::string text = distinct_text(kSectionBytes, 1);

  Samples ours;
  Samples floor;
  Samples first;
  Samples last;
  for (uint64_t i = 0; i < kAppends; ++i) {
    const double ms = seconds([&] { history.append(kSectionBytes); }) * 1e3;
    ours.add(ms);
    if (i < kWindow) first.add(ms);
    if (i >= kAppends - kWindow) last.add(ms);
    if (i % kFloorInterval != 0) continue;
    floor.add(1e3 * seconds([&] {
                if (!write_full(file.get(), text) || ::fdatasync(file.get()) != 0)
                  die("write and sync");
              }));
  }
  const double middle = ours.median() / floor.median();
  print({"P3", "append 4 KB to a 50 MB history, durable: p50",
         fmt::format("{:.2f} ms", ours.median()),
         fmt::format("append + fdatasync {:.2f} ms", floor.median()),
         fmt::format("{:.2f} x", middle), "<= 4 x", middle <= 4});
  const double growth = last.median() / first.median();
  print({"P3", "the last 1,000 of 10,000 such appends: p50",
         fmt::format("{:.2f} ms", last.median()),
         fmt::format("the first 1,000 {:.2f} ms", first.median()), fmt::format("{:.2f} x", growth),
         "<= 1.25 x", growth <= 1.25});
}

}  // namespace ebla::bench
