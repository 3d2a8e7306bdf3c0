#include "tools/content.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "schema/base/limits.h"

namespace ebla::tools {
namespace {

constexpr size_t kSliceBytes = 256 * limits::kKiB;

Result<UniqueFd> unnamed_file(const std::string& folder) {
  UniqueFd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) {
    return file;
  }
  // Some file systems have no unnamed files: one that loses its name at once serves as well.
  std::string path = folder + "/ebla-XXXXXX";
  file.reset(mkostemp(path.data(), O_CLOEXEC));
  if (!file) {
    return std::unexpected(errno_error(errno, "cannot keep the input in " + folder));
  }
  unlink(path.c_str());
  return file;
}

// What the source has now, at most a slice; 0 at its end. Waits where the descriptor does not,
// which happens when another program shares it.
Result<size_t> read_some(int fd, std::vector<char>& slice) {
  for (;;) {
    const ssize_t got = read(fd, slice.data(), slice.size());
    if (got >= 0) {
      return static_cast<size_t>(got);
    }
    if (errno == EAGAIN) {
      pollfd entry{fd, POLLIN, 0};
      poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      return std::unexpected(errno_error(errno, "read"));
    }
  }
}

// A regular file that can be handed over as it is. Those without a size (/proc) say nothing about
// what they hold, and one that is not at its start would lose what comes before.
bool usable_as_it_is(int fd, uint64_t& size) {
  struct stat info{};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    return false;
  }
  size = static_cast<uint64_t>(info.st_size);
  return lseek(fd, 0, SEEK_CUR) == 0;
}

}  // namespace

Content Content::read(UniqueFd source, const std::string& temp_folder) {
  Content content;
  if (usable_as_it_is(source.get(), content.size_)) {
    content.file_ = std::move(source);
    return content;
  }
  content.size_ = 0;
  content.source_ = std::move(source);
  content.use_stream(temp_folder);
  return content;
}

void Content::use_stream(const std::string& temp_folder) {
  std::vector<char> slice(kSliceBytes);
  drained_ = false;
  for (;;) {
    auto got = read_some(source_.get(), slice);
    if (!got) {
      error_ = Error{got.error().code, "cannot read the input: " + got.error().text};
      drained_ = true;  // it gave an error, so it is not asked again
      return;
    }
    if (*got == 0) {
      drained_ = true;
      return;
    }
    const std::string_view piece(slice.data(), *got);
    if (!file_ && memory_.size() + piece.size() <= kMemoryBytes) {
      memory_ += piece;
      size_ = memory_.size();
    } else if (auto kept = spool(temp_folder, piece); !kept) {
      error_ = kept.error();
      return;
    }
  }
}

// On failure memory_ holds exactly the bytes that file_ does not.
Result<void> Content::spool(const std::string& temp_folder, std::string_view piece) {
  if (!file_) {
    memory_ += piece;
    auto made = unnamed_file(temp_folder);
    if (!made) {
      return std::unexpected(made.error());
    }
    if (auto written = pwrite_full(made->get(), memory_, 0); !written) {
      return fail(written.error().code, fmt::format("cannot keep the input in {}: {}", temp_folder,
                                                    written.error().text));
    }
    file_ = std::move(*made);
    size_ = memory_.size();
    memory_.clear();
    return {};
  }
  if (auto written = pwrite_full(file_.get(), piece, size_); !written) {
    memory_ = piece;
    return fail(written.error().code,
                fmt::format("cannot keep the input in {}: {}", temp_folder, written.error().text));
  }
  size_ += piece.size();
  return {};
}

Result<void> Content::copy_to(Output& out) const {
  std::vector<char> slice(kSliceBytes);
  uint64_t offset = 0;
  while (file_) {
    // A spool ends where the bytes that it took do: a write that failed may have left more. A file
    // of the caller's is printed as it is now.
    const uint64_t left = source_ ? size_ - offset : slice.size();
    auto got =
        pread_full(file_.get(), slice.data(), std::min<uint64_t>(slice.size(), left), offset);
    if (!got) {
      return fail(got.error().code, "cannot read the input again: " + got.error().text);
    }
    if (*got == 0) {
      break;
    }
    if (auto put = out.write_content({slice.data(), *got}); !put) {
      return put;
    }
    offset += *got;
  }
  if (auto put = out.write_content(memory_); !put) {
    return put;
  }
  if (!drained_) {
    return copy_stream(source_.get(), out);
  }
  return out.finish_content();
}

Result<void> copy_stream(int source, Output& out) {
  std::vector<char> slice(kSliceBytes);
  for (;;) {
    auto got = read_some(source, slice);
    if (!got) {
      return fail(got.error().code, "cannot read the input: " + got.error().text);
    }
    if (*got == 0) {
      return out.finish_content();
    }
    if (auto put = out.write_content({slice.data(), *got}); !put) {
      return put;
    }
  }
}

}  // namespace ebla::tools
