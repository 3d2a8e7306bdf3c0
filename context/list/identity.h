// Chain hashes: what passes are found by. chain[k] stands for the first k messages of a list as
// the client had them, whatever was replaced since.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "context/list/conversation.h"

namespace ebla::context {

Hash128 chain_start();
Hash128 chain_next(Hash128 chain, Hash128 identity);

// A message's identity with the content hashes of some parts taken for others: a part that arrives
// already replaced stands for its original. `hashes` has one value for each part.
Hash128 identity_of(const Message& message, std::span<const Hash128> hashes);

// JSON text without white space, keys in order: what arguments are compared by. Number text and
// strings (decoded) stay as they are; text that is no JSON is taken as it is.
std::string canonical_json(std::string_view json);

}  // namespace ebla::context
