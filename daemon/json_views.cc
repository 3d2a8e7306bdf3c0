#include "daemon/json_views.h"

#include <cstdlib>
#include <string>

#include "schema/base/fd.h"

namespace ebla::daemon {
namespace {

// "RssAnon:     1234 kB" of /proc/self/status, in bytes.
uint64_t status_bytes(std::string_view status, std::string_view name) {
  const size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string digits(status.substr(at + name.size(), 32));
  return std::strtoull(digits.c_str(), nullptr, 10) * limits::kKiB;
}

}  // namespace

void write_mount(JsonWriter& out, const fs::MountInfo& mount) {
  out.begin_object()
      .member("id", static_cast<uint64_t>(mount.id))
      .member("subtree", mount.spec.subtree)
      .member("directory", mount.spec.directory)
      .member("alive", mount.alive)
      .member("writable", mount.writable)
      .end_object();
}

void write_mounts(JsonWriter& out, const MountView& mounts) {
  out.begin_array();
  for (const fs::MountInfo& mount : mounts.list()) write_mount(out, mount);
  out.end_array();
}

void write_memory(JsonWriter& out) {
  const std::string status = read_file("/proc/self/status", 64 * limits::kKiB).value_or("");
  out.begin_object()
      .member("resident_bytes", status_bytes(status, "\nVmRSS:"))
      .member("anonymous_bytes", status_bytes(status, "\nRssAnon:"))
      .end_object();
}

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::file:
      return "file";
    case NodeKind::directory:
      return "directory";
    case NodeKind::symlink:
      return "symlink";
    case NodeKind::fifo:
      return "fifo";
    case NodeKind::socket:
      return "socket";
    case NodeKind::char_device:
      return "char_device";
    case NodeKind::block_device:
      return "block_device";
  }
  return "file";
}

}  // namespace ebla::daemon
