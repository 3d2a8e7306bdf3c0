// What a pool of threads serves. Knows no libfuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ebla::fs {

// A request as it is received; one per thread.
class ReceiveBuffer {
 public:
  // The largest request (256 pages and its header) and zeros behind it, which end any text in a
  // message that forgot to.
  static constexpr size_t kMessageBytes = (size_t{1} << 20) + (size_t{64} << 10);
  static constexpr size_t kSlackBytes = 512;

  ReceiveBuffer() : bytes_(std::make_unique_for_overwrite<char[]>(kMessageBytes + kSlackBytes)) {}
  char* data() { return bytes_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
};

// The right to be the only one that takes requests of a channel.
class Turn {
 public:
  virtual ~Turn() = default;
  // Another thread may take the next request at once: before what takes long.
  virtual void let_others_in() = 0;
};

class Channel {
 public:
  enum class Outcome : uint8_t { served, empty, dead };

  virtual ~Channel() = default;
  virtual int fd() const = 0;  // non-blocking
  // Receives and handles one request. Any number of threads at a time.
  virtual Outcome serve_one(ReceiveBuffer& buffer, Turn& turn) = 0;
  // Once, after some serve_one() said dead.
  virtual void died() = 0;
};

}  // namespace ebla::fs
