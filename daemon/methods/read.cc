#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/lines.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/methods/path_param.h"
#include "daemon/reading.h"

namespace ebla::daemon::methods {
namespace {

// Up to here the first pass over a file is so short that a worker of the socket may do it.
constexpr uint64_t kQuickBytes = 4 * limits::kMiB;

Result<PageRequest> page_request(const MethodCall& call, const std::optional<Session>& session) {
  auto settings = settings_for(call.services(), session);
  if (!settings) return std::unexpected(settings.error());
  auto offset = integer_param(call, "offset", 0, INT64_MIN, INT64_MAX);
  if (!offset) return std::unexpected(offset.error());
  auto limit =
      integer_param(call, "limit", static_cast<int64_t>(settings->read_limit), 0, INT64_MAX);
  if (!limit) return std::unexpected(limit.error());
  auto column = integer_param(call, "column", 0, 0, INT64_MAX);
  if (!column) return std::unexpected(column.error());
  return PageRequest{
      .offset = *offset,
      .limit = static_cast<uint64_t>(*limit),
      .column = static_cast<uint64_t>(*column),
      .numbered = flag_param(call, "numbered"),
      .tokens = page_tokens(*settings, session),
  };
}

void write_page(JsonWriter& out, const Page& page) {
  out.member("text", page.text);
  if (page.first) out.member("first", *page.first);
  if (page.last) out.member("last", *page.last);
  if (page.next) out.member("next", *page.next);
  if (page.next_column) out.member("next_column", *page.next_column);
  out.member("encoding", page.marked ? "bytes" : "utf-8");
  if (page.notes.empty()) return;
  out.key("notes").begin_array();
  for (const std::string& note : page.notes) out.string(note);
  out.end_array();
}

void read_lines(MethodCall call, const Found& found, const std::optional<Session>& session) {
  if (auto file = check_file(found); !file) return call.refuse(std::move(file.error()));
  auto request = page_request(call, session);
  if (!request) return call.refuse(std::move(request.error()));
  const ReadAt read = reader_of(call, found.attr.ino);
  auto type = binary_type(read);
  if (!type) return call.refuse(std::move(type.error()));
  auto index = index_of(call, found.attr, read);
  if (!index) return call.refuse(std::move(index.error()));

  JsonWriter out;
  out.begin_object()
      .member("path", found.path)
      .member("size", (*index)->size)
      .member("total", (*index)->lines)
      .member("final_newline", (*index)->final_newline);
  if (!type->empty()) {
    Page page;
    page.notes.push_back(
        fmt::format("no text: {}, {} bytes; fs.read_bytes reads it", *type, (*index)->size));
    out.member("binary", true).member("type", *type);
    write_page(out, page);
  } else {
    auto page = read_page(read, **index, *request);
    if (!page) {
      page.error().text = found.path + ": " + page.error().text;
      return call.refuse(std::move(page.error()));
    }
    write_page(out, *page);
  }
  out.end_object();
  call.reply(out.take());
}

void read_bytes(MethodCall call, const Found& found) {
  if (auto file = check_file(found); !file) return call.refuse(std::move(file.error()));
  auto offset = integer_param(call, "offset", 0, 0, INT64_MAX);
  if (!offset) return call.refuse(std::move(offset.error()));
  auto size = integer_param(call, "size", limits::kReadBytes, 1, limits::kReadBytes);
  if (!size) return call.refuse(std::move(size.error()));
  const auto from = static_cast<uint64_t>(*offset);
  const uint64_t total = found.attr.size;
  if (from > total) {
    return call.refuse(Code::out_of_range,
                       fmt::format("{}: offset {} is past the end: the file has {} bytes",
                                   found.path, from, total));
  }
  std::string bytes(std::min<uint64_t>(static_cast<uint64_t>(*size), total - from), '\0');
  auto got = reader_of(call, found.attr.ino)(from, bytes);
  if (!got) return call.refuse(std::move(got.error()));
  bytes.resize(*got);

  JsonWriter out;
  out.begin_object()
      .member("path", found.path)
      .member("offset", from)
      .member("size", static_cast<uint64_t>(bytes.size()))
      .member("total", total);
  if (from + bytes.size() < total) out.member("next", from + bytes.size());
  std::vector<std::string> blobs;
  if (call.request().wants_blobs) {
    out.key("bytes").begin_object().member("$blob", 0).end_object();
    blobs.push_back(std::move(bytes));
  } else {
    out.member("bytes", base64(bytes));
  }
  out.end_object();
  call.reply(out.take(), std::move(blobs));
}

}  // namespace

void fs_read(MethodCall call) {
  with_path(std::move(call),
            [](MethodCall ready, const Found& found, const std::optional<Session>& session) {
              Services& services = ready.services();
              const bool quick = found.attr.size <= kQuickBytes ||
                                 services.line_indexes.find(found.attr.ino, found.attr.change);
              if (quick) return read_lines(std::move(ready), found, session);
              on_blocking_thread(std::move(ready), [found, session](MethodCall on_thread) {
                read_lines(std::move(on_thread), found, session);
              });
            });
}

void fs_read_bytes(MethodCall call) {
  with_path(std::move(call),
            [](MethodCall ready, const Found& found, const std::optional<Session>&) {
              read_bytes(std::move(ready), found);
            });
}

}  // namespace ebla::daemon::methods
