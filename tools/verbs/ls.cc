#include <fmt/format.h>

#include "schema/base/limits.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<std::string> ls_params(const Call& call, std::optional<int64_t> after) {
  JsonWriter params;
  params.begin_object();
  const std::string root = "/";
  const auto& operands = call.args.operands;
  if (auto added = add_path(params, call, operands.empty() ? root : operands.front()); !added) {
    return std::unexpected(added.error());
  }
  if (after) {
    params.member("after", *after);
  }
  params.member("limit", uint64_t{limits::kListEntries}).end_object();
  return params.take();
}

std::string rows(const Json& page) {
  using enum Table::Align;
  Table table({left, right, left, left});
  const Json* entries = page.find("entries");
  if (entries == nullptr) {
    return "";
  }
  for (const Json& entry : entries->items) {
    table.row({text_at(entry, "kind"), text_at(entry, "size"), format_time(text_at(entry, "mtime")),
               text_at(entry, "name")});
  }
  return table.text();
}

}  // namespace

Result<int> run_ls(Call& call) {
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  Reply whole;
  std::optional<int64_t> after;
  for (;;) {
    auto params = ls_params(call, after);
    if (!params) {
      return std::unexpected(params.error());
    }
    auto page = client->call("fs.ls", *params);
    if (!page) {
      return std::unexpected(page.error());
    }
    after = number_at(page->result, "next");
    if (!call.args.json) {
      if (auto shown = print(call, rows(page->result)); !shown) {
        return shown;
      }
    } else {
      append_page(whole, std::move(*page), "entries");
    }
    if (!after) {
      return call.args.json ? print_json(call, whole) : Result<int>(kExitOk);
    }
  }
}

}  // namespace ebla::tools
