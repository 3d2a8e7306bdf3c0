#include "tools/streams.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "schema/base/utf8.h"
#include "tools/text.h"

namespace ebla::tools {

bool Output::abandoned() const {
  pollfd entry{fd_, 0, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & POLLERR) != 0;
}

Result<void> Output::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd_, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      // The descriptor is shared with a program that made it non-blocking.
      pollfd entry{fd_, POLLOUT, 0};
      poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      return std::unexpected(errno_error(errno, "cannot write the output"));
    }
  }
  return {};
}

void Output::note(std::string_view text) {
  [[maybe_unused]] const auto ignored = write(text);
}

Result<void> Output::write_content(std::string_view bytes) {
  if (!terminal_) {
    return write(bytes);
  }
  cut_ += bytes;
  const size_t keep = utf8::incomplete_tail(cut_);
  const std::string_view whole = std::string_view(cut_).substr(0, cut_.size() - keep);
  auto written = write(terminal_text(whole));
  cut_.erase(0, whole.size());
  return written;
}

Result<void> Output::finish_content() {
  if (cut_.empty()) {
    return {};
  }
  const std::string rest = std::exchange(cut_, {});
  return write(terminal_text(rest));
}

}  // namespace ebla::tools
