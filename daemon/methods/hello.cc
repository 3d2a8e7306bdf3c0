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
    Limit{"delivery_wait_ms", limits::kDeliveryWaitMs},
    Limit{"request_deadline_ms", limits::kRequestDeadlineMs},
};

constexpr std::array<std::string_view, 7> kFeatures = {
    "blobs", "fd", "path", "sessions", "evict.blocks", "fs.read", "fs.read_bytes"};

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
  out.end_object();
  out.key("features").begin_array();
  for (const std::string_view feature : kFeatures) out.string(feature);
  out.end_array();
  out.end_object();
  call.reply(out.take());
}

}  // namespace ebla::daemon::methods
