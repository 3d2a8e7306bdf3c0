// Names of roles, as histories and transcripts write them.
#pragma once

#include <string_view>

#include "context/list/conversation.h"

namespace ebla::context {

constexpr std::string_view role_name(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::developer:
      return "developer";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      return "tool";
    case Role::other:
      break;
  }
  return "other";
}

}  // namespace ebla::context
