// What of the summary before goes on in an extract, so that what still holds is not lost after any
// number of passes, and what does not is not kept.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "context/summary/outline.h"

namespace ebla::context {

struct SinceThen {
  bool plan = false;                         // there is a newer plan
  bool said = false;                         // the model said something since
  std::set<std::string, std::less<>> again;  // kinds of runs of which there is a newer outcome
};
// Adds the lines of `earlier` to `out`, behind its own.
void carry_over(const Outline& earlier, const SinceThen& since, Outline& out);
// Whether one of the lines holds the sentence.
bool is_said(const std::vector<std::string>& lines, std::string_view sentence);

}  // namespace ebla::context
