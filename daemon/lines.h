// Pages of a text file, as fs.read gives them. Pure but for the reads of the file: bounded memory
// for a file and a line of any size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/line_index.h"
#include "schema/base/result.h"

namespace ebla::daemon {

struct PageRequest {
  int64_t offset = 0;   // lines from the start; below 0 is taken as 0, and said
  uint64_t limit = 0;   // lines of the file
  uint64_t column = 0;  // bytes into the first line
  bool numbered = false;
  uint64_t tokens = 0;  // of the page at most, by the size rule
};

struct Page {
  std::string text;                     // strict UTF-8
  std::optional<uint64_t> first, last;  // from 1
  std::optional<uint64_t> next;         // line offset of the next page
  std::optional<uint64_t> next_column;
  bool marked = false;  // undecodable bytes are shown as \xHH
  std::vector<std::string> notes;
};

// out_of_range when offset or column lie past the end; what `read` returns.
Result<Page> read_page(const ReadAt& read, const LineIndex& index, const PageRequest& request);

}  // namespace ebla::daemon
