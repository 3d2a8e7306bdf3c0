#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

bool is_time(std::string_view member) {
  return member == "atime" || member == "mtime" || member == "ctime";
}

// Every member that the daemon sends has its row, so that nothing new is hidden.
std::string rows(const Json& stat) {
  using enum Table::Align;
  Table table({left, left});
  for (const auto& [name, value] : stat.members) {
    if (value.is(Json::Kind::object)) {
      for (const auto& [attribute, text] : value.members) {
        table.row({printable(attribute), scalar_text(text)});
      }
    } else {
      table.row({printable(name), is_time(name) ? format_time(value.text) : scalar_text(value)});
    }
  }
  return table.text();
}

}  // namespace

Result<int> run_stat(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla stat` needs a path");
  }
  JsonWriter params;
  params.begin_object();
  if (auto added = add_path(params, call, call.args.operands.front()); !added) {
    return std::unexpected(added.error());
  }
  params.end_object();
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("fs.stat", params.take());
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : print(call, rows(reply->result));
}

}  // namespace ebla::tools
