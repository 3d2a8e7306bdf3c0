#include "tools/verbs/search.h"

#include <fmt/format.h>

#include "tools/verbs/common.h"

namespace ebla::tools {

Result<void> add_search(JsonWriter& params, const Call& call) {
  const auto& operands = call.args.operands;
  if (auto added = add_text(params, "pattern", &operands.front(), "the pattern"); !added) {
    return added;
  }
  if (operands.size() > 1) {
    return add_path(params, call, operands[1]);
  }
  return add_text(params, "session", call.args.find("session"), "--session");
}

std::string search_notes(const Json& reply) {
  std::string out;
  if (true_at(reply, "timed_out")) {
    out += fmt::format("ebla: out of time, this is not everything: narrow PATH{}\n",
                       reply.find("next") == nullptr
                           ? ""
                           : fmt::format("; or --after '{}'", text_at(reply, "next")));
  }
  const Json* skipped = reply.find("skipped");
  if (skipped == nullptr) {
    return out;
  }
  out += fmt::format("ebla: {} files could not be read\n", text_at(*skipped, "count"));
  if (const Json* files = skipped->find("files")) {
    for (const Json& file : files->items) {
      out +=
          fmt::format("ebla: not read: {} ({})\n", text_at(file, "path"), text_at(file, "error"));
    }
  }
  return out;
}

int search_status(const Json& reply, bool found) {
  if (found) {
    return kExitOk;
  }
  return true_at(reply, "timed_out") ? kExitRetry : kExitFailure;
}

}  // namespace ebla::tools
