// The floor for the benchmarks of reading: a FUSE daemon with the flags, attributes and timeouts of
// the product, but no store. One folder with FILES files of SIZE bytes, made up on the fly.
//
//   nullfs DIR FILES SIZE      runs until DIR is unmounted or SIGTERM
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

constexpr double kForeverSeconds = 1e9;
constexpr uint64_t kFirstFile = 2;  // node ids: 1 is the folder, file i is i + 2
constexpr size_t kPatternBytes = size_t{1} << 21;
constexpr size_t kReplyBytes = size_t{1} << 20;

struct Tree {
  uint64_t files = 0;
  uint64_t size_bytes = 0;
  std::unique_ptr<char[]> pattern;  // lines of text; a file is this again and again
};
Tree tree;

std::string name_of(uint64_t index) {
  return "f" + std::to_string(index);
}

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

struct stat attr_of(uint64_t node) {
  struct stat out = {};
  const bool folder = node == FUSE_ROOT_ID;
  out.st_ino = node;
  out.st_mode = folder ? S_IFDIR | 0700 : S_IFREG | 0400;
  out.st_nlink = folder ? 2 : 1;
  out.st_size = folder ? 0 : static_cast<off_t>(tree.size_bytes);
  out.st_blksize = 128 * 1024;
  out.st_blocks = (out.st_size + 511) / 512;
  return out;
}

fuse_entry_param entry_of(uint64_t node) {
  fuse_entry_param out = {};
  out.ino = node;
  out.attr = attr_of(node);
  out.attr_timeout = out.entry_timeout = kForeverSeconds;
  return out;
}

void init(void*, fuse_conn_info* conn) {
  constexpr unsigned kWanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_DIO |
                               FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                               FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS;
  conn->want = conn->capable & kWanted;
  conn->time_gran = 1;
}

void lookup(fuse_req_t req, fuse_ino_t, const char* name) {
  const std::string_view text(name);
  const auto index = text.starts_with('f') ? number_of(text.substr(1)) : std::nullopt;
  const bool there = index && *index < tree.files;
  fuse_entry_param out = there ? entry_of(kFirstFile + *index) : fuse_entry_param{};
  out.entry_timeout = kForeverSeconds;
  fuse_reply_entry(req, &out);
}

void getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  const struct stat out = attr_of(node);
  fuse_reply_attr(req, &out, kForeverSeconds);
}

void open_file(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  info->keep_cache = 1;
  info->noflush = 1;
  fuse_reply_open(req, info);
}

void open_folder(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  fuse_reply_open(req, info);
}

void read(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  const auto from = static_cast<uint64_t>(offset);
  const uint64_t left = from < tree.size_bytes ? tree.size_bytes - from : 0;
  const size_t n = std::min<uint64_t>({size, left, kPatternBytes / 2});
  fuse_reply_buf(req, tree.pattern.get() + from % (kPatternBytes / 2), n);
}

void list(fuse_req_t req, size_t size, off_t offset, bool plus) {
  thread_local const auto reply = std::make_unique_for_overwrite<char[]>(kReplyBytes);
  size_t used = 0;
  size = std::min(size, kReplyBytes);
  for (auto i = static_cast<uint64_t>(offset); i < tree.files; ++i) {
    const fuse_entry_param entry = entry_of(kFirstFile + i);
    const auto next = static_cast<off_t>(i + 1);
    char* at = reply.get() + used;
    const size_t need =
        plus ? fuse_add_direntry_plus(req, at, size - used, name_of(i).c_str(), &entry, next)
             : fuse_add_direntry(req, at, size - used, name_of(i).c_str(), &entry.attr, next);
    if (need > size - used) break;
    used += need;
  }
  fuse_reply_buf(req, reply.get(), used);
}

void readdir(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  list(req, size, offset, false);
}

void readdirplus(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  list(req, size, offset, true);
}

void close_any(fuse_req_t req, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(req, 0);
}

void getxattr(fuse_req_t req, fuse_ino_t, const char*, size_t) {
  fuse_reply_err(req, EOPNOTSUPP);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops out = {};
  out.init = init;
  out.lookup = lookup;
  out.getattr = getattr;
  out.open = open_file;
  out.read = read;
  out.release = close_any;
  out.opendir = open_folder;
  out.readdir = readdir;
  out.readdirplus = readdirplus;
  out.releasedir = close_any;
  out.getxattr = getxattr;
  return out;
}

int serve(const char* directory) {
  std::string program = "nullfs";
  std::string option = "-o";
  std::string values = "default_permissions,nosuid,nodev,noatime,fsname=nullfs,subtype=nullfs";
  std::array<char*, 4> argv{program.data(), option.data(), values.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, argv.data());
  const fuse_lowlevel_ops ops = operations();
  fuse_session* session = fuse_session_new(&args, &ops, sizeof(ops), nullptr);
  if (session == nullptr) return 1;
  int status = 1;
  if (fuse_set_signal_handlers(session) == 0 && fuse_session_mount(session, directory) == 0) {
    fuse_loop_config* config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, 4);
    status = fuse_session_loop_mt(session, config) < 0 ? 1 : 0;
    fuse_loop_cfg_destroy(config);
    fuse_session_unmount(session);
  }
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  fuse_opt_free_args(&args);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const auto files = argc == 4 ? number_of(argv[2]) : std::nullopt;
  const auto size = argc == 4 ? number_of(argv[3]) : std::nullopt;
  if (!files || !size) {
    std::fputs("usage: nullfs DIR FILES SIZE\n", stderr);
    return 2;
  }
  tree.files = *files;
  tree.size_bytes = *size;
  tree.pattern = std::make_unique_for_overwrite<char[]>(kPatternBytes);
  for (size_t i = 0; i < kPatternBytes; ++i) {
    tree.pattern[i] = i % 64 == 63 ? '\n' : static_cast<char>('a' + i % 26);
  }
  return serve(argv[1]);
}
