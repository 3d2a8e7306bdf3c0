#include "fs/mountinfo.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "schema/base/fd.h"
#include "schema/path.h"

namespace ebla::fs {
namespace {

// Space, tab, newline and backslash stand as \ooo.
std::string unescape(std::string_view field) {
  std::string out;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size() && octal(field[i + 1]) && octal(field[i + 2]) &&
        octal(field[i + 3])) {
      const int value = (field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0');
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += field[i];
    }
  }
  return out;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const size_t end = line.find(' ');
    out.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return out;
}

}  // namespace

std::vector<MountEntry> parse_mountinfo(std::string_view text) {
  std::vector<MountEntry> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const auto fields = fields_of(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    // id parent device root directory options [tag…] - type source options
    size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 2 >= fields.size()) continue;
    out.push_back({std::string(fields[2]), unescape(fields[4]), unescape(fields[dash + 1]),
                   unescape(fields[dash + 2])});
  }
  return out;
}

Result<std::vector<MountEntry>> read_mountinfo() {
  auto fd = open_file("/proc/self/mountinfo", O_RDONLY);
  if (!fd) return std::unexpected(std::move(fd.error()));
  std::string text;
  std::array<char, 16384> part{};
  for (;;) {
    const auto n = read_full(fd->get(), part.data(), part.size());
    if (!n) return std::unexpected(n.error());
    if (*n == 0) break;
    text.append(part.data(), *n);
  }
  return parse_mountinfo(text);
}

const MountEntry* topmost(const std::vector<MountEntry>& entries, std::string_view directory) {
  const MountEntry* found = nullptr;
  for (const MountEntry& entry : entries) {
    if (entry.directory == directory) found = &entry;
  }
  return found;
}

void wait_for_mount_change(int patience_ms) {
  const auto fd = open_file("/proc/self/mountinfo", O_RDONLY);
  pollfd change = {.fd = fd ? fd->get() : -1, .events = POLLPRI, .revents = 0};
  poll(&change, 1, patience_ms);
}

bool lies_in(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string clean_path(std::string_view path) {
  if (path.starts_with('/')) return lexical_path(path);
  std::error_code error;
  return lexical_path((std::filesystem::current_path(error) / path).string());
}

}  // namespace ebla::fs
