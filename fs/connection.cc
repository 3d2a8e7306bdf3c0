#include "fs/connection.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "fs/ops.h"
#include "schema/base/log.h"

namespace ebla::fs {
namespace {

constexpr uint64_t kPageBytes = 4096;

void log_from_libfuse(fuse_log_level level, const char* format, va_list arguments) {
  std::array<char, 512> text{};
  (void)std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string_view line(text.data());
  while (line.ends_with('\n')) line.remove_suffix(1);
  if (level <= FUSE_LOG_WARNING) {
    log::warning("libfuse: {}", line);
  } else {
    log::debug("libfuse: {}", line);
  }
}

// libfuse prints failed writes to stderr, but for ENOENT. That a reply or a notice came too late,
// or for something that the kernel does not hold, is no event.
ssize_t write_message(int fd, iovec* parts, int count, void*) {
  ssize_t n = 0;
  do {
    n = ::writev(fd, parts, count);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == ENODEV || errno == ENOTCONN || errno == EPIPE || errno == ENOTEMPTY ||
                errno == EBUSY)) {
    errno = ENOENT;
  }
  return n;
}

ssize_t read_message(int fd, void* out, size_t size, void*) {
  return ::read(fd, out, size);
}

// A size, a name with its end, and as many bytes.
bool is_sound_setxattr(const char* body, size_t size) {
  uint32_t value_bytes = 0;
  if (size < FUSE_COMPAT_SETXATTR_IN_SIZE) return false;
  std::memcpy(&value_bytes, body, sizeof(value_bytes));
  const std::string_view rest(body + FUSE_COMPAT_SETXATTR_IN_SIZE,
                              size - FUSE_COMPAT_SETXATTR_IN_SIZE);
  const size_t end = rest.find('\0');
  return end != std::string_view::npos && value_bytes <= rest.size() - end - 1;
}

// Of a sound message: whether its handler copies so much that another thread is worth its waking.
bool takes_long(const char* message, size_t size) {
  constexpr uint32_t kManyBytes = 64u << 10;
  fuse_in_header header{};
  std::memcpy(&header, message, sizeof(header));
  fuse_read_in read{};
  if (header.opcode != FUSE_READ || size < sizeof(header) + sizeof(read)) {
    return header.opcode == FUSE_COPY_FILE_RANGE;
  }
  std::memcpy(&read, message + sizeof(header), sizeof(read));
  return read.size >= kManyBytes;
}

constexpr fuse_custom_io kIo = {.writev = write_message,
                                .read = read_message,
                                .splice_receive = nullptr,
                                .splice_send = nullptr};

}  // namespace

Connection::Connection(Shared& shared, MountId id, View view)
    : token_(shared.sessions), served_(shared, id, view) {}

Result<std::shared_ptr<Connection>> Connection::create(UniqueFd fd, Shared& shared, MountId id,
                                                       View view) {
  static std::once_flag once;
  std::call_once(once, [] { fuse_set_log_func(log_from_libfuse); });
  std::shared_ptr<Connection> session(new Connection(shared, id, view));
  auto started = session->start(std::move(fd));
  if (!started) return std::unexpected(std::move(started.error()));
  return session;
}

Result<void> Connection::start(UniqueFd fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0) {
    return std::unexpected(errno_error(errno, "make the FUSE device non-blocking"));
  }
  std::array<char, 5> name{"ebla"};
  std::array<char*, 2> argv{name.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(1, argv.data());
  const fuse_lowlevel_ops& ops = ops::table();
  session_ = fuse_session_new(&args, &ops, sizeof(ops), this);
  fuse_opt_free_args(&args);
  if (session_ == nullptr) return fail(Code::internal_error, "libfuse refused a session");
  if (const int error = fuse_session_custom_io(session_, &kIo, fd.get()); error != 0) {
    return std::unexpected(errno_error(-error, "libfuse refused a descriptor"));
  }
  fd_ = fd.release();
  return {};
}

Connection::~Connection() {
  if (session_ != nullptr) fuse_session_destroy(session_);
}

