// One pass of a pattern over a file of any size, in slices: constant memory, also for one line of
// many gigabytes. Knows places, not texts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/find/pattern.h"
#include "daemon/line_index.h"
#include "schema/base/result.h"

namespace ebla::daemon {

// Where a scan begins or goes on. Offsets are bytes of the file.
struct ScanPlace {
  uint64_t line = 0;        // line ends before it
  uint64_t line_start = 0;  // of the line that `offset` lies in
  uint64_t offset = 0;
  bool operator==(const ScanPlace&) const = default;
};

struct ScanMatch {
  ScanPlace place;  // of its first byte
  uint64_t length = 0;
};

// What comes after a match: an offset to go on from, above the match's own, or one of these.
inline constexpr uint64_t kNextLine = UINT64_MAX;
inline constexpr uint64_t kStop = UINT64_MAX - 1;
using OnMatch = std::function<Result<uint64_t>(const ScanMatch&)>;
using OutOfTime = std::function<bool()>;  // asked before each slice

enum class ScanEnd : uint8_t { whole, stopped, out_of_time };
struct ScanResult {
  ScanEnd end = ScanEnd::whole;
  ScanPlace place;  // out_of_time: where another scan goes on
};

// Holds the memory, for one file after the other. Not thread safe.
class FileScanner {
 public:
  FileScanner();
  ~FileScanner();
  FileScanner(const FileScanner&) = delete;
  FileScanner& operator=(const FileScanner&) = delete;

  // Matches in the order of the file. Fails when `read` does, or `on_match`. A regular expression
  // sees a line of more than limits::kRegexLineBytes in pieces that overlap.
  Result<ScanResult> scan(const ReadAt& read, const Pattern& pattern, ScanPlace from,
                          const OutOfTime& out_of_time, const OnMatch& on_match);

 private:
  class Run;
  std::vector<char> memory_;
};

}  // namespace ebla::daemon
