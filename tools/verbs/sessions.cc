#include <fmt/format.h>

#include "schema/base/limits.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<std::string> list_params(const Call& call, const std::optional<std::string>& after) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "project", call.args.find("project"), "--project"); !added) {
    return std::unexpected(added.error());
  }
  if (after) {
    params.member("after", *after);
  }
  params.member("limit", uint64_t{limits::kListEntries}).end_object();
  return params.take();
}

void add_rows(Table& table, const Json& page) {
  const Json* sessions = page.find("sessions");
  if (sessions == nullptr) {
    return;
  }
  for (const Json& session : sessions->items) {
    table.row({text_at(session, "id"), format_time(text_at(session, "created_at")),
               text_at(session, "parent"), text_at(session, "folder"), text_at(session, "key"),
               text_at(session, "label")});
  }
}

Result<int> close_session(Call& call, Client& client) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "session", call.args.find("close"), "--close"); !added) {
    return std::unexpected(added.error());
  }
  params.end_object();
  auto reply = client.call("session.close", params.take());
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json
             ? print_json(call, *reply)
             : print(call, fmt::format("session {} is closed; what it kept stays readable\n",
                                       text_at(reply->result, "id")));
}

}  // namespace

Result<int> run_sessions(Call& call) {
  if (call.args.has("close") && call.args.has("project")) {
    return fail(Code::usage, "--close names one session, so --project does not go with it");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  if (call.args.has("close")) {
    return close_session(call, *client);
  }
  using enum Table::Align;
  Table table({left, left, left, left, left, left});
  table.row({"ID", "CREATED", "PARENT", "FOLDER", "KEY", "LABEL"});
  Reply whole;
  std::optional<std::string> after;
  do {
    auto params = list_params(call, after);
    if (!params) {
      return std::unexpected(params.error());
    }
    auto page = client->call("session.list", *params);
    if (!page) {
      return std::unexpected(page.error());
    }
    const Json* next = page->result.find("next");
    after = next == nullptr ? std::nullopt : std::optional(next->text);
    add_rows(table, page->result);
    append_page(whole, std::move(*page), "sessions");
  } while (after);
  return call.args.json ? print_json(call, whole) : print(call, table.text());
}

}  // namespace ebla::tools
