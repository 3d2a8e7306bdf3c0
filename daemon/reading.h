// What the reading methods and the reading tools share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "context/settings.h"
#include "daemon/line_index.h"
#include "daemon/services.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon {

// Reads of one file for a call, which must stay; they fail when nobody waits for it any more.
ReadAt reader_of(const MethodCall& call, Ino ino);
// is_directory or invalid_path for what has no content.
Result<void> check_file(const Found& found);
// The format's name of a file that is no text; empty for text.
Result<std::string> binary_type(const ReadAt& read);
// The index of a file, kept or built.
Result<std::shared_ptr<const LineIndex>> index_of(const MethodCall& call, const Attr& attr,
                                                  const ReadAt& read);

// A session's settings; the daemon's without one.
Result<context::Settings> settings_for(const Services& services,
                                       const std::optional<Session>& session);
// A page is read by a model: never so long that it would be put away itself, or that the host of
// the agent would cut it.
uint64_t page_tokens(const context::Settings& settings, const std::optional<Session>& session);

// Runs `work` on a thread that may wait; busy where too many wait already.
void on_blocking_thread(MethodCall call, std::move_only_function<void(MethodCall)> work);

}  // namespace ebla::daemon
