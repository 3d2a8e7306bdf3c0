#include "fs/request.h"

#include <sys/stat.h>

#include <cerrno>

#include "fs/connection.h"
#include "schema/base/limits.h"

namespace ebla::fs {
namespace {

constexpr double kForeverSeconds = 1e9;
constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kStatBlockBytes = 512;

timespec to_timespec(int64_t ns) {
  int64_t seconds = ns / kNsPerSecond;
  int64_t rest = ns % kNsPerSecond;
  if (rest < 0) {
    --seconds;
    rest += kNsPerSecond;
  }
  return {.tv_sec = seconds, .tv_nsec = rest};
}

mode_t type_bits(NodeKind kind) {
  switch (kind) {
    case NodeKind::file:
      return S_IFREG;
    case NodeKind::directory:
      return S_IFDIR;
    case NodeKind::symlink:
      return S_IFLNK;
    case NodeKind::fifo:
      return S_IFIFO;
    case NodeKind::socket:
      return S_IFSOCK;
    case NodeKind::char_device:
      return S_IFCHR;
    case NodeKind::block_device:
      return S_IFBLK;
  }
  return S_IFREG;
}

}  // namespace

Keep keep_of(const Attr&) {
  return {kForeverSeconds, kForeverSeconds};
}
double keep_of_absence() {
  return kForeverSeconds;
}

struct stat to_stat(const Attr& attr) {
  struct stat out = {};
  out.st_ino = attr.ino;
  out.st_mode = type_bits(attr.kind) | attr.mode;
  out.st_nlink = attr.nlink;
  out.st_uid = attr.uid;
  out.st_gid = attr.gid;
  out.st_rdev = attr.rdev;
  out.st_size = static_cast<off_t>(attr.size);
  out.st_blksize = limits::kChunkBytes;
  out.st_blocks = static_cast<blkcnt_t>((attr.raw_bytes + kStatBlockBytes - 1) / kStatBlockBytes);
  out.st_atim = to_timespec(attr.atime_ns);
  out.st_mtim = to_timespec(attr.mtime_ns);
  out.st_ctim = to_timespec(attr.ctime_ns);
  return out;
}

fuse_entry_param to_entry(const Node& node) {
  const Keep keep = keep_of(node.attr);
  fuse_entry_param out = {};
  out.ino = node.nodeid;
  out.attr = to_stat(node.attr);
  out.entry_timeout = keep.entry_seconds;
  out.attr_timeout = keep.attr_seconds;
  return out;
}

Request::Request(fuse_req_t req)
    : req_(req),
      connection_(static_cast<Connection*>(fuse_req_userdata(req))->shared_from_this()) {}

Request::~Request() {
  if (req_ != nullptr) error(EIO);
}

Served& Request::served() const {
  return connection_->served();
}

void Request::error(int errno_value) {
  fuse_reply_err(take(), errno_value);
}
void Request::error(const Error& error_value) {
  const bool explained = explained_ && explained_->first == error_value.code;
  error(explained ? explained_->second : code_info(error_value.code).errno_value);
}
void Request::none() {
  fuse_reply_none(take());
}

bool Request::entry(const Node& node) {
  const fuse_entry_param out = to_entry(node);
  return fuse_reply_entry(take(), &out) == 0;
}

void Request::absent() {
  fuse_entry_param out = {};
  out.entry_timeout = keep_of_absence();
  fuse_reply_entry(take(), &out);
}

void Request::attr(const Node& node) {
  const struct stat out = to_stat(node.attr);
  fuse_reply_attr(take(), &out, keep_of(node.attr).attr_seconds);
}

void Request::link(const std::string& target) {
  fuse_reply_readlink(take(), target.c_str());
}
bool Request::open(const fuse_file_info& info) {
  return fuse_reply_open(take(), &info) == 0;
}

bool Request::create(const Node& node, const fuse_file_info& info) {
  const fuse_entry_param out = to_entry(node);
  return fuse_reply_create(take(), &out, &info) == 0;
}
void Request::written(size_t bytes) {
  fuse_reply_write(take(), bytes);
}
void Request::offset(off_t offset) {
  fuse_reply_lseek(take(), offset);
}

bool Request::bytes(std::span<const char> bytes) {
  return fuse_reply_buf(take(), bytes.data(), bytes.size()) == 0;
}

void Request::size(size_t bytes) {
  fuse_reply_xattr(take(), bytes);
}
void Request::statfs(const struct statvfs& values) {
  fuse_reply_statfs(take(), &values);
}

}  // namespace ebla::fs
