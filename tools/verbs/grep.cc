#include <fmt/format.h>

#include <string>

#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/search.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<std::string> grep_params(const Call& call) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_search(params, call); !added) {
    return std::unexpected(added.error());
  }
  for (const auto& [option, member] :
       {std::pair{"glob", "glob"}, std::pair{"mode", "mode"}, std::pair{"after", "after"}}) {
    auto added = add_text(params, member, call.args.find(option), fmt::format("--{}", option));
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  for (const auto& [option, member] :
       {std::pair{"context", "context"}, std::pair{"max-count", "max_count"}}) {
    if (auto added = add_number(params, member, call.args, option, 0); !added) {
      return std::unexpected(added.error());
    }
  }
  if (call.args.has("regex")) {
    params.member("regex", true);
  }
  if (call.args.has("ignore-case")) {
    params.member("ignore_case", true);
  }
  params.end_object();
  return params.take();
}

// `PATH:LINE:text`, context with dashes; where the text is a window, its column before it.
Result<void> print_row(Output& out, const Json& row) {
  const bool context = true_at(row, "context");
  const char mark = context ? '-' : ':';
  const bool window = row.find("text_column") != nullptr || true_at(row, "cut");
  std::string head =
      fmt::format("{}{}{}{}", text_at(row, "path"), mark, text_at(row, "line"), mark);
  if (window && !context) {
    head += fmt::format("[column {}] ", text_at(row, "column"));
  }
  if (row.find("text_column") != nullptr) {
    head += "\u2026";
  }
  const Json* text = row.find("text");
  const std::string tail = true_at(row, "cut") ? "\u2026\n" : "\n";
  return out.write_content(head + (text == nullptr ? "" : text->text) + tail);
}

Result<void> print_rows(Output& out, const Json& rows, bool grouped) {
  const Json* before = nullptr;
  for (const Json& row : rows.items) {
    if (grouped && before != nullptr) {
      const bool same = text_at(*before, "path") == text_at(row, "path");
      const auto line = number_at(row, "line").value_or(0);
      if (!same || line > number_at(*before, "line").value_or(0) + 1) {
        if (auto written = out.write_content("--\n"); !written) {
          return written;
        }
      }
    }
    if (auto written = print_row(out, row); !written) {
      return written;
    }
    before = &row;
  }
  return out.finish_content();
}

Result<void> print_files(Output& out, const Json& files) {
  std::string text;
  for (const Json& file : files.items) {
    text += text_at(file, "path");
    if (file.find("lines") != nullptr) {
      text += ":" + text_at(file, "lines");
    }
    text += '\n';
  }
  return out.write(text);
}

std::string notes_of(const Json& reply) {
  std::string out;
  if (true_at(reply, "truncated")) {
    out += fmt::format("ebla: there is more: narrow pattern, PATH or --glob; or --after '{}'\n",
                       text_at(reply, "next"));
  }
  if (reply.find("hint") != nullptr) {
    out +=
        "ebla: the pattern was searched as it is written: --regex makes it a regular expression\n";
  }
  if (const Json* nearest = reply.find("nearest")) {
    out += "ebla: no hit; nearest lines, not the text itself:\n";
    for (const Json& row : nearest->items) {
      out += fmt::format("{}:{}:{}\n", text_at(row, "path"), text_at(row, "line"),
                         text_at(row, "text"));
    }
  }
  return out + search_notes(reply);
}

}  // namespace

Result<int> run_grep(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla grep` needs a text to look for");
  }
  auto params = grep_params(call);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("fs.grep", *params);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  const Json& found = reply->result;
  const Json* hits = found.find("hits");
  const Json* files = found.find("files");
  const Json* list = hits != nullptr ? hits : files;
  const int status = search_status(found, list != nullptr && !list->items.empty());
  if (call.args.json) {
    auto printed = print_json(call, *reply);
    return printed ? Result<int>(status) : printed;
  }
  Result<void> written;
  if (hits != nullptr) {
    const std::string* context = call.args.find("context");
    written = print_rows(call.streams.out, *hits, context != nullptr && *context != "0");
  } else if (files != nullptr) {
    written = print_files(call.streams.out, *files);
  }
  if (!written) {
    return std::unexpected(written.error());
  }
  call.streams.err.note(notes_of(found));
  return status;
}

}  // namespace ebla::tools
