#include <fmt/format.h>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

struct Texts {
  std::string old_text;
  std::string new_text;
};

// From a file of that option, else the next operand.
Result<std::string> text_of(const Call& call, std::string_view option, size_t& next) {
  if (const std::string* file = call.args.find(option)) {
    return read_file(*file, limits::kEditTextBytes);
  }
  if (next < call.args.operands.size()) {
    return call.args.operands[next++];
  }
  return fail(Code::usage, "`ebla edit` needs PATH OLD NEW, or --old-file and --new-file");
}

Result<Texts> read_texts(const Call& call) {
  size_t next = 1;
  auto old_text = text_of(call, "old-file", next);
  if (!old_text) {
    return std::unexpected(old_text.error());
  }
  auto new_text = text_of(call, "new-file", next);
  if (!new_text) {
    return std::unexpected(new_text.error());
  }
  if (next < call.args.operands.size()) {
    return fail(Code::usage, "`ebla edit`: a text is given both as a word and as a file");
  }
  return Texts{*std::move(old_text), *std::move(new_text)};
}

Result<std::string> edit_params(const Call& call) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_path(params, call, call.args.operands.front()); !added) {
    return std::unexpected(added.error());
  }
  params.key("old").raw(R"({"$blob":0})").key("new").raw(R"({"$blob":1})");
  if (auto added = add_text(params, "if_etag", call.args.find("if-etag"), "--if-etag"); !added) {
    return std::unexpected(added.error());
  }
  if (call.args.has("all")) {
    params.member("all", true);
  }
  params.end_object();
  return params.take();
}

}  // namespace

Result<int> run_edit(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla edit` needs the path of a file in the tree");
  }
  auto texts = read_texts(call);
  if (!texts) {
    return std::unexpected(texts.error());
  }
  auto params = edit_params(call);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  Attachments attachments;
  attachments.blobs = {texts->old_text, texts->new_text};
  auto reply = client->call("fs.edit", *params, attachments);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (call.args.json) {
    return print_json(call, *reply);
  }
  const std::string count = text_at(reply->result, "replaced");
  return print(call,
               fmt::format("{}: {} {} replaced, line {}\n", text_at(reply->result, "path"), count,
                           count == "1" ? "place" : "places", text_at(reply->result, "line")));
}

}  // namespace ebla::tools
