// Framing of the control socket, both directions: one JSON object per line; a top-level
// "blobs":[n, …] says that so many raw bytes follow the newline. See ebla-control(7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A whole line without its end (LF or CRLF). Returns the sizes of the blobs that follow; an error
  // ends the connection. Blank lines are not reported.
  virtual Result<std::vector<uint64_t>> on_line(std::string_view line) = 0;
  // A piece of blob `index`, in order.
  virtual Result<void> on_blob(size_t index, std::string_view piece) = 0;
  // Line and all blobs are there.
  virtual Result<void> on_frame() = 0;
};

// Incremental; memory is bounded by the line limit. Not thread safe.
class FrameReader {
 public:
  FrameReader(FrameSink& sink, size_t line_limit_bytes);
  // too_large when a line exceeds the limit; else what the sink returned. After an error the reader
  // must not be fed again.
  Result<void> feed(std::string_view bytes);
  bool in_frame() const;  // an end of input here cuts a frame

 private:
  Result<void> end_line(std::string_view line);
  Result<void> skip_finished_blobs();

  FrameSink& sink_;
  size_t line_limit_;
  std::string line_;
  std::vector<uint64_t> blobs_;
  size_t blob_ = 0;
  uint64_t blob_left_ = 0;
  bool in_blobs_ = false;
};

// `object` is a JSON object "{…}": the frame is that object with a "blobs" member, LF, and the
// bytes. Without blobs: the object and LF.
std::string encode_frame(std::string_view object, const std::vector<std::string_view>& blobs);
// Its line alone: for whoever sends the bytes from where they lie.
std::string encode_line(std::string_view object, const std::vector<std::string_view>& blobs);

}  // namespace ebla
