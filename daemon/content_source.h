// The parameter `content`: a string, an array of blocks, or a reference to bytes ($blob, $fd,
// $path). Opening checks everything that can be checked before a byte is read.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/services.h"
#include "schema/base/json.h"

namespace ebla::daemon {

struct ContentSource {
  std::string bytes;  // the whole content, when there is no `pull`
  // Next bytes of a content that comes in pieces; 0 at its end. Blocks while a pipe is quiet, but
  // not longer than the peer is there.
  std::move_only_function<Result<size_t>(std::span<char>)> pull;
  bool endless = false;                       // a pipe: it lasts as long as the peer likes
  std::shared_ptr<std::vector<Json>> blocks;  // as they were sent; nullptr for other shapes
};

// Takes what it needs out of the request. invalid_params, file_not_found, permission_denied,
// is_directory. $path and $fd may open and stat files: not on a thread that must not wait.
Result<ContentSource> open_content(const MethodCall& call);
// The bytes of a parameter of type body, read to their end: as they were sent inline, or what a
// reference stands for. too_large above limits::kBodyBytes. Waits.
Result<std::string> read_body(const MethodCall& call, std::string_view name);
// The bytes of a parameter of type content that is a string or a reference, read to their end.
// invalid_params for blocks; too_large above `limit_bytes`. Waits.
Result<std::string> read_text(const MethodCall& call, std::string_view name, size_t limit_bytes);
// True when opening may wait for a disk or a peer.
bool opening_waits(const MethodCall& call);

// A text in the shape of the content that it stands for, as JSON: a string; or for blocks one text
// block in the place of the first, and all that are not text.
std::string shaped_like(const std::vector<Json>* blocks, std::string_view text);

}  // namespace ebla::daemon
