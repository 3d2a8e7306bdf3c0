// Files of a session as lines of a summary, and back, so that what was done to a file adds up over
// any number of summaries.
#pragma once

#include <string>
#include <vector>

#include "context/summary/calls.h"

namespace ebla::context {

// The files that these lines name; lines that are none of ours stay in `lines`.
std::vector<FileFact> take_files(std::vector<std::string>& lines);
// One list of both, newest use first.
std::vector<FileFact> merged_files(std::vector<FileFact> newer, const std::vector<FileFact>& older);
// What was changed, a line each; of more than a few dozen the older ones in one line, and those
// that were only read in one line: of many names the newest and the first.
std::vector<std::string> file_lines(const std::vector<FileFact>& files);

}  // namespace ebla::context
