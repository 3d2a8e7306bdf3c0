// Writes a file as a whole, so that who is answered may close the books: the content is on disk and
// every mount shows it. On threads that may wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/write/target.h"
#include "schema/model.h"

namespace ebla::daemon {

// What `if_etag` says of a file that must not be there.
inline constexpr std::string_view kNoFile = "none";

struct PutOptions {
  uint32_t mode = 0;                   // of a file that is new
  std::optional<std::string> if_etag;  // what must be there, or kNoFile
};

struct PutOutcome {
  Attr attr;
  bool created = false;
  std::optional<uint64_t> offset;  // where appended bytes begin
};

// Whether the peer may give the target a new content, and `if_etag` fits: conflict.
Result<void> check_put(const MethodCall& call, const Target& target, const PutOptions& options);
// Takes the content; what was staged of it is given up on failure. What has the name may change
// until then: without `if_etag` the last writer wins. `target` becomes what was written over.
Result<PutOutcome> put(const MethodCall& call, Target& target, const PutOptions& options,
                       ContentRef content);
// One attempt at just this target; conflict when it has changed, or its counter is not `change`.
Result<Attr> put_once(const MethodCall& call, const Target& target, const PutOptions& options,
                      std::optional<uint64_t> change, ContentRef content);
// The target as it is now.
Result<Target> look_again(const MethodCall& call, const Target& target);

}  // namespace ebla::daemon
