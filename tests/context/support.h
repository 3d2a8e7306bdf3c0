// Contents and sessions for the tests of context/.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "context/item/evict.h"

namespace ebla::context::test {

// "row N xxx…" lines of `width` characters without the newline, cut at `total`.
std::string rows(size_t total, size_t width = 61);
std::string prose(size_t total, size_t width = 61);
std::string repeat(std::string_view piece, size_t times);
// Random bytes with what matters in text: newlines, escapes, parts of characters, error words.
std::string messy(std::mt19937& random, size_t size);

ContentScan scan_of(std::string_view content, ScanOptions options = {});
// The same, fed in random slices.
ContentScan scan_sliced(std::string_view content, ScanOptions options, std::mt19937& random);

EvictContext default_context();
EvictDecision decide(std::string_view content, const EvictRequest& request = {},
                     const EvictContext& context = default_context());
// As the store would join it.
std::string replacement_of(const EvictDecision& decision);
std::vector<std::string> lines_of(std::string_view text);
// Lines of a replacement that show content: those with a gutter.
std::vector<std::string> gutter_lines(std::string_view text);
std::string frame_of(std::string_view text);  // the other ones, joined by newlines

// Against the golden file of this name, byte for byte; see golden_test.cc.
void compare_golden(const std::string& name, const std::string& text);

}  // namespace ebla::context::test
