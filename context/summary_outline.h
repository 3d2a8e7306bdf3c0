// The seven sections of a summary proper as lines under texts::kSummaryHeadings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/texts.h"

namespace ebla::context {

struct Outline {
  enum Section : uint8_t { goal, constraints, done, open, decisions, files, next_steps };
  static constexpr size_t kSections = texts::kSummaryHeadings.size();

  std::array<std::vector<std::string>, kSections> lines;  // most important first
  std::array<bool, kSections> found{};                    // its heading was there

  std::vector<std::string>& operator[](Section section) { return lines[section]; }
  const std::vector<std::string>& operator[](Section section) const { return lines[section]; }
};

// Reads headings as models write them ("## Goal", "**Goal:** …", "Goal:"). What stands before the
// first one is left out. Lines are clean, not empty, and never begin with '#'; "- none" is no line.
Outline parse_outline(std::string_view text);
// All seven headings, "- none" where there is nothing.
std::string render_outline(const Outline& outline);
// The same within `max_tokens` by window count: every section has a share of its own, what one
// leaves goes to the others; last lines of a section go first.
std::string fit_outline(const Outline& outline, uint64_t max_tokens);

}  // namespace ebla::context
