// One line of the control socket becomes a checked call, or a refusal that says what is wrong.
// Pure: no descriptors, no threads, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/json.h"
#include "schema/base/result.h"
#include "schema/rpc.h"

namespace ebla::daemon {

struct ParsedRequest {
  // JSON text of the id: a number as it was written. "null" where none can be told from the line.
  std::string id = "null";
  bool notification = false;  // well formed and without an id: run, never answered
  const rpc::Method* method = nullptr;
  // An object with the method's parameters, each of its type. A body: its source bytes as `text` of
  // a value without members or items, or the reference that was given.
  Json params;
  std::vector<uint64_t> blobs;  // sizes, to be read (or drained, when refused) behind the line
  size_t fds_needed = 0;        // one more than the largest {"$fd":i}
  size_t cost_bytes = 0;        // memory that this takes while it lives
  std::optional<Error> refusal;
  // Where the next request begins cannot be told: the connection ends behind the answer. Reading on
  // could take the bytes of a blob, perhaps a tool's output, for requests.
  bool framing_lost = false;
};

// `line`: without its end, any bytes.
ParsedRequest parse_request(std::string_view line);

}  // namespace ebla::daemon
