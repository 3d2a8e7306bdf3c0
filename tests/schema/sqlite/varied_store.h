// A store with something of every kind, for tests that damage one.
#pragma once

#include <set>
#include <string>

#include "schema/base/clock.h"
#include "schema/store.h"

namespace ebla::kit {

// A shared content, a human message, a removed file, an orphan, a staged content; a medium of two
// trees, a history with short and long sections, a pass, a closed session; files, links and
// attributes of clients. The test fails when it cannot be made.
void make_varied_store(const std::string& path, const Clock& clock);

// Every content of the tree below the folder, whatever its name.
void collect_contents(Store& store, Ino folder, std::multiset<std::string>& contents);

}  // namespace ebla::kit
