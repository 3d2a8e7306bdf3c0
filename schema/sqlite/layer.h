// What has been written to one file since its last commit began, in its newest form: bytes, ranges
// of zeros, and where the file was cut. Laid over what is below it, it gives the file's content;
// laid over a content that has it already, it changes nothing. Not thread safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ebla::sqlite {

class Layer {
 public:
  Layer();

  // Bytes never cross the border of a chunk; zeros may have any length.
  struct Extent {
    std::string bytes;
    uint64_t zeros = 0;  // not 0: this is no bytes but so many zeros
    uint64_t length() const { return zeros != 0 ? zeros : bytes.size(); }
  };
  static constexpr uint64_t kUncut = std::numeric_limits<uint64_t>::max();

  void write(uint64_t offset, std::string_view bytes);
  void zero(uint64_t offset, uint64_t end);
  // Whatever lies at `at` or beyond is gone: it reads as zeros if the file grows again.
  void cut(uint64_t at);

  // Becomes what both together are, `newer` on top.
  void absorb(const Layer& newer);

  // Changes `out`, which holds the bytes at `offset` of what is below.
  void lay_over(uint64_t offset, std::span<char> out) const;

  const std::map<uint64_t, Extent>& extents() const { return extents_; }
  uint64_t cut_at() const { return cut_; }
  size_t weight() const { return weight_; }  // bytes of memory, about

  // Stands in the row of the file while this is the newest layer in it. No two have the same, not
  // even of two runs of the daemon.
  uint64_t mark() const { return mark_; }

  // The file's own numbers after the last change of this layer.
  uint64_t size = 0;
  uint64_t raw_bytes = 0;  // estimated
  int64_t time_ns = 0;     // mtime, and ctime at least
  bool drop_privileges = false;
  uint64_t changes = 0;       // what it adds to the node's counter
  uint64_t change_after = 0;  // the counter that its commit leaves; 0: not tried yet

 private:
  using Position = std::map<uint64_t, Extent>::iterator;
  void erase(uint64_t offset, uint64_t end);
  void put_piece(uint64_t offset, std::string_view bytes);
  void add(uint64_t offset, Extent extent);

  std::map<uint64_t, Extent> extents_;
  uint64_t cut_ = kUncut;
  uint64_t mark_;
  size_t weight_ = 0;
};

}  // namespace ebla::sqlite
