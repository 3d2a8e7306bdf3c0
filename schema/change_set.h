// What a unit changed, for the caches of every mount. Comes from own units or, later, from a feed
// of other hosts: applying one twice is harmless.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/model.h"

namespace ebla {

struct DentryChange {
  enum class Kind : uint8_t { added, removed, replaced };
  Ino parent = 0;
  std::string name;
  Ino child = 0;  // the node it named (removed) or names now
  Kind kind = Kind::added;
  bool operator==(const DentryChange&) const = default;
};

struct RangeChange {
  Ino ino = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // 0: to the end of the file
  bool operator==(const RangeChange&) const = default;
};

struct ChangeSet {
  MountId origin = 0;  // mount that asked for it and needs no telling; 0: none
  SessionId tree = 0;
  SessionId session = 0;
  uint64_t revision = 0;  // grows with every committed unit of this store; 0: not committed yet
  std::vector<DentryChange> dentries;
  std::vector<Ino> attributes;
  std::vector<RangeChange> ranges;
  std::vector<Ino> orphaned;  // nodes without a name now: reap them when no mount holds them
  bool whole_tree = false;    // anything of `tree` may have changed
  bool everything = false;    // anything may have changed

  bool empty() const {
    return dentries.empty() && attributes.empty() && ranges.empty() && orphaned.empty() &&
           !whole_tree && !everything;
  }
};

}  // namespace ebla
