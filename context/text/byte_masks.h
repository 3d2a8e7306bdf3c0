// Classes of bytes, 64 at a time: bit i of a mask speaks of byte i.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ebla::context {

struct ByteMasks {
  uint64_t lower = 0;    // a-z
  uint64_t upper = 0;    // A-Z
  uint64_t digit = 0;    // 0-9
  uint64_t space = 0;    // space, tab
  uint64_t newline = 0;  // LF
  uint64_t high = 0;     // not ASCII
  uint64_t repeat = 0;   // equal to the byte before it
};

inline constexpr size_t kMaskBytes = 64;

// `before` is the byte that stands before the first.
ByteMasks masks_of_block(const char* at, char before);               // kMaskBytes
ByteMasks masks_of_rest(const char* at, size_t count, char before);  // at most so many

}  // namespace ebla::context
