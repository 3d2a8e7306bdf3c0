// The decision about one item, as a plan: pure, no clock, no store, no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "context/item/doors.h"
#include "context/item/scan.h"
#include "context/settings.h"
#include "schema/model.h"

namespace ebla::context {

struct EvictRequest {
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string call_id;  // empty: none
  std::string tool;
  bool own_reader = false;  // Ebla's reader, or a read of a path in Ebla's tree: exempt
  std::optional<uint64_t> limit_tokens;  // of this call
  bool force = false;                    // whatever the size; still only if it gets smaller
  bool known = false;                    // the store has a decision for this item
  bool is_replacement = false;           // the content is a stored replacement
};

// What the notice needs to know of the session.
struct EvictContext {
  SessionId session = 0;
  std::string session_id;  // names the folder; "default" has none
  uint64_t window = 0;     // tokens, 0 unknown
  Settings settings;
  Doors doors;
  Location location;  // of the folder that the file will lie in
};

struct EvictDecision {
  bool evict = false;
  uint64_t tokens = 0;        // of the item, by size rule
  uint64_t limit_tokens = 0;  // that applied
  std::string
      reason;         // why not: below_limit, tool_never, own_reader, already_replaced, not_smaller
  EvictionPlan plan;  // complete but for uid, gid and content bytes or staged id
};

EvictDecision plan_eviction(const ContentScan& scan, const EvictRequest& request,
                            const EvictContext& context);

// What the scan must keep for such a request.
ScanOptions scan_options(ArtifactKind kind, const Settings& settings);

// The folder that a file of this kind lies in: "/large_tool_results", "/large_tool_results/ID",
// "/conversation_history/ID" or "/conversation_history/media".
std::string artifact_folder(ArtifactKind kind, std::string_view session_id);

}  // namespace ebla::context
