#include <fmt/format.h>

#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<std::string> read_params(const Call& call) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_path(params, call, call.args.operands.front()); !added) {
    return std::unexpected(added.error());
  }
  // A negative offset is the daemon's to clamp and to tell.
  for (const auto& [name, smallest] :
       {std::pair{"offset", INT64_MIN}, std::pair{"limit", int64_t{0}},
        std::pair{"column", int64_t{0}}}) {
    if (auto added = add_number(params, name, call.args, name, smallest); !added) {
      return std::unexpected(added.error());
    }
  }
  if (call.args.has("numbered")) {
    params.member("numbered", true);
  }
  params.end_object();
  return params.take();
}

// What is not the text itself: where it goes on, and what is odd about it.
std::string notes_of(const Json& page) {
  std::string out;
  if (const Json* notes = page.find("notes"); notes != nullptr) {
    for (const Json& note : notes->items) {
      out += fmt::format("ebla: {}\n", scalar_text(note));
    }
  }
  if (text_at(page, "encoding") == "bytes") {
    out += "ebla: bytes that are no UTF-8 are shown as \\xHH\n";
  }
  const auto next = number_at(page, "next");
  if (!next) {
    return out;
  }
  const auto first = number_at(page, "first");
  const auto last = number_at(page, "last");
  std::string shown = "nothing shown";
  if (first && last) {
    shown = *first == *last ? fmt::format("line {}", *first)
                            : fmt::format("lines {} to {}", *first, *last);
  }
  out +=
      fmt::format("ebla: {} of {}; go on with --offset {}", shown, text_at(page, "total"), *next);
  if (const auto column = number_at(page, "next_column")) {
    out += fmt::format(" --column {}", *column);
  }
  return out + "\n";
}

}  // namespace

Result<int> run_read(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla read` needs the path of a file");
  }
  auto params = read_params(call);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("fs.read", *params);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (call.args.json) {
    return print_json(call, *reply);
  }
  auto text = reply->bytes("text");
  if (!text) {
    return std::unexpected(text.error());
  }
  Output& out = call.streams.out;
  if (auto written = out.write_content(*text); !written) {
    return std::unexpected(written.error());
  }
  if (auto written = out.finish_content(); !written) {
    return std::unexpected(written.error());
  }
  // On a terminal the note would stand behind a text that does not end its line.
  std::string notes = notes_of(reply->result);
  if (!notes.empty() && out.terminal() && !text->empty() && !text->ends_with('\n')) {
    notes.insert(0, "\n");
  }
  call.streams.err.note(notes);
  return kExitOk;
}

}  // namespace ebla::tools
