// The invariants of a store on disk, as ebla-store(5) lists them: for tests that kill, cut or
// damage one. Reads only; may run beside a daemon, but then sees what is committed.
#pragma once

#include <string>
#include <vector>

namespace ebla::kit {

// One sentence for each breach, at most 20 of a kind; empty: the store is sound. Reads every chunk.
std::vector<std::string> check_store(const std::string& path);

}  // namespace ebla::kit
