// A transcript for a window that has no room for it: whole in pieces, or as excerpts of one length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context/summary/transcript.h"

namespace ebla::context {

// What the fences of one entry cost at most, beside label and text, in tokens.
inline constexpr uint64_t kFrameTokens = 8;

// A text of several lines, cut with a mark.
std::string shortened(const std::string& text, uint64_t max_tokens);
// Pieces of at most `room` tokens each, all but the last at least three quarters full, cut at ends
// of lines where there are some. Together they have every entry whole.
std::vector<std::string> pieces_of(const std::vector<TranscriptEntry>& entries, uint64_t room);
// At most `room` tokens: long texts are cut to one length, then entries of the middle are left out,
// and it says so.
std::string excerpts_of(std::vector<TranscriptEntry> entries, uint64_t room);

}  // namespace ebla::context
