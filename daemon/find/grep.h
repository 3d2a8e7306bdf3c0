// grep over a part of the tree: bounded in memory, in what it answers and in time, and it says so
// where it stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/find/glob.h"
#include "daemon/find/hit_text.h"
#include "daemon/find/pattern.h"
#include "daemon/find/scan.h"
#include "daemon/find/search.h"
#include "schema/base/limits.h"

namespace ebla::daemon {

enum class GrepMode : uint8_t { content, files, count };

// Where a search goes on. As text it is ASCII, for the caller to hand back as it is.
struct GrepCursor {
  std::string key;  // of the file
  ScanPlace place;  // in it

  std::string text() const;
  static Result<GrepCursor> parse(std::string_view text);  // invalid_params
};

struct GrepRequest {
  std::string pattern;
  PatternOptions how;
  GrepMode mode = GrepMode::content;
  size_t context = 0;
  uint64_t max_count = limits::kGrepMaxCount;  // hits, or files
  std::optional<Glob> glob;                    // on the path from the scope's
  std::optional<GrepCursor> start;
  uint64_t budget = 4 * limits::kPageTokens;  // of the size rule, for all rows together
};

// A hit, or a line of context.
struct GrepRow {
  std::string path;
  std::optional<uint64_t> column;  // of the match in its line, from 0; none: context
  LineText shown;

  // `PATH:LINE:text` as a reader sees it, context with dashes; no line end.
  std::string text() const;
};

struct GrepFile {
  std::string path;
  uint64_t lines = 0;  // that match; 0 where nobody counted

  std::string text() const;
};

struct GrepReport {
  std::vector<GrepRow> rows;    // content
  std::vector<GrepFile> files;  // files, count
  uint64_t hits = 0;            // rows that are hits
  uint64_t searched = 0;        // files
  bool truncated = false;       // there is more than what is told here
  bool timed_out = false;
  Skipped skipped;
  std::optional<GrepCursor> next;  // when truncated or timed out
  // Without a hit:
  bool regex_hint = false;       // the literal pattern looks like a regular expression
  std::vector<GrepRow> nearest;  // lines that hold something like the pattern, not the pattern
};

// Errors: invalid_params of the pattern; cut_off(). What cannot be read is skipped and told.
Result<GrepReport> grep(const SearchTools& tools, const SearchScope& scope,
                        const GrepRequest& request);
// Fills regex_hint or nearest, where there is no hit. Bounded by limits::kNearestBudgetMs.
Result<void> add_hints(const SearchTools& tools, const SearchScope& scope,
                       const GrepRequest& request, GrepReport& report);

}  // namespace ebla::daemon
