#include "schema/sqlite/layer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

constexpr size_t kExtentWeight = 128;  // node of the map and string, beside the bytes

uint64_t next_mark() {
  static std::atomic<uint64_t> next = [] {
    std::random_device random;
    return (uint64_t{random()} << 32 | random()) >> 2;
  }();
  return next++;
}

}  // namespace

Layer::Layer() : mark_(next_mark()) {}

void Layer::add(uint64_t offset, Extent extent) {
  weight_ += kExtentWeight + extent.bytes.size();
  extents_.emplace(offset, std::move(extent));
}

// Leaves nothing in [offset, end), and what lies around it as it is.
void Layer::erase(uint64_t offset, uint64_t end) {
  auto at = extents_.upper_bound(offset);
  if (at != extents_.begin()) --at;
  while (at != extents_.end() && at->first < end) {
    const uint64_t start = at->first;
    const uint64_t stop = start + at->second.length();
    if (stop <= offset) {
      ++at;
      continue;
    }
    Extent old = std::move(at->second);
    weight_ -= kExtentWeight + old.bytes.size();
    at = extents_.erase(at);
    if (stop > end) {
      Extent rest;
      if (old.zeros != 0) {
        rest.zeros = stop - end;
      } else {
        rest.bytes = old.bytes.substr(end - start);
      }
      add(end, std::move(rest));
    }
    if (start < offset) {
      if (old.zeros != 0) {
        old.zeros = offset - start;
      } else {
        old.bytes.resize(offset - start);
      }
      add(start, std::move(old));
    }
    if (stop >= end) return;
  }
}

void Layer::put_piece(uint64_t offset, std::string_view bytes) {
  const auto next = extents_.upper_bound(offset);
  if (next != extents_.begin()) {
    const auto before = std::prev(next);
    Extent& extent = before->second;
    const uint64_t stop = before->first + extent.length();
    if (extent.zeros == 0 && stop >= offset + bytes.size()) {
      std::memcpy(extent.bytes.data() + (offset - before->first), bytes.data(), bytes.size());
      return;
    }
    const bool room = next == extents_.end() || next->first >= offset + bytes.size();
    if (extent.zeros == 0 && stop == offset && offset % kChunkBytes != 0 && room) {
      extent.bytes += bytes;
      weight_ += bytes.size();
      return;
    }
  }
  erase(offset, offset + bytes.size());
  add(offset, {.bytes = std::string(bytes), .zeros = 0});
}

void Layer::write(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = std::min<uint64_t>(bytes.size(), kChunkBytes - offset % kChunkBytes);
    put_piece(offset, bytes.substr(0, length));
    bytes.remove_prefix(length);
    offset += length;
  }
}

void Layer::zero(uint64_t offset, uint64_t end) {
  if (offset >= end) return;
  erase(offset, end);
  add(offset, {.bytes = {}, .zeros = end - offset});
}

void Layer::cut(uint64_t at) {
  erase(at, kUncut);
  cut_ = std::min(cut_, at);
}

void Layer::absorb(const Layer& newer) {
  if (newer.cut_ != kUncut) cut(newer.cut_);
  for (const auto& [offset, extent] : newer.extents_) {
    if (extent.zeros != 0) {
      zero(offset, offset + extent.zeros);
    } else {
      write(offset, extent.bytes);
    }
  }
  size = newer.size;
  raw_bytes = newer.raw_bytes;
  time_ns = newer.time_ns;
  drop_privileges |= newer.drop_privileges;
  changes += newer.changes;
  change_after = 0;
  mark_ = next_mark();
}

void Layer::lay_over(uint64_t offset, std::span<char> out) const {
  const uint64_t end = offset + out.size();
  if (cut_ < end) {
    const uint64_t from = std::max(cut_, offset);
    std::memset(out.data() + (from - offset), 0, end - from);
  }
  auto at = extents_.upper_bound(offset);
  if (at != extents_.begin()) --at;
  for (; at != extents_.end() && at->first < end; ++at) {
    const Extent& extent = at->second;
    const uint64_t from = std::max(at->first, offset);
    const uint64_t to = std::min(at->first + extent.length(), end);
    if (from >= to) continue;
    char* place = out.data() + (from - offset);
    if (extent.zeros != 0) {
      std::memset(place, 0, to - from);
    } else {
      std::memcpy(place, extent.bytes.data() + (from - at->first), to - from);
    }
  }
}

}  // namespace ebla::sqlite
