#include "context/item/evict.h"

#include <algorithm>
#include <utility>

#include "context/item/item_limit.h"
#include "context/item/names.h"
#include "context/item/notice.h"
#include "context/item/preview.h"
#include "context/item/size_rule.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr std::string_view kDefaultSession = "default";
// The store may add ".2" and so on to a name that is taken.
constexpr size_t kNameSuffixChars = 4;
constexpr size_t kMinEdgeBytes = 64 * limits::kKiB;
constexpr size_t kMaxEdgeBytes = 256 * limits::kKiB;
constexpr uint64_t kCutMarkSpareBytes = 32;
// With no door a human text is shown by both ends as soon as that is more than its usual preview.
constexpr uint64_t kWideHumanUnits = 16 * limits::kPreviewLineChars;
// Units of a preview that says anything; with less room the notice stands alone.
constexpr uint64_t kMinPreviewUnits = 64;

uint64_t rule_sum(const SizeSums& sums, SizeRule rule) {
  return rule_sum(sums.characters, sums.class_sum, rule);
}

uint64_t limit_of(const EvictRequest& request, const EvictContext& context) {
  const Settings& settings = context.settings;
  if (request.limit_tokens) {
    return under_share(*request.limit_tokens, settings, context.window).tokens;
  }
  return item_limit(settings, request.kind, request.tool, context.window).tokens;
}

// Why the item stays, "" when it is to go (if the replacement gets small enough).
std::string reason_to_stay(uint64_t sum, uint64_t limit, const SizeSums& sums,
                           const EvictRequest& request, const Settings& settings) {
  if (request.is_replacement) return "already_replaced";
  if (request.known || request.force) return "";
  if (request.own_reader) return "own_reader";
  const bool result = request.kind == ArtifactKind::tool_result;
  // A limit that the caller names for this call is nearer than a list.
  if (result && !request.limit_tokens && settings.never.contains(request.tool)) {
    return "tool_never";
  }
  if (over_limit(sum, limit)) return "";
  if (result && settings.always.contains(request.tool)) return "";
  if (result && over_host_limit(sums.characters, sums.bytes, sums.lines, settings.host_limit)) {
    return "";
  }
  return "below_limit";
}

uint64_t minus(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

// Room for the preview: within its own bound, the item's limit, half of the item, and what the host
// of the agent shows.
PreviewLimits preview_room(const std::string& frame, const ContentScan& scan, uint64_t sum,
                           uint64_t limit, bool closed, const EvictContext& context,
                           ArtifactKind kind) {
  const SizeSums own = measure(frame);
  PreviewLimits room;
  const uint64_t limit_units = limit > UINT64_MAX / 4 ? UINT64_MAX : limit * 4;
  room.units =
      closed ? limit_units / 2 : std::min(limits::kPreviewTokens * 4 + own.class_sum, limit_units);
  room.units = std::min(room.units, sum / 2);
  if (kind == ArtifactKind::human) {
    room.units = minus(room.units, own.class_sum);
    return room;
  }
  const HostLimit& host = context.settings.host_limit;
  if (host.characters > 0) room.units = std::min(room.units, host.characters);
  room.units = minus(room.units, own.class_sum);
  if (host.bytes > 0) {
    // A unit of other text than ASCII takes up to two bytes, a mark of a cut one more than its two.
    const bool ascii = scan.sums().bytes == scan.sums().characters;
    const uint64_t left = minus(host.bytes, own.bytes + kCutMarkSpareBytes);
    room.units = std::min(room.units, left / (ascii ? 1 : 2));
  }
  if (host.lines > 0) room.rows = minus(host.lines, own.lines);
  return room;
}

std::string preview_of(const ContentScan& scan, ArtifactKind kind, PreviewLimits room,
                       bool closed) {
  if (room.rows == 0) return "";
  if (kind == ArtifactKind::human && !(closed && room.units >= kWideHumanUnits)) {
    return preview_human(scan, room);
  }
  if (room.units < kMinPreviewUnits) return "";
  return closed ? preview_edges(scan, room) : preview_lines(scan, room);
}

NamedText replacement(const ContentScan& scan, const EvictRequest& request,
                      const EvictContext& context, const EvictDecision& decision,
                      const std::string& name) {
  const std::string folder = artifact_folder(request.kind, context.session_id);
  NoticeInput in;
  in.kind = request.kind;
  in.tool = request.tool;
  in.sums = scan.sums();
  in.tokens = decision.tokens;
  in.binary = scan.binary();
  in.doors = usable_doors(context.doors, !context.location.prefix.empty());
  in.folder = context.location.host_path(folder);
  in.name_chars = name.size() + kNameSuffixChars;
  in.read_limit = context.settings.read_limit;
  NamedText out = notice(in);
  const std::string_view heading = preview_heading(request.kind);
  const std::string frame =
      out.joined(name + std::string(kNameSuffixChars, 'x')) + std::string(heading);
  const uint64_t sum = rule_sum(scan.sums(), context.settings.size_rule);
  const PreviewLimits room =
      preview_room(frame, scan, sum, decision.limit_tokens, in.doors.none(), context, request.kind);
  const std::string preview = preview_of(scan, request.kind, room, in.doors.none());
  if (!preview.empty()) out.text(heading).text(preview);
  return out;
}

}  // namespace

