// From the working list to the list that goes out: splices, and the check that it is valid.
#pragma once

#include <string>
#include <vector>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

struct Outgoing {
  std::vector<context::Splice> splices;  // of the list that was sent
  std::vector<uint64_t> hashes;          // one for each message of the new list
  std::string body;                      // empty: as it was sent
  bool breach = false;  // it would have been refused: the list stays as it was sent
};
Outgoing compose(Work& work);

}  // namespace ebla::daemon