// libfuse trusts the sizes in a message. The kernel keeps to them; nothing else may reach it.
bool Connection::is_sound(const char* message, size_t size) {
  fuse_in_header header{};
  if (size < sizeof(header)) return false;
  std::memcpy(&header, message, sizeof(header));
  if (header.len != size) return false;
  if (header.opcode == FUSE_BATCH_FORGET) {
    fuse_batch_forget_in batch{};
    if (size < sizeof(header) + sizeof(batch)) return false;
    std::memcpy(&batch, message + sizeof(header), sizeof(batch));
    const size_t room = (size - sizeof(header) - sizeof(batch)) / sizeof(fuse_forget_one);
    return batch.count <= room;
  }
  if (header.opcode == FUSE_WRITE) {
    fuse_write_in write{};
    if (size < sizeof(header) + sizeof(write)) return false;
    std::memcpy(&write, message + sizeof(header), sizeof(write));
    return write.size <= size - sizeof(header) - sizeof(write);
  }
  if (header.opcode == FUSE_SETXATTR)
    return is_sound_setxattr(message + sizeof(header), size - sizeof(header));
  return header.opcode != FUSE_NOTIFY_REPLY && header.opcode != CUSE_INIT;
}

Channel::Outcome Connection::serve_one(ReceiveBuffer& buffer, Turn& turn) {
  const ssize_t n = ::read(fd_, buffer.data(), ReceiveBuffer::kMessageBytes);
  if (n < 0) {
    if (errno == EAGAIN) return Outcome::empty;
    // ENOENT: the request was interrupted while it was handed over.
    if (errno == EINTR || errno == ENOENT) return Outcome::served;
    if (errno != ENODEV)
      log::error("mount {}: {}", served_.id, errno_error(errno, "read of the FUSE device").text);
    return Outcome::dead;
  }
  if (n == 0) return Outcome::dead;
  const auto size = static_cast<size_t>(n);
  if (!is_sound(buffer.data(), size)) {
    log::warning("mount {}: a malformed message of {} bytes was dropped", served_.id, size);
    return Outcome::served;
  }
  if (takes_long(buffer.data(), size)) turn.let_others_in();
  std::memset(buffer.data() + size, 0, ReceiveBuffer::kSlackBytes);
  fuse_buf message = {};
  message.size = size;
  message.mem = buffer.data();
  fuse_session_process_buf(session_, &message);
  return Outcome::served;
}

void Connection::died() {
  alive_.store(false);
  fuse_session_exit(session_);
  served_.release_all();
  if (served_.shared.died) served_.shared.died(served_.id);
}

bool Connection::drop_entry(uint64_t parent, const std::string& name) {
  return fuse_lowlevel_notify_inval_entry(session_, parent, name.c_str(), name.size()) == 0;
}

bool Connection::drop_removed(uint64_t parent, uint64_t child, const std::string& name) {
  return fuse_lowlevel_notify_delete(session_, parent, child, name.c_str(), name.size()) == 0;
}

bool Connection::drop_attributes(uint64_t nodeid) {
  return fuse_lowlevel_notify_inval_inode(session_, nodeid, -1, 0) == 0;
}

bool Connection::drop_pages(uint64_t nodeid, uint64_t offset, uint64_t length) {
  const uint64_t start = offset / kPageBytes * kPageBytes;
  const uint64_t bytes = length == 0 ? 0 : length + (offset - start);
  return fuse_lowlevel_notify_inval_inode(session_, nodeid, static_cast<off_t>(start),
                                          static_cast<off_t>(bytes)) == 0;
}

bool Connection::keep_byte(uint64_t nodeid, uint64_t offset, char byte) {
  fuse_bufvec bytes = {};
  bytes.count = 1;
  bytes.buf[0].size = 1;
  bytes.buf[0].mem = &byte;
  return fuse_lowlevel_notify_store(session_, nodeid, static_cast<off_t>(offset), &bytes,
                                    FUSE_BUF_NO_SPLICE) == 0;
}

void Connection::wait_for_lookups(uint64_t parent) {
  // The kernel takes the folder's lock to look for the entry, and lookups hold it. No entry has
  // this name, so nothing is dropped.
  drop_entry(parent, "/\x01");
}

}  // namespace ebla::fs
