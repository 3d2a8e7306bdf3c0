// The seven sections of a summary proper as items under texts::kSummaryHeadings.
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

  // Most important first. An item is one line, or a block of lines in a fence that is closed.
  std::array<std::vector<std::string>, kSections> lines;
  std::array<bool, kSections> found{};  // its heading was there
  std::array<bool, kSections> more{};   // items were left out

  std::vector<std::string>& operator[](Section section) { return lines[section]; }
  const std::vector<std::string>& operator[](Section section) const { return lines[section]; }
};

// Reads headings as models write them ("## Goal", "**Goal:** …", "Goal:"). What stands before the
// first one is left out, and so is a fence around the whole. Lines are clean, not empty, and never
// begin with '#'; "- none" is no line. Nothing in them can pass for a frame: comments of HTML and
// the tags that hosts speak to models with lose their force, fences end with their item.
Outline parse_outline(std::string_view text);
// All seven headings, "- none" where there is nothing.
std::string render_outline(const Outline& outline);
// The same within `max_tokens` by window count: every section has a share of its own, what one
// leaves goes to the others. Last items of a section go first, of constraints and decisions
// those in the middle: what was said first holds as long as what was said last. A long item is cut,
// with "…"; a line says where items were left out.
std::string fit_outline(const Outline& outline, uint64_t max_tokens);

}  // namespace ebla::context
