// The first thing in a replacement: what was put away, where, and how to read parts of it with what
// the session's agent has. At most kNoticeChars characters where the path leaves room for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/item/doors.h"
#include "context/item/scan.h"
#include "schema/model.h"

namespace ebla::context {

// A text with holes where the file's name comes, which only the store knows.
class NamedText {
 public:
  NamedText& text(std::string_view piece) {
    parts_.back() += piece;
    return *this;
  }
  NamedText& name() {
    parts_.emplace_back();
    return *this;
  }
  NamedText& append(const NamedText& other);
  const std::vector<std::string>& parts() const { return parts_; }
  std::string joined(std::string_view name) const;

 private:
  std::vector<std::string> parts_{""};
};

struct NoticeInput {
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string_view tool;
  SizeSums sums;
  uint64_t tokens = 0;
  bool binary = false;
  Doors doors;            // as they can be used: see usable_doors
  std::string folder;     // host path of the file's folder, or its path in the tree
  size_t name_chars = 0;  // of the longest name to reckon with
  uint64_t read_limit = limits::kReadLines;
};

// Ends with a newline. With no door it says so.
NamedText notice(const NoticeInput& input);
// The line between notice and preview.
std::string_view preview_heading(ArtifactKind kind);
// A shell cannot open what no mount shows; where it was the only door the command line is left.
Doors usable_doors(const Doors& declared, bool mounted);
// One shell word for `path`; `closed` is what to write before the name that follows it.
std::string shell_word(std::string_view path);

}  // namespace ebla::context
