#include <fmt/format.h>

#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

std::string value_text(std::string_view name, const Json& value) {
  const auto number = value.as_uint64();
  const bool bytes = name == "bytes" || name.ends_with("_bytes");
  return bytes && number ? format_bytes(*number) : scalar_text(value);
}

// One row a counter, its group before it: easy to read, easy to grep.
std::string rows(const Json& stats) {
  using enum Table::Align;
  Table table({left, left});
  for (const auto& [group, members] : stats.members) {
    if (!members.is(Json::Kind::object)) {
      table.row({printable(group), value_text(group, members)});
    }
    for (const auto& [name, value] : members.members) {
      table.row({printable(fmt::format("{}.{}", group, name)), value_text(name, value)});
    }
  }
  return table.text();
}

}  // namespace

Result<int> run_stats(Call& call) {
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("stats", "{}");
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : print(call, rows(reply->result));
}

}  // namespace ebla::tools
