// mount, unmount: by the daemon that runs.
#include <fmt/format.h>

#include "tools/mounting.h"
#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {

Result<int> run_mount(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla mount` needs a folder, DIR or SUBTREE=DIR");
  }
  auto wish = parse_mount_wish(call.args.operands.front());
  if (!wish) {
    return std::unexpected(wish.error());
  }
  wish->read_only = call.args.has("read-only");
  wish->no_exec = call.args.has("no-exec");
  wish->allow_other = call.args.has("allow-other");
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = add_mount(*client, *wish);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (call.args.json) {
    return print_json(call, *reply);
  }
  const bool reads = !wish->read_only && !true_at(reply->result, "writable");
  return print(call, fmt::format("{} is mounted at {}{}\n", text_at(reply->result, "subtree"),
                                 text_at(reply->result, "directory"),
                                 reads ? ", to be read: it is written through another mount" : ""));
}

Result<int> run_unmount(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla unmount` needs the folder of a mount");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  const std::string directory = absolute_directory(call.args.operands.front());
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "directory", &directory, "DIR"); !added) {
    return std::unexpected(added.error());
  }
  params.end_object();
  auto reply = client->call("mount.remove", params.take());
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (call.args.json) {
    return print_json(call, *reply);
  }
  return print(call, fmt::format("{} is no longer mounted\n", text_at(reply->result, "directory")));
}

}  // namespace ebla::tools
