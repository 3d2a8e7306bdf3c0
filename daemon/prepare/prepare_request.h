// The parameters of `prepare`, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/services.h"

namespace ebla::daemon {

// What the provider reported for the request that a reply became.
struct ReportedUsage {
  std::string revision;  // of that reply
  uint64_t input = 0;    // tokens, those of the cache included
  uint64_t output = 0;   // 0: not told
};

struct HandedSummary {
  std::string id;
  std::string text;
  std::string error;  // the client could not make one
};

// The body begins with that of an earlier call.
struct SentBefore {
  std::string body;    // its name, from that reply
  uint64_t bytes = 0;  // of it, from its beginning
};

enum class ReplyForm : uint8_t { splices, messages, request };

struct PrepareRequest {
  std::string_view body_name;  // "request" or "messages"
  std::optional<SentBefore> prefix;
  bool remember = false;  // the next call may refer to this one's body
  std::string format;     // "" to be detected
  uint64_t window = 0;    // tokens; 0: not said
  std::optional<ReportedUsage> usage;
  bool compact = false;
  std::string focus;
  bool overflow = false;
  uint64_t overflow_limit = 0;  // tokens; 0: not told
  std::optional<HandedSummary> summary;
  std::vector<std::string> put_away;  // call ids
  std::vector<size_t> pinned;         // indexes, ascending, without repeats
  std::string summariser;             // "" as the settings say
  bool dry_run = false;
  ReplyForm reply = ReplyForm::splices;
};

// invalid_params names the parameter, or the member of it, and its range.
Result<PrepareRequest> read_prepare_request(const MethodCall& call);

}  // namespace ebla::daemon
