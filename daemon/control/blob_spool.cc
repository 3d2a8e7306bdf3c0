#include "daemon/control/blob_spool.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "schema/base/json_text.h"
#include "schema/base/limits.h"

namespace ebla::daemon {

void SpoolFile::write(std::string_view piece) {
  if (failed()) return;
  if (!file_) {
    auto opened = open_file(folder_, O_TMPFILE | O_RDWR, 0600);
    if (!opened) return fail_with(std::move(opened.error()));
    file_ = std::move(*opened);
  }
  if (auto written = write_full(file_.get(), piece); !written) {
    fail_with(std::move(written.error()));
  }
}

void SpoolFile::fail_with(Error error) {
  file_.reset();  // gives the space back at once
  // The folder is the daemon's own business: a client learns what is wrong, not where.
  const std::string_view reason = code_info(error.code).name;
  if (error.code == Code::no_space || error.code == Code::quota_exceeded) {
    error.text = "no space on the daemon's disk for this blob: free some, then send it again";
  } else if (error.code == Code::read_only) {
    error.text =
        "the daemon could not keep this blob: the file system of its store is read-only; nothing "
        "was stored; make it writable, then send the blob again";
  } else {
    if (error.code != Code::too_large && error.code != Code::unavailable) {
      error.code = Code::io_error;
    }
    error.text = "the daemon could not keep this blob on its disk (" + std::string(reason) +
                 "): nothing was stored";
  }
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

void BlobCollector::begin(const std::vector<uint64_t>& sizes) {
  blobs_.clear();
  blobs_.resize(sizes.size());
  under_way_ = 0;
  for (size_t i = 0; i < sizes.size(); ++i) blobs_[i].blob.size = sizes[i];
}

void BlobCollector::place(IncomingBlob& incoming) {
  const uint64_t size = incoming.blob.size;
  if (size <= limits::kBlobMemoryBytes) {
    Lease memory(shared_.memory);
    if (memory.grow(static_cast<size_t>(size))) {
      incoming.memory = std::move(memory);
      std::string& bytes = incoming.blob.bytes;
      // Later calls may only say how a list of messages goes on: it grows in place. Room that
      // nothing is written to takes no memory.
      const uint64_t growth = size / 8;
      bytes.reserve(static_cast<size_t>(size + growth) + json_text::kReadAhead);
      // What comes in is written once, where it belongs.
      bytes.resize_and_overwrite(static_cast<size_t>(size), [](char*, size_t all) { return all; });
      return;
    }
  }
  Lease descriptor(shared_.descriptors);
  if (descriptor.grow(1)) {
    incoming.spool = std::make_shared<SpoolFile>(shared_.spool_folder, std::move(descriptor));
  } else {
    incoming.spool = std::make_shared<SpoolFile>(
        Error{Code::busy, "too many blobs are under way: send this one again a little later"});
  }
}

void BlobCollector::add(size_t index, std::string_view piece) {
  IncomingBlob& incoming = blobs_[index];
  if (incoming.filled == 0) place(incoming);
  if (incoming.spool == nullptr) {
    char* const to = incoming.blob.bytes.data() + incoming.filled;
    if (piece.data() != to) std::ranges::copy(piece, to);
  } else if (!incoming.spool->failed()) {
    spool(incoming.spool, piece);
  }
  incoming.filled += piece.size();
}

std::span<char> BlobCollector::room() {
  const auto full = [this] { return blobs_[under_way_].filled == blobs_[under_way_].blob.size; };
  while (under_way_ < blobs_.size() && full()) ++under_way_;
  if (under_way_ >= blobs_.size()) return {};
  IncomingBlob& incoming = blobs_[under_way_];
  if (incoming.filled == 0 || incoming.spool != nullptr) return {};
  return std::span(incoming.blob.bytes).subspan(static_cast<size_t>(incoming.filled));
}

void BlobCollector::spool(const std::shared_ptr<SpoolFile>& file, std::string_view piece) {
  pending_bytes_ += piece.size();
  if (!pending_.empty() && pending_.back().file == file) {
    pending_.back().bytes.append(piece);
  } else {
    pending_.push_back({file, std::string(piece)});
  }
}

std::vector<SpoolPiece> BlobCollector::take_pending() {
  pending_bytes_ = 0;
  return std::exchange(pending_, {});
}

}  // namespace ebla::daemon
