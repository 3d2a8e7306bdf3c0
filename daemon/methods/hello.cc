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

// Those that a client has to keep, or may count on.
constexpr std::array kLimits = {
    Limit{"request_line_bytes", limits::kRequestLineBytes},
    Limit{"blobs_per_request", limits::kBlobsPerRequest},
    Limit{"blob_bytes", limits::kBlobBytes},
    Limit{"fds_per_request", limits::kFdsPerRequest},
    Limit{"json_depth", limits::kJsonDepth},
    Limit{"pipelined_requests", limits::kPipelinedRequests},
    Limit{"name_bytes", limits::kNameBytes},
    Limit{"path_bytes", limits::kPathBytes},
    Limit{"session_key_bytes", limits::kSessionKeyBytes},
    Limit{"session_label_bytes", limits::kSessionLabelBytes},
    Limit{"session_project_bytes", limits::kSessionProjectBytes},
    Limit{"session_depth", limits::kSessionDepth},
    Limit{"call_id_bytes", limits::kCallIdBytes},
    Limit{"tool_name_bytes", limits::kToolNameBytes},
    Limit{"file_bytes", limits::kFileBytes},
    Limit{"read_bytes", limits::kReadBytes},
    Limit{"list_entries", limits::kListEntries},
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
