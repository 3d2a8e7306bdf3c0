// What the notice shows of a content. Every line of it that shows content carries a number gutter
// and no other line does, so that content cannot forge or close the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "context/item/scan.h"

namespace ebla::context {

struct PreviewLimits {
  uint64_t units = 0;      // of the size rule, gutters and marks included
  size_t rows = SIZE_MAX;  // lines of the preview
};

// First and last lines around the mark, errors of the middle before the last; a single long line by
// its two ends. Ends without a newline; empty where the limits leave no room.
std::string preview_lines(const ContentScan& scan, PreviewLimits limits);
// For a content that cannot be opened later: as much of both ends as there is room.
std::string preview_edges(const ContentScan& scan, PreviewLimits limits);
// A human text: first lines, and the scan's tail_text whole, whatever the limits.
std::string preview_human(const ContentScan& scan, PreviewLimits limits);

// The longest start (end) of a text within both bounds that splits no character, and where it can
// no joined emoji, flag or accent.
std::string_view cut_end(std::string_view text, size_t characters, uint64_t units);
std::string_view cut_start(std::string_view text, size_t characters, uint64_t units);

}  // namespace ebla::context
