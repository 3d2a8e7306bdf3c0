#include <fmt/format.h>

#include <array>

#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/version.h"

namespace ebla::daemon::methods {
namespace {

struct Limit {
  std::string_view name;
  uint64_t value;
};

// Every limit of ebla-control(7), by its name there.
constexpr std::array kLimits = {
    Limit{"request_line_bytes", limits::kRequestLineBytes},
    Limit{"blobs_per_request", limits::kBlobsPerRequest},
    Limit{"blob_memory_bytes", limits::kBlobMemoryBytes},
    Limit{"blob_memory_total_bytes", limits::kBlobMemoryTotalBytes},
    Limit{"blob_bytes", limits::kBlobBytes},
    Limit{"line_total_bytes", limits::kLineTotalBytes},
    Limit{"fds_per_request", limits::kFdsPerRequest},
    Limit{"parsed_request_bytes", limits::kParsedRequestBytes},
    Limit{"parsed_total_bytes", limits::kParsedTotalBytes},
    Limit{"json_depth", limits::kJsonDepth},
    Limit{"pipelined_requests", limits::kPipelinedRequests},
    Limit{"reply_queue_bytes", limits::kReplyQueueBytes},
    Limit{"connections", limits::kConnections},
    Limit{"listen_backlog", limits::kListenBacklog},
    Limit{"name_bytes", limits::kNameBytes},
    Limit{"path_bytes", limits::kPathBytes},
    Limit{"session_key_bytes", limits::kSessionKeyBytes},
    Limit{"session_label_bytes", limits::kSessionLabelBytes},
    Limit{"session_project_bytes", limits::kSessionProjectBytes},
    Limit{"call_id_bytes", limits::kCallIdBytes},
    Limit{"tool_name_bytes", limits::kToolNameBytes},
    Limit{"session_depth", limits::kSessionDepth},
    Limit{"plain_id_bytes", limits::kPlainIdBytes},
    Limit{"readable_id_bytes", limits::kReadableIdBytes},
    Limit{"readable_session_bytes", limits::kReadableSessionBytes},
    Limit{"notice_path_bytes", limits::kNoticePathBytes},
    Limit{"chunk_bytes", limits::kChunkBytes},
    Limit{"inline_content_bytes", limits::kInlineContentBytes},
    Limit{"stage_slice_bytes", limits::kStageSliceBytes},
    Limit{"file_bytes", limits::kFileBytes},
    Limit{"links", limits::kLinks},
    Limit{"link_target_bytes", limits::kLinkTargetBytes},
    Limit{"xattr_bytes", limits::kXattrBytes},
    Limit{"xattr_list_bytes", limits::kXattrListBytes},
    Limit{"dirty_file_bytes", limits::kDirtyFileBytes},
    Limit{"dirty_bytes", limits::kDirtyBytes},
    Limit{"dirty_age_ms", limits::kDirtyAgeMs},
    Limit{"copy_bytes", limits::kCopyBytes},
    Limit{"tool_result_tokens", limits::kToolResultTokens},
    Limit{"human_message_tokens", limits::kHumanMessageTokens},
    Limit{"preview_lines", limits::kPreviewLines},
    Limit{"preview_error_lines", limits::kPreviewErrorLines},
    Limit{"preview_line_chars", limits::kPreviewLineChars},
    Limit{"preview_tokens", limits::kPreviewTokens},
    Limit{"notice_chars", limits::kNoticeChars},
    Limit{"human_tail_chars", limits::kHumanTailChars},
    Limit{"prompt_tokens", limits::kPromptTokens},
    Limit{"read_lines", limits::kReadLines},
    Limit{"page_tokens", limits::kPageTokens},
    Limit{"read_bytes", limits::kReadBytes},
    Limit{"list_entries", limits::kListEntries},
    Limit{"json_values", limits::kJsonValues},
    Limit{"trigger_tokens", limits::kTriggerTokens},
    Limit{"keep_messages", limits::kKeepMessages},
    Limit{"keep_old_messages", limits::kKeepOldMessages},
    Limit{"argument_chars", limits::kArgumentChars},
    Limit{"old_result_tokens", limits::kOldResultTokens},
    Limit{"item_bytes", limits::kItemBytes},
    Limit{"window_tokens", limits::kWindowTokens},
    Limit{"first_task_tokens", limits::kFirstTaskTokens},
    Limit{"summary_tokens", limits::kSummaryTokens},
    Limit{"where_to_look_tokens", limits::kWhereToLookTokens},
    Limit{"reader_clip_chars", limits::kReaderClipChars},
    Limit{"stub_chars", limits::kStubChars},
    Limit{"cache_marks", limits::kCacheMarks},
    Limit{"messages", limits::kMessages},
    Limit{"image_tokens", limits::kImageTokens},
    Limit{"image_head_bytes", limits::kImageHeadBytes},
    Limit{"document_bytes_per_token", limits::kDocumentBytesPerToken},
    Limit{"sealed_bytes_per_token", limits::kSealedBytesPerToken},
    Limit{"images", limits::kImages},
    Limit{"anthropic_media_bytes", limits::kAnthropicMediaBytes},
    Limit{"open_ai_media_bytes", limits::kOpenAiMediaBytes},
    Limit{"gemini_media_bytes", limits::kGeminiMediaBytes},
    Limit{"seen_list_bytes", limits::kSeenListBytes},
    Limit{"answered_lists", limits::kAnsweredLists},
    Limit{"summariser_ms", limits::kSummariserMs},
    Limit{"summarisers", limits::kSummarisers},
    Limit{"summary_wait_ms", limits::kSummaryWaitMs},
    Limit{"summaries_waiting", limits::kSummariesWaiting},
    Limit{"summary_offers", limits::kSummaryOffers},
    Limit{"breaker_failures", limits::kBreakerFailures},
    Limit{"breaker_first_s", limits::kBreakerFirstS},
    Limit{"breaker_last_s", limits::kBreakerLastS},
    Limit{"fact_name_bytes", limits::kFactNameBytes},
    Limit{"fact_bytes", limits::kFactBytes},
    Limit{"event_wait_ms", limits::kEventWaitMs},
    Limit{"event_waiters", limits::kEventWaiters},
    Limit{"pattern_bytes", limits::kPatternBytes},
    Limit{"grep_max_count", limits::kGrepMaxCount},
    Limit{"hit_bytes", limits::kHitBytes},
    Limit{"context_lines", limits::kContextLines},
    Limit{"context_reach_bytes", limits::kContextReachBytes},
    Limit{"regex_line_bytes", limits::kRegexLineBytes},
    Limit{"skipped_names", limits::kSkippedNames},
    Limit{"nearest_lines", limits::kNearestLines},
    Limit{"tool_tokens", limits::kToolTokens},
    Limit{"body_bytes", limits::kBodyBytes},
    Limit{"bodies_bytes", limits::kBodiesBytes},
    Limit{"delivery_wait_ms", limits::kDeliveryWaitMs},
    Limit{"request_deadline_ms", limits::kRequestDeadlineMs},
    Limit{"store_wait_ms", limits::kStoreWaitMs},
    Limit{"growth_wait_ms", limits::kGrowthWaitMs},
    Limit{"search_budget_ms", limits::kSearchBudgetMs},
    Limit{"nearest_budget_ms", limits::kNearestBudgetMs},
};

struct Share {
  std::string_view name;
  double value;
};
constexpr std::array kShares = {
    Share{"relief", limits::kRelief},
    Share{"pass_goal", limits::kPassGoal},
    Share{"clip_target", limits::kClipTarget},
    Share{"must_share", limits::kMustShare},
    Share{"usable_share", limits::kUsableShare},
    Share{"pin_share", limits::kPinShare},
    Share{"summary_share", limits::kSummaryShare},
    Share{"user_words_share", limits::kUserWordsShare},
    Share{"ratio_low", limits::kRatioLow},
    Share{"ratio_high", limits::kRatioHigh},
};

constexpr std::array<std::string_view, 13> kFeatures = {
    "blobs",   "fd",      "path",  "sessions", "evict.blocks",   "fs.read", "fs.read_bytes",
    "fs.grep", "fs.glob", "tools", "prepare",  "history.append", "events"};

}  // namespace

void hello(MethodCall call) {
  if (auto client = text_param(call, "client", limits::kToolNameBytes); !client) {
    return call.refuse(std::move(client.error()));
  }
  if (const Json* protocol = call.param("protocol")) {
    if (protocol->as_int64() != rpc::kProtocol) {
      return call.refuse(Code::invalid_params,
                         fmt::format("protocol: this daemon speaks {} only, not {}", rpc::kProtocol,
                                     printable(protocol->text)));
    }
  }
  JsonWriter out;
  out.begin_object();
  out.key("server").begin_object().member("name", "ebla").member("version", kVersion).end_object();
  out.member("protocol", rpc::kProtocol);
  write_mounts(out.key("mounts"), call.services().mounts);
  out.key("limits").begin_object();
  for (const Limit& limit : kLimits) out.member(limit.name, limit.value);
  for (const Share& share : kShares) out.member(share.name, share.value);
  out.end_object();
  out.key("features").begin_array();
  for (const std::string_view feature : kFeatures) out.string(feature);
  out.end_array();
  out.end_object();
  call.reply(out.take());
}

}  // namespace ebla::daemon::methods
