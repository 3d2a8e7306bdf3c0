// One text in a file put in the place of another. Bytes are bytes: nothing else of the file
// changes, whatever it holds. In bounded memory for a file of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/content_source.h"
#include "daemon/line_index.h"
#include "schema/base/result.h"

namespace ebla::daemon {

struct Edit {
  std::string old_text;  // not empty, at most limits::kEditTextBytes
  std::string new_text;
  bool all = false;  // every place, not just the only one
};

struct Places {
  uint64_t count = 0;           // without overlaps, from the start on
  bool overlapping = false;     // the first one with another
  std::vector<uint64_t> lines;  // of the first few, 1-based
};

// Where `text` is in a file of `size` bytes.
Result<Places> find_places(const ReadAt& read, uint64_t size, std::string_view text);

// What will be done: `edit` as it was asked for or, where the file's lines end with CRLF and those
// of the old text with LF, with CRLF in both texts. no_match and ambiguous say what is wrong.
struct EditPlan {
  Edit edit;
  Places places;
  bool crlf = false;
};
Result<EditPlan> plan_edit(const ReadAt& read, uint64_t size, Edit edit);

// The file's bytes as they will be. `read` must stay.
ContentSource edited(const ReadAt& read, uint64_t size, const Edit& edit);

}  // namespace ebla::daemon
