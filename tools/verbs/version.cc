#include <fmt/format.h>

#include "schema/base/json.h"
#include "schema/rpc.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {

Result<int> run_version(Call& call) {
  if (!call.args.json) {
    return print(call, fmt::format("ebla {}\n", EBLA_VERSION));
  }
  JsonWriter json;
  json.begin_object().member("version", EBLA_VERSION).member("protocol", rpc::kProtocol);
  json.end_object();
  return print(call, json.take() + "\n");
}

}  // namespace ebla::tools
