// A list as it was sent, and what it says; shared between a call, the cache and summaries under
// way.
#pragma once

#include <memory>
#include <string>

#include "context/list/conversation.h"

namespace ebla::daemon {

struct ListBody {
  std::shared_ptr<const std::string> text;
  std::shared_ptr<const context::Conversation> conversation;
};

}  // namespace ebla::daemon
