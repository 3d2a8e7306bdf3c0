#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "schema/base/limits.h"
#include "tools/history_index.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/input.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kSharedSession = "default";

struct History {
  Client client;
  std::string path;  // in the tree
};

std::string session_of(const Call& call) {
  const std::string* named = call.args.find("session");
  return named == nullptr ? std::string(kSharedSession) : *named;
}

Result<History> open_history(const Call& call) {
  const std::string session = session_of(call);
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "session", &session, "--session"); !added) {
    return std::unexpected(added.error());
  }
  params.end_object();
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("session.get", params.take());
  if (!reply) {
    return std::unexpected(reply.error());
  }
  auto path = reply->bytes("history");
  if (!path) {
    return std::unexpected(path.error());
  }
  return History{std::move(*client), std::move(*path)};
}

using Sink = std::function<Result<void>(std::string_view piece)>;

// The bytes from `begin` to `end`, or to the end of the file, a page at a time.
Result<void> read_range(History& history, uint64_t begin, uint64_t end, const Sink& sink) {
  while (begin < end) {
    JsonWriter params;
    params.begin_object().member("path", history.path).member("offset", begin);
    params.member("size", std::min<uint64_t>(limits::kReadBytes, end - begin)).end_object();
    auto page = history.client.call("fs.read_bytes", params.take());
    if (!page) {
      return std::unexpected(page.error());
    }
    auto bytes = page->bytes("bytes");
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    if (auto taken = sink(*bytes); !taken) {
      return taken;
    }
    if (bytes->empty() || page->result.find("next") == nullptr) {
      return {};
    }
    begin += bytes->size();
  }
  return {};
}

Result<HistoryIndex> read_index(History& history) {
  HistoryIndex index;
  auto read = read_range(history, 0, UINT64_MAX, [&](std::string_view piece) -> Result<void> {
    index.feed(piece);
    return {};
  });
  if (!read) {
    return std::unexpected(read.error());
  }
  index.finish();
  return index;
}

Result<int> print_range(Call& call, History& history, uint64_t begin, uint64_t end) {
  Output& out = call.streams.out;
  auto read = read_range(history, begin, end,
                         [&](std::string_view piece) { return out.write_content(piece); });
  if (read) {
    read = out.finish_content();
  }
  return read ? Result<int>(kExitOk) : std::unexpected(read.error());
}

std::string index_json(const History& history, const HistoryIndex& index) {
  JsonWriter out;
  out.begin_object().member("path", history.path).key("sections").begin_array();
  for (const HistorySection& section : index.sections()) {
    out.begin_object()
        .member("section", section.ordinal)
        .member("first", section.first)
        .member("last", section.last)
        .member("written", section.written)
        .member("summary", section.summary)
        .member("offset", section.begin)
        .member("size", section.end - section.begin)
        .key("messages")
        .begin_array();
    for (const HistoryMessage& message : section.messages) {
      out.begin_object().member("message", message.number).member("role", message.role);
      out.member("offset", message.begin).member("size", message.end - message.begin).end_object();
    }
    out.end_array().end_object();
  }
  return out.end_array().end_object().take();
}

Result<int> print_list(Call& call, History& history) {
  auto index = read_index(history);
  if (!index) {
    return std::unexpected(index.error());
  }
  if (call.args.json) {
    return print(call, index_json(history, *index) + "\n");
  }
  using enum Table::Align;
  Table table({right, right, right, right, left, left});
  table.row({"SECTION", "MESSAGES", "COUNT", "BYTES", "SUMMARY", "WRITTEN"});
  for (const HistorySection& section : index->sections()) {
    table.row({fmt::to_string(section.ordinal), fmt::format("{}-{}", section.first, section.last),
               fmt::to_string(section.messages.size()), fmt::to_string(section.end - section.begin),
               section.summary ? "yes" : "no", terminal_text(section.written)});
  }
  return print(call, table.text());
}

// The newest message of this number: after a rewind there may be older ones.
const HistoryMessage* find_message(const std::vector<HistorySection>& sections, uint64_t number) {
  for (auto section = sections.rbegin(); section != sections.rend(); ++section) {
    const auto at = std::ranges::find(section->messages, number, &HistoryMessage::number);
    if (at != section->messages.end()) {
      return &*at;
    }
  }
  return nullptr;
}

Result<int> print_part(Call& call, History& history, std::optional<int64_t> section,
                       std::optional<int64_t> message) {
  auto index = read_index(history);
  if (!index) {
    return std::unexpected(index.error());
  }
  std::vector<HistorySection> sections = index->sections();
  if (section) {
    std::erase_if(sections, [&](const HistorySection& one) {
      return one.ordinal != static_cast<uint64_t>(*section);
    });
    if (sections.empty()) {
      return fail(Code::no_match, fmt::format("{} has no section {}; `ebla history --list` shows "
                                              "what it has",
                                              history.path, *section));
    }
  }
  if (!message) {
    return print_range(call, history, sections.back().begin, sections.back().end);
  }
  const HistoryMessage* found = find_message(sections, static_cast<uint64_t>(*message));
  if (found == nullptr) {
    return fail(Code::no_match,
                fmt::format("message {} is not in {}{}: only what left the conversation is",
                            *message, section ? "this section of " : "", history.path));
  }
  return print_range(call, history, found->begin, found->end);
}

Result<int> append(Call& call) {
  const auto input = read_input(call);
  if (!input) {
    return std::unexpected(input.error());
  }
  if (input->error()) {
    return std::unexpected(*input->error());
  }
  const std::string session = session_of(call);
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "session", &session, "--session"); !added) {
    return std::unexpected(added.error());
  }
  if (auto added = add_text(params, "format", call.args.find("format"), "--format"); !added) {
    return std::unexpected(added.error());
  }
  params.key("messages").raw(content_reference(*input));
  params.end_object();
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = call_with(*client, "history.append", params.take(), *input);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  if (call.args.json) {
    return print_json(call, *reply);
  }
  return print(call, fmt::format("{} messages appended to {}\n", text_at(reply->result, "appended"),
                                 text_at(reply->result, "path")));
}

Result<void> check_options(const Call& call) {
  const Arguments& args = call.args;
  const bool appends = args.has("append");
  if (!appends && !args.operands.empty()) {
    return fail(Code::usage, "a FILE is for --append");
  }
  if (!appends && args.has("format")) {
    return fail(Code::usage, "--format is for --append");
  }
  if (appends && (args.has("list") || args.has("section") || args.has("message"))) {
    return fail(Code::usage, "--append goes with none of --list, --section and --message");
  }
  if (args.has("list") && (args.has("section") || args.has("message"))) {
    return fail(Code::usage, "--list goes with neither --section nor --message");
  }
  return {};
}

}  // namespace

Result<int> run_history(Call& call) {
  if (auto fit = check_options(call); !fit) {
    return std::unexpected(fit.error());
  }
  if (call.args.has("append")) {
    return append(call);
  }
  auto section = call.args.number("section", 1);
  auto message = call.args.number("message", 1);
  for (const auto& number : {section, message}) {
    if (!number) {
      return std::unexpected(number.error());
    }
  }
  auto history = open_history(call);
  if (!history) {
    return std::unexpected(history.error());
  }
  if (call.args.has("list")) {
    return print_list(call, *history);
  }
  if (*section || *message) {
    return print_part(call, *history, *section, *message);
  }
  if (call.args.json) {
    return print_list(call, *history);
  }
  return print_range(call, *history, 0, UINT64_MAX);
}

}  // namespace ebla::tools
