// The result of `prepare` as JSON: ebla-control(7).
#pragma once

#include <span>
#include <string_view>

#include "daemon/control/control_target.h"
#include "daemon/prepare/compose.h"
#include "daemon/prepare/work.h"

namespace ebla::daemon {

// `before`: hashes of the session's last reply. `blobs`: the client takes bytes as blobs.
// `body_name`: by which the body that was sent is remembered, if it is.
Reply reply_of(const Work& work, const Outgoing& outgoing, std::span<const uint64_t> before,
               bool blobs, std::string_view body_name);

}  // namespace ebla::daemon
