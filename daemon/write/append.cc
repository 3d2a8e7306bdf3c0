#include "daemon/write/append.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/content_intake.h"
#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

// A kernel tells of a close a moment after the program that closes has gone on.
constexpr std::chrono::milliseconds kBusyPause{10};
constexpr int kBusyPauses = 20;

void pause(Services& services) {
  auto over = std::make_shared<std::promise<void>>();
  auto waited = over->get_future();
  services.delays.at(std::chrono::steady_clock::now() + kBusyPause, [over] { over->set_value(); });
  waited.wait();
}

Error with_progress(Error error, uint64_t appended) {
  if (appended != 0) error.text += fmt::format("; {} bytes were appended before", appended);
  return error;
}

Error replaced(const Target& target) {
  return {Code::conflict,
          fmt::format("{} was replaced or removed meanwhile: try again", printable(target.path))};
}

// One piece at the end of the node, if it still is what `if_etag` says. The lock keeps other
// appends of the socket away; those of mounts are kept away by the growth.
Result<WriteOutcome> write_piece(const MethodCall& call, const Target& target,
                                 const PutOptions& options, std::string_view bytes) {
  Services& services = call.services();
  Change<WriteOutcome> change;
  std::vector<ChangeSet> changes;
  std::unique_lock lock(services.append_mutex);
  const auto growth = services.mounts.begin_growth(target.node->ino);
  if (!growth) {
    return fail(growth.error().code,
                fmt::format("{}: {}", printable(target.path), growth.error().text));
  }
  auto now = services.store.getattr(target.node->ino);
  if (!now || now->nlink == 0) return std::unexpected(replaced(target));
  Target seen = target;
  seen.node = *now;
  if (auto good = check_put(call, seen, options); !good) {
    return std::unexpected(std::move(good.error()));
  }
  services.store.write({.ino = now->ino, .append = true, .drop_privileges = call.uid() != 0}, bytes,
                       durable_change(), change.completion(services));
  auto written = change.wait(changes);
  lock.unlock();
  tell_mounts(services, changes, *growth);
  return written;
}

// All that was written is on disk, in a file that still has a name.
Result<Attr> finish(const MethodCall& call, const Target& target) {
  Services& services = call.services();
  auto flushed = wait_for<void>(services, [&](Completion<void> done) {
    services.store.flush(target.node->ino, durable_change(), std::move(done));
  });
  if (!flushed) return std::unexpected(std::move(flushed.error()));
  auto now = services.store.getattr(target.node->ino);
  if (!now || now->nlink == 0) return std::unexpected(replaced(target));
  return now;
}

Result<PutOutcome> append_to(const MethodCall& call, const Target& target, PutOptions options,
                             std::string_view first, ContentSource& source) {
  PutOutcome outcome;
  uint64_t appended = 0;
  std::string next;
  for (std::string_view piece = first;;) {
    auto written = write_piece(call, target, options, piece);
    for (int waits = 0; waits < kBusyPauses && !call.cancelled(); ++waits) {
      if (written || written.error().code != Code::busy) break;
      pause(call.services());
      written = write_piece(call, target, options, piece);
    }
    if (!written) return std::unexpected(with_progress(std::move(written.error()), appended));
    if (!outcome.offset) outcome.offset = written->offset;
    appended += written->count;
    options.if_etag.reset();  // it was about the file before
    if (!source.pull || piece.size() < limits::kStageSliceBytes) break;
    auto slice = next_slice(source, limits::kStageSliceBytes);
    if (!slice) return std::unexpected(with_progress(std::move(slice.error()), appended));
    if (slice->empty()) break;
    next = *std::move(slice);
    piece = next;
  }
  auto attr = finish(call, target);
  if (!attr) return std::unexpected(with_progress(std::move(attr.error()), appended));
  outcome.attr = *attr;
  return outcome;
}

}  // namespace

Result<PutOutcome> append(const MethodCall& call, Target& target, const PutOptions& options,
                          ContentSource& source) {
  if (!source.pull && source.bytes.size() > limits::kInlineContentBytes) pull_from_memory(source);
  auto first = source.pull ? next_slice(source, limits::kStageSliceBytes)
                           : Result<std::string>(std::move(source.bytes));
  if (!first) return std::unexpected(std::move(first.error()));
  const bool whole = !source.pull || first->size() < limits::kStageSliceBytes;
  Result<PutOutcome> outcome = fail(Code::conflict, "");
  for (size_t attempt = 0; attempt < limits::kWriteAttempts; ++attempt) {
    bool made = false;
    if (!target.node) {
      // An empty file first: what comes is appended to it like to any other.
      auto put_empty = put_once(call, target, options, std::nullopt, {});
      if (put_empty) target.node = *put_empty;
      made = put_empty.has_value();
      if (!put_empty) outcome = std::unexpected(std::move(put_empty.error()));
    }
    if (target.node) {
      PutOptions rest = options;
      if (made) rest.if_etag.reset();
      outcome = append_to(call, target, std::move(rest), *first, source);
      if (outcome) outcome->created = made;
    }
    const bool again = !outcome && outcome.error().code == Code::conflict && whole;
    if (!again) return outcome;
    auto now = look_again(call, target);
    if (!now) return std::unexpected(std::move(now.error()));
    target = *std::move(now);
    if (auto good = check_put(call, target, options); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  return outcome;
}

}  // namespace ebla::daemon
