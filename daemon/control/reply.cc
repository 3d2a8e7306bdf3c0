#include "daemon/control/reply.h"

#include <vector>

#include "schema/base/json.h"
#include "schema/frame.h"

namespace ebla::daemon {

std::string encode_result(std::string_view id, const Reply& reply) {
  // By hand: the result is finished JSON, and may be large.
  std::string object;
  object.reserve(40 + id.size() + reply.result.size());
  object += R"({"jsonrpc":"2.0","id":)";
  object += id;
  object += R"(,"result":)";
  object += reply.result;
  object += '}';
  const std::vector<std::string_view> blobs(reply.blobs.begin(), reply.blobs.end());
  return encode_frame(object, blobs);
}

std::string encode_error(std::string_view id, const Error& error) {
  const CodeInfo& info = code_info(error.code);
  JsonWriter out;
  out.begin_object().member("jsonrpc", "2.0").key("id").raw(id).key("error").begin_object();
  out.member("code", info.rpc_code).member("message", std::string_view(error.text));
  out.key("data").begin_object();
  out.member("name", info.name).member("retry", info.retry);
  out.end_object().end_object().end_object();
  return encode_frame(out.take(), {});
}

}  // namespace ebla::daemon
