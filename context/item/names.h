// File names from call ids and session ids from keys. Ids inside messages are never changed; only
// the name of the file is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/base/hash.h"
#include "schema/model.h"

namespace ebla::context {

// An id of at most 40 bytes of [A-Za-z0-9_-] not starting with '-' is the name; any other becomes a
// readable part of at most 24 bytes with other bytes as '_', '-' and 8 hex digits of the id's XXH3.
// No id: "result-" or "message-" and 8 hex digits of the content's.
std::string file_stem(ArtifactKind kind, std::string_view call_id, Hash128 content);
// ".md" for human texts, "" for results.
std::string_view file_extension(ArtifactKind kind);

// At most 12 readable bytes of key or label, '-', 5 base32 digits drawn from `random`: several, so
// that the store can take the first free one.
std::vector<std::string> session_id_candidates(std::string_view key_or_label, uint64_t random);

}  // namespace ebla::context
