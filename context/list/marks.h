// The short texts that stand in an old or clipped message for what was taken out of it. Pure;
// strict UTF-8; one line each, but for a clip.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "context/item/notice.h"

namespace ebla::context {

// A file whose name only the store knows yet, and one that has its path.
NamedText path_in(std::string_view folder);
NamedText known_path(std::string_view path);

// In place of a string argument of an old call. `path`: our copy, or the file that the tool wrote.
NamedText argument_mark(uint64_t characters, const NamedText& path);
// Whether a text holds such a mark: in a fresh argument a model copied it from an old call.
bool has_mark(std::string_view text);

// In place of an old result. `text` needs only its start.
NamedText old_result_stub(std::string_view tool, uint64_t tokens, const NamedText& path,
                          std::string_view text);
// In place of an image or document. `media_type` as the client told it.
NamedText media_link(std::string_view media_type, uint64_t bytes, const NamedText& path);
// In place of a page that one of our readers returned: its first characters, and where the rest is.
std::string reader_clip(std::string_view page, std::string_view path);

}  // namespace ebla::context
