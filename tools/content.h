// The content that evict decides about: whatever it comes from, it can be given to the daemon and
// still be printed whole afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/base/result.h"
#include "tools/streams.h"

namespace ebla::tools {

class Content {
 public:
  // Above this a stream goes to an unnamed file, below it stays in memory.
  static constexpr size_t kMemoryBytes = 1 * limits::kMiB;

  // Reads `source` to its end, unless it is a regular file at its start, which is used as it is.
  // Never fails as a whole: what went wrong is in error(), and copy_to() still gives everything.
  static Content read(UniqueFd source, const std::string& temp_folder);

  const std::optional<Error>& error() const { return error_; }
  uint64_t size() const { return size_; }
  // The bytes, when they are in memory; else file() has them from offset 0.
  bool in_memory() const { return !file_; }
  std::string_view bytes() const { return memory_; }
  int file() const { return file_.get(); }

  // All bytes: those read, and after an error those that the source still has.
  Result<void> copy_to(Output& out) const;

 private:
  void use_stream(const std::string& temp_folder);
  Result<void> spool(const std::string& temp_folder, std::string_view piece);

  UniqueFd source_;
  UniqueFd file_;
  std::string memory_;   // whole content, or after an error what no file has taken
  uint64_t size_ = 0;    // bytes in file_, or else in memory_
  bool drained_ = true;  // the source has nothing more
  std::optional<Error> error_;
};

// What `source` has from now on, to its end.
Result<void> copy_stream(int source, Output& out);

}  // namespace ebla::tools
