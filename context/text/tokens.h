// The window count: how many tokens a text will cost, estimated by classes of characters. Never
// used for the limit of one item, which goes by the size rule (scan.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "context/list/conversation.h"

namespace ebla::context {

// One pass. Words split at lower-to-upper and letter-to-digit changes: letters 1 token up to 7 and
// then 1 per 7, digits 1 per 3; words that change class too often (hex, base64, ids) 1 per 1.6
// characters; punctuation 0.62 (0.3 repeated), newline 0.5 (1 after a digit), more than one space
// 0.5; CJK 0.75, other letters 0.4, emoji 2. Within a few percent of o200k on prose, code, JSON,
// logs, digests and CJK.
uint64_t estimate_tokens(std::string_view text);
// Hash, sizes and tokens of a decoded text at once.
PartFacts measure_part(std::string_view text);
// By the size rule of pixels where the data tells them (PNG, JPEG, GIF, WebP header), else
// limits::kImageTokens.
uint64_t image_tokens(std::string_view decoded_start);

}  // namespace ebla::context
