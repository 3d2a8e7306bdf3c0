// The invariants of a store on disk, for tests that kill, cut or damage one: what `ebla fsck` asks
// (schema/check.h), without its lock, so that a store may be open in this process.
#pragma once

#include <string>
#include <vector>

namespace ebla::kit {

// One sentence for each breach; empty: the store is sound. Reads every chunk.
std::vector<std::string> check_store(const std::string& path);

}  // namespace ebla::kit
