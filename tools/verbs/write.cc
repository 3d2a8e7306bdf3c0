#include <fmt/format.h>
#include <sys/stat.h>

#include "tools/content.h"
#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/input.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

constexpr mode_t kNewFile = 0666;

// As any program that makes a file: what the user's umask leaves.
std::string new_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return fmt::format("{:04o}", kNewFile & ~mask);
}

Result<std::string> write_params(const Call& call, const Content& content) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_path(params, call, call.args.operands.front()); !added) {
    return std::unexpected(added.error());
  }
  params.key("content").raw(content_reference(content));
  if (auto added = add_text(params, "if_etag", call.args.find("if-etag"), "--if-etag"); !added) {
    return std::unexpected(added.error());
  }
  for (const char* flag : {"append", "parents"}) {
    if (call.args.has(flag)) {
      params.member(flag, true);
    }
  }
  params.member("mode", new_mode()).end_object();
  return params.take();
}

}  // namespace

Result<int> run_write(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla write` needs the path of a file in the tree");
  }
  const auto input = read_input(call, 1);
  if (!input) {
    return std::unexpected(input.error());
  }
  const Content& content = *input;
  if (content.error()) {
    return std::unexpected(*content.error());
  }
  auto params = write_params(call, content);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = call_with(*client, "fs.write", *params, content);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : Result<int>(kExitOk);
}

}  // namespace ebla::tools