std::string artifact_folder(ArtifactKind kind, std::string_view session_id) {
  if (kind == ArtifactKind::media) return "/conversation_history/media";
  const bool human = kind == ArtifactKind::human;
  std::string folder = human ? "/conversation_history" : "/large_tool_results";
  // Messages lie beside the history files, which are named after the session: always in a folder.
  if (!human && session_id == kDefaultSession) return folder;
  return folder.append("/").append(session_id);
}

ScanOptions scan_options(ArtifactKind kind, const Settings& settings) {
  ScanOptions options;
  options.head_lines = settings.preview_head;
  options.tail_lines = settings.preview_tail;
  uint64_t limit = settings.tool_result_tokens;
  for (const auto& [tool, tokens] : settings.tool_tokens) limit = std::max(limit, tokens);
  if (kind == ArtifactKind::human) {
    options.tail_characters = limits::kHumanTailChars;
    options.tail_lines = 0;
    limit = settings.human_message_tokens;
  }
  // With no door each end may take a quarter of the limit; four bytes cover any unit.
  limit = std::min<uint64_t>(limit, kMaxEdgeBytes);
  options.edge_bytes = std::clamp<size_t>(limit * 4, kMinEdgeBytes, kMaxEdgeBytes);
  return options;
}

EvictDecision plan_eviction(const ContentScan& scan, const EvictRequest& request,
                            const EvictContext& context) {
  const SizeSums& sums = scan.sums();
  const uint64_t sum = rule_sum(sums, context.settings.size_rule);
  EvictDecision decision;
  decision.tokens = tokens_of_sum(sum);
  decision.limit_tokens = limit_of(request, context);
  decision.reason = reason_to_stay(sum, decision.limit_tokens, sums, request, context.settings);
  if (!decision.reason.empty()) return decision;

  const std::string stem = file_stem(request.kind, request.call_id, scan.hash());
  const std::string_view extension = file_extension(request.kind);
  const std::string name = stem + std::string(extension);
  const NamedText text = replacement(scan, request, context, decision, name);
  const uint64_t size = rule_sum(measure(text.joined(name)), context.settings.size_rule);
  if (!request.known && size > sum / 2) {
    decision.reason = "not_smaller";
    return decision;
  }
  decision.evict = true;
  EvictionPlan& plan = decision.plan;
  plan.session = context.session;
  plan.kind = request.kind;
  plan.call_id = request.call_id;
  plan.tool = request.tool;
  plan.content.size = sums.bytes;
  plan.content.hash = scan.hash();
  plan.stem = stem;
  plan.extension = extension;
  plan.replacement_parts = text.parts();
  plan.path_prefix = context.location.prefix;
  plan.path_subtree = context.location.subtree;
  plan.characters = sums.characters;
  plan.lines = sums.lines;
  plan.tokens = decision.tokens;
  plan.tokens_after = tokens_of_sum(size);
  return decision;
}

}  // namespace ebla::context
