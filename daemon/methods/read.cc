#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "context/scan.h"
#include "daemon/file_type.h"
#include "daemon/lines.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/methods/path_param.h"
#include "schema/base/utf8.h"

namespace ebla::daemon::methods {
namespace {

constexpr size_t kSniffBytes = 8 * limits::kKiB;
// Up to here the first pass over a file is so short that a worker of the socket may do it.
constexpr uint64_t kQuickBytes = 4 * limits::kMiB;

ReadAt reader_of(const MethodCall& call, Ino ino) {
  return [&call, ino](uint64_t offset, std::span<char> out) -> Result<size_t> {
    if (call.cancelled()) return fail(Code::unavailable, "the read was cut off");
    return call.services().store.read(ino, offset, out);
  };
}

Result<void> check_file(const Found& found) {
  switch (found.attr.kind) {
    case NodeKind::file:
      return {};
    case NodeKind::directory:
      return fail(Code::is_directory,
                  fmt::format("{} is a folder: list it (fs.ls, ebla ls)", found.path));
    default:
      return fail(Code::invalid_path, fmt::format("{}: not a regular file", found.path));
  }
}

// A page is read by a model: never so long that it would be put away itself.
uint64_t page_tokens(const context::Settings& settings, uint64_t window) {
  uint64_t tokens = std::min(settings.page_tokens, settings.tool_result_tokens);
  if (window > 0) {
    const auto share =
        static_cast<uint64_t>(settings.item_window_share * static_cast<double>(window));
    tokens = std::min(tokens, share);
  }
  return tokens;
}

Result<PageRequest> page_request(const MethodCall& call, const std::optional<Session>& session) {
  context::Settings settings = call.services().options.settings;
  if (session) {
    auto own = settings_of(call.services(), *session);
    if (!own) return std::unexpected(own.error());
    settings = *std::move(own);
  }
  auto offset = integer_param(call, "offset", 0, INT64_MIN, INT64_MAX);
  if (!offset) return std::unexpected(offset.error());
  auto limit =
      integer_param(call, "limit", static_cast<int64_t>(settings.read_limit), 0, INT64_MAX);
  if (!limit) return std::unexpected(limit.error());
  auto column = integer_param(call, "column", 0, 0, INT64_MAX);
  if (!column) return std::unexpected(column.error());
  return PageRequest{
      .offset = *offset,
      .limit = static_cast<uint64_t>(*limit),
      .column = static_cast<uint64_t>(*column),
      .numbered = flag_param(call, "numbered"),
      .tokens = page_tokens(settings, session ? session->window : 0),
  };
}

Result<std::shared_ptr<const LineIndex>> index_of(const MethodCall& call, const Attr& attr,
                                                  const ReadAt& read) {
  LineIndexCache& cache = call.services().line_indexes;
  if (auto kept = cache.find(attr.ino, attr.change)) return kept;
  auto built = build_line_index(read, attr.size);
  if (!built) return std::unexpected(built.error());
  auto index = std::make_shared<const LineIndex>(*std::move(built));
  cache.keep(attr.ino, attr.change, index);
  return index;
}

// The format's name of a file that is no text; empty for text.
Result<std::string> binary_type(const ReadAt& read) {
  std::string head(kSniffBytes, '\0');
  auto got = read(0, head);
  if (!got) return std::unexpected(got.error());
  head.resize(*got);
  context::ContentScan scan({});
  std::string_view whole = head;
  if (*got == kSniffBytes) whole.remove_suffix(utf8::incomplete_tail(whole));
  scan.feed(whole);
  scan.finish();
  if (!scan.binary()) return std::string();
  return std::string(file_type(head));
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
              BlockingPool::Job job = [ready = std::move(ready), found, session]() mutable {
                read_lines(std::move(ready), found, session);
              };
              // A job that was not taken still holds the call, which must answer.
              if (auto taken = services.blocking.submit(job); !taken) job();
            });
}

void fs_read_bytes(MethodCall call) {
  with_path(std::move(call),
            [](MethodCall ready, const Found& found, const std::optional<Session>&) {
              read_bytes(std::move(ready), found);
            });
}

}  // namespace ebla::daemon::methods
