// What the user asked for, in the removed messages and in what the summary before them holds.
#pragma once

#include <string>
#include <vector>

#include "context/summary/summary.h"

namespace ebla::context {

struct Requests {
  bool first_stays = false;      // the first one is pinned: it stands in front of the summary
  bool newer_follows = false;    // the newest one is among the messages that stay behind it
  std::string current;           // the newest one, where it is removed; "" else
  std::vector<UserWords> words;  // the others that are removed, newest first
};
Requests requests_of(const SummaryInput& input);

}  // namespace ebla::context
