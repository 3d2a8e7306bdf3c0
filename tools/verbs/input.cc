#include "tools/verbs/input.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::tools {
namespace {

Result<UniqueFd> open_source(Call& call, size_t operand) {
  const auto& operands = call.args.operands;
  if (operands.size() <= operand || operands[operand] == "-") {
    if (call.streams.in_is_terminal) {
      call.streams.err.note("ebla: reading from the terminal; end with Ctrl-D\n");
    }
    UniqueFd copy(fcntl(call.streams.in, F_DUPFD_CLOEXEC, 0));
    if (!copy) {
      return std::unexpected(errno_error(errno, "cannot read the standard input"));
    }
    return copy;
  }
  return open_file(operands[operand], O_RDONLY);
}

}  // namespace

Result<Content> read_input(Call& call, size_t operand) {
  auto source = open_source(call, operand);
  if (!source) {
    return std::unexpected(source.error());
  }
  return Content::read(std::move(*source), temp_folder(call.env));
}

Result<std::string> whole_text(const Content& content, uint64_t limit_bytes) {
  if (content.error()) {
    return std::unexpected(*content.error());
  }
  if (content.size() > limit_bytes) {
    return fail(Code::too_large,
                fmt::format("the input has {} bytes; it may have {}", content.size(), limit_bytes));
  }
  if (content.in_memory()) {
    return std::string(content.bytes());
  }
  std::string text(content.size(), '\0');
  auto got = pread_full(content.file(), text.data(), text.size(), 0);
  if (!got) {
    return fail(got.error().code, "cannot read the input again: " + got.error().text);
  }
  text.resize(*got);
  return text;
}

std::chrono::milliseconds call_timeout(uint64_t bytes) {
  // Even a slow disk stores this much in a second.
  constexpr uint64_t kBytesPerSecond = 4 * limits::kMiB;
  return Client::kCallTimeout + std::chrono::seconds(bytes / kBytesPerSecond);
}

std::string temp_folder(const Environment& env) {
  const auto named = env("TMPDIR");
  return named && named->starts_with('/') ? *named : "/tmp";
}

std::string_view content_reference(const Content& content) {
  return content.in_memory() ? R"({"$blob":0})" : R"({"$fd":0})";
}

Result<Reply> call_with(Client& client, std::string_view method, std::string_view params,
                        const Content& content) {
  Attachments attachments;
  if (content.in_memory()) {
    attachments.blobs = {content.bytes()};
  } else {
    attachments.fds = {content.file()};
  }
  return client.call(method, params, attachments, call_timeout(content.size()));
}

}  // namespace ebla::tools
