#include "daemon/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "context/item/scan.h"
#include "daemon/file_type.h"
#include "daemon/session_service.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

constexpr size_t kSniffBytes = 8 * limits::kKiB;

}  // namespace

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

Result<context::Settings> settings_for(const Services& services,
                                       const std::optional<Session>& session) {
  if (!session) return services.options.settings;
  return settings_of(services, *session);
}

uint64_t page_tokens(const context::Settings& settings, const std::optional<Session>& session) {
  uint64_t tokens = std::min(settings.page_tokens, settings.tool_result_tokens);
  if (session && session->window > 0) {
    const auto share =
        static_cast<uint64_t>(settings.item_window_share * static_cast<double>(session->window));
    tokens = std::min(tokens, share);
  }
  // A character and a byte count one or more each in the sum of which a token is a quarter.
  for (const uint64_t limit : {settings.host_limit.characters, settings.host_limit.bytes}) {
    if (limit > 0) tokens = std::min(tokens, std::max<uint64_t>(1, limit / 4));
  }
  return tokens;
}

void on_blocking_thread(MethodCall call, std::move_only_function<void(MethodCall)> work) {
  // Shared, since a job that was not taken still holds the call, which must answer.
  Services& services = call.services();
  auto held = std::make_shared<MethodCall>(std::move(call));
  BlockingPool::Job job = [held, work = std::move(work)]() mutable { work(std::move(*held)); };
  if (auto taken = services.blocking.submit(job); !taken) held->refuse(std::move(taken.error()));
}

}  // namespace ebla::daemon
