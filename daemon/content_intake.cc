#include "daemon/content_intake.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/wait_for.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kSlicesOnTheWay = 4;

// Sends slices to the store and knows how many have not arrived.
class Stager {
 public:
  explicit Stager(Store& store) : store_(store), state_(std::make_shared<State>()) {}

  // Waits until there is room. The error of any slice before.
  Result<void> send(std::string slice) {
    std::unique_lock lock(state_->mutex);
    // The first slice brings the id that the others name.
    const size_t room = sent_ > 0 && state_->content == 0 ? 1 : kSlicesOnTheWay;
    wait(lock, [&] { return state_->on_the_way < room || state_->error; });
    if (state_->error) return std::unexpected(*state_->error);
    const ContentId content = state_->content;
    ++state_->on_the_way;
    lock.unlock();
    const uint64_t offset = std::exchange(sent_, sent_ + slice.size());
    store_.stage(content, offset, std::move(slice), durable_change(),
                 [state = state_](Result<ContentId> id, const ChangeSet&) {
                   const std::scoped_lock guard(state->mutex);
                   --state->on_the_way;
                   if (id) {
                     state->content = *id;
                   } else if (!state->error) {
                     state->error = std::move(id.error());
                   }
                   state->arrived.notify_all();
                 });
    return {};
  }

  // All that was sent is there, or the first error.
  Result<ContentId> finish() {
    std::unique_lock lock(state_->mutex);
    for (size_t left = state_->on_the_way; left > 0; left = state_->on_the_way) {
      if (!wait(lock, [&] { return state_->on_the_way < left; })) break;
    }
    if (state_->error) return std::unexpected(*state_->error);
    return state_->content;
  }

  // After finish(), whatever it said.
  ContentId content() const { return state_->content; }

 private:
  // False, and an error from here on: the store says nothing.
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, Done done) {
    if (state_->arrived.wait_until(lock, store_patience(), done)) return true;
    if (!state_->error) state_->error = silent_store();
    return false;
  }

  struct State {
    std::mutex mutex;
    std::condition_variable arrived;
    size_t on_the_way = 0;
    ContentId content = 0;
    std::optional<Error> error;
  };
  Store& store_;
  std::shared_ptr<State> state_;
  uint64_t sent_ = 0;
};

Result<uint64_t> stage_all(Stager& stager, ContentSource& source, context::ContentScan& scan,
                           std::string slice) {
  uint64_t size = 0;
  while (!slice.empty()) {
    size += slice.size();
    if (size > limits::kFileBytes) {
      return fail(Code::too_large, "content: longer than a file may be");
    }
    scan.feed(slice);
    if (auto sent = stager.send(std::move(slice)); !sent) return std::unexpected(sent.error());
    auto next = next_slice(source, limits::kStageSliceBytes);
    if (!next) return std::unexpected(next.error());
    slice = *std::move(next);
  }
  return size;
}

}  // namespace

Result<std::string> next_slice(ContentSource& source, size_t size) {
  std::string slice(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    auto got = source.pull(std::span(slice).subspan(filled));
    if (!got) return std::unexpected(got.error());
    if (*got == 0) break;
    filled += *got;
  }
  slice.resize(filled);
  return slice;
}

void pull_from_memory(ContentSource& source) {
  source.pull = [bytes = std::move(source.bytes), at = size_t{0}](std::span<char> out) mutable {
    const size_t got = bytes.copy(out.data(), out.size(), at);
    at += got;
    return Result<size_t>(got);
  };
  source.bytes.clear();
}

Result<Intake> take_in(Store& store, ContentSource& source, context::ScanOptions options) {
  static_assert(limits::kStageSliceBytes == limits::kInlineContentBytes);
  Intake intake{context::ContentScan(options), {}};
  if (!source.pull && source.bytes.size() > limits::kInlineContentBytes) pull_from_memory(source);
  std::string slice;
  if (source.pull) {
    auto first = next_slice(source, limits::kStageSliceBytes);
    if (!first) return std::unexpected(first.error());
    slice = *std::move(first);
  } else {
    slice = std::move(source.bytes);
  }
  // A slice that is not full is the whole content.
  if (slice.size() < limits::kStageSliceBytes || !source.pull) {
    intake.scan.feed(slice);
    intake.scan.finish();
    intake.content = {std::move(slice), 0, intake.scan.sums().bytes, intake.scan.hash()};
    return intake;
  }
  Stager stager(store);
  auto size = stage_all(stager, source, intake.scan, std::move(slice));
  auto content = stager.finish();
  if (!size || !content) {
    discard(store, {.bytes = {}, .staged = stager.content(), .size = 0, .hash = {}});
    return std::unexpected(size ? content.error() : size.error());
  }
  intake.scan.finish();
  intake.content = {{}, *content, *size, intake.scan.hash()};
  return intake;
}

void discard(Store& store, const ContentRef& content) {
  if (content.staged == 0) return;
  // What can not be discarded now is reclaimed at the next start.
  store.discard(content.staged,
                {.durability = Durability::ordered, .origin = 0, .deadline = Deadline::max()},
                [](Result<void>, const ChangeSet&) {});
}

}  // namespace ebla::daemon
