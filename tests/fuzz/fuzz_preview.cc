// Any bytes, in any slicing, with any limits: the replacement is strict UTF-8, within its bounds,
// independent of the slices, and no content line stands outside a gutter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "context/item/evict.h"
#include "schema/base/utf8.h"

namespace {

using namespace ebla;           // NOLINT(google-build-using-namespace)
using namespace ebla::context;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
  if (!condition) std::abort();
}

std::string joined(const EvictionPlan& plan) {
  std::string out;
  for (size_t i = 0; i < plan.replacement_parts.size(); ++i) {
    if (i > 0) out += plan.stem + plan.extension;
    out += plan.replacement_parts[i];
  }
  return out;
}

EvictDecision decide(std::string_view content, size_t slice, const EvictRequest& request,
                     const EvictContext& context) {
  ContentScan scan(scan_options(request.kind, context.settings));
  while (!content.empty()) {
    scan.feed(content.substr(0, slice));
    content.remove_prefix(std::min(slice, content.size()));
  }
  scan.finish();
  return plan_eviction(scan, request, context);
}

}  // namespace

// The first bytes choose door, kind, limit and slice; the rest, repeated, is the content.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kChoices = 5;
  if (size < kChoices) return 0;
  EvictContext context;
  context.session_id = "default";
  context.location = {"/mnt/ebla", "/"};
  context.doors = {(data[0] & 1) != 0, (data[0] & 2) != 0, (data[0] & 4) != 0 ? "read" : "",
                   (data[0] & 8) != 0 ? "grep" : ""};
  context.settings.preview_head = data[1] % 8;
  context.settings.preview_tail = data[2] % 8;
  EvictRequest request;
  request.kind = (data[0] & 16) != 0 ? ArtifactKind::human : ArtifactKind::tool_result;
  request.force = true;
  if ((data[0] & 32) != 0) request.limit_tokens = 1 + 8 * uint64_t{data[3]};
  const std::string piece(data + kChoices, data + size);
  request.tool = piece.substr(0, 16);
  request.call_id = piece.substr(0, 64);
  std::string content;
  do {
    content += piece;
  } while (content.size() < 4096 && (data[0] & 64) != 0 && !piece.empty());

  const EvictDecision whole = decide(content, content.size() + 1, request, context);
  const EvictDecision sliced = decide(content, 1 + data[4] % 97, request, context);
  require(whole.evict == sliced.evict && whole.tokens == sliced.tokens);
  if (!whole.evict) return 0;
  const std::string text = joined(whole.plan);
  require(text == joined(sliced.plan));
  require(utf8::is_valid(text));
  require(2 * measure(text).class_sum <= measure(content).class_sum);
  for (char c : text) require(static_cast<uint8_t>(c) >= 0x20 || c == '\t' || c == '\n');
  return 0;
}
