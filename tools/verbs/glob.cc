#include <fmt/format.h>

#include "schema/base/limits.h"
#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/search.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<std::string> glob_params(const Call& call, const std::string& after) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_search(params, call); !added) {
    return std::unexpected(added.error());
  }
  params.member("after", after).member("limit", uint64_t{limits::kListEntries}).end_object();
  return params.take();
}

std::string rows(const Json& page) {
  std::string out;
  const Json* entries = page.find("entries");
  if (entries == nullptr) {
    return out;
  }
  for (const Json& entry : entries->items) {
    out += fmt::format("{}{}\n", text_at(entry, "path"),
                       text_at(entry, "kind") == "directory" ? "/" : "");
  }
  return out;
}

}  // namespace

Result<int> run_glob(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla glob` needs a pattern of names");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  Reply whole;
  std::string after;
  bool found = false;
  for (;;) {
    auto params = glob_params(call, after);
    if (!params) {
      return std::unexpected(params.error());
    }
    auto page = client->call("fs.glob", *params);
    if (!page) {
      return std::unexpected(page.error());
    }
    const Json* next = page->result.find("next");
    const bool more = next != nullptr && !true_at(page->result, "timed_out");
    if (more) {
      after = next->text;
    }
    const int status = search_status(page->result, found = found || !rows(page->result).empty());
    const std::string notes = search_notes(page->result);
    if (!call.args.json) {
      if (auto shown = print(call, rows(page->result)); !shown) {
        return shown;
      }
      if (!more) {
        call.streams.err.note(notes);
      }
    } else {
      append_page(whole, *std::move(page), "entries");
    }
    if (more) {
      continue;
    }
    if (!call.args.json) {
      return status;
    }
    auto printed = print_json(call, whole);
    return printed ? Result<int>(status) : printed;
  }
}

}  // namespace ebla::tools
