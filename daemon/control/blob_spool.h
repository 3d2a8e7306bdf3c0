// The blobs of one request while they come in. Small ones stay in memory; a large one, or any when
// the memory for blobs is used up, goes to an unnamed file. The disk is written by a worker, never
// by the event loop; a file that fails makes its request fail and nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/control/budget.h"
#include "daemon/control/control_target.h"
#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::daemon {

// An unnamed file under construction. One thread writes at a time; error() and take() only when no
// write is under way.
class SpoolFile {
 public:
  SpoolFile(std::string folder, Lease descriptor)
      : folder_(std::move(folder)), descriptor_(std::move(descriptor)) {}
  explicit SpoolFile(Error error) : failed_(true), error_(std::move(error)) {}

  // Waits for the disk. After a failure the rest is let go.
  void write(std::string_view piece);
  bool failed() const { return failed_.load(std::memory_order_acquire); }  // any thread
  const std::optional<Error>& error() const { return error_; }
  UniqueFd take() { return std::move(file_); }
  Lease take_lease() { return std::move(descriptor_); }

 private:
  void fail_with(Error error);

  std::string folder_;
  Lease descriptor_;
  UniqueFd file_;
  std::atomic<bool> failed_{false};
  std::optional<Error> error_;
};

// Bytes on their way to files, in order.
struct SpoolPiece {
  std::shared_ptr<SpoolFile> file;
  std::string bytes;
};

struct IncomingBlob {
  Blob blob;
  uint64_t filled = 0;               // of blob.size, so far
  std::shared_ptr<SpoolFile> spool;  // instead of blob.bytes
  Lease memory;
};

struct BlobLimits {
  std::shared_ptr<Budget> memory;       // bytes
  std::shared_ptr<Budget> descriptors;  // files open for requests
  std::string spool_folder;
};

// Loop thread.
class BlobCollector {
 public:
  explicit BlobCollector(const BlobLimits& shared) : shared_(shared) {}

  void begin(const std::vector<uint64_t>& sizes);
  // The next piece. One that lies in room() already is not copied.
  void add(size_t index, std::string_view piece);
  // Where the bytes of the blob under way may be received; empty when it goes to a file.
  std::span<char> room();
  std::vector<IncomingBlob> take() { return std::move(blobs_); }

  // What is to be written; the caller runs it on a worker, one batch at a time.
  std::vector<SpoolPiece> take_pending();
  size_t pending_bytes() const { return pending_bytes_; }

 private:
  void place(IncomingBlob& blob);
  void spool(const std::shared_ptr<SpoolFile>& file, std::string_view piece);

  const BlobLimits& shared_;
  std::vector<IncomingBlob> blobs_;
  std::vector<SpoolPiece> pending_;
  size_t pending_bytes_ = 0;
  size_t under_way_ = 0;  // first blob that is not full
};

}  // namespace ebla::daemon
