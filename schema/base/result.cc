#include "schema/base/result.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ebla {
namespace {

// One row per Code, in the order of the enum: code_info() indexes it.
constexpr std::array kTable = {
    CodeInfo{Code::file_not_found, "file_not_found", ENOENT, 1, kExitNotFound, false},
    CodeInfo{Code::already_exists, "already_exists", EEXIST, 2, kExitFailure, false},
    CodeInfo{Code::no_match, "no_match", ENOENT, 3, kExitFailure, false},
    CodeInfo{Code::ambiguous, "ambiguous", EINVAL, 4, kExitFailure, false},
    CodeInfo{Code::conflict, "conflict", EEXIST, 5, kExitFailure, false},
    CodeInfo{Code::is_directory, "is_directory", EISDIR, 6, kExitFailure, false},
    CodeInfo{Code::not_directory, "not_directory", ENOTDIR, 7, kExitFailure, false},
    CodeInfo{Code::not_empty, "not_empty", ENOTEMPTY, 8, kExitFailure, false},
    CodeInfo{Code::permission_denied, "permission_denied", EACCES, 9, kExitDenied, false},
    CodeInfo{Code::operation_not_permitted, "permission_denied", EPERM, 9, kExitDenied, false},
    CodeInfo{Code::invalid_path, "invalid_path", EINVAL, 10, kExitFailure, false},
    CodeInfo{Code::name_too_long, "invalid_path", ENAMETOOLONG, 10, kExitFailure, false},
    CodeInfo{Code::too_large, "too_large", EFBIG, 11, kExitFailure, false},
    CodeInfo{Code::no_space, "no_space", ENOSPC, 12, kExitNoSpace, true},
    CodeInfo{Code::quota_exceeded, "no_space", EDQUOT, 12, kExitNoSpace, true},
    CodeInfo{Code::busy, "busy", EBUSY, 13, kExitRetry, true},
    CodeInfo{Code::read_only, "read_only", EROFS, 14, kExitNoSpace, false},
    CodeInfo{Code::unknown_session, "unknown_session", ENOENT, 15, kExitNotFound, false},
    CodeInfo{Code::timeout, "timeout", ETIMEDOUT, 16, kExitRetry, true},
    CodeInfo{Code::corrupt, "corrupt", EIO, 17, kExitCorrupt, false},
    CodeInfo{Code::out_of_range, "out_of_range", EINVAL, 18, kExitFailure, false},
    CodeInfo{Code::io_error, "io_error", EIO, 19, kExitFailure, true},
    CodeInfo{Code::no_attribute, "no_match", ENODATA, 3, kExitFailure, false},
    CodeInfo{Code::cross_device, "invalid_path", EXDEV, 10, kExitFailure, false},
    CodeInfo{Code::too_many_links, "too_large", EMLINK, 11, kExitFailure, false},
    CodeInfo{Code::loop, "invalid_path", ELOOP, 10, kExitFailure, false},
    CodeInfo{Code::text_busy, "busy", ETXTBSY, 13, kExitRetry, true},
    CodeInfo{Code::no_data, "out_of_range", ENXIO, 18, kExitFailure, false},
    CodeInfo{Code::not_supported, "permission_denied", EOPNOTSUPP, 9, kExitDenied, false},
    CodeInfo{Code::unavailable, "unavailable", EAGAIN, 20, kExitRetry, true},
    CodeInfo{Code::parse_error, "parse_error", EINVAL, -32700, kExitFailure, false},
    CodeInfo{Code::invalid_request, "invalid_request", EINVAL, -32600, kExitFailure, false},
    CodeInfo{Code::method_not_found, "method_not_found", ENOSYS, -32601, kExitFailure, false},
    CodeInfo{Code::invalid_params, "invalid_params", EINVAL, -32602, kExitFailure, false},
    CodeInfo{Code::internal_error, "internal_error", EIO, -32603, kExitFailure, false},
    CodeInfo{Code::store_locked, "store_locked", EBUSY, 13, kExitStoreLocked, true},
    CodeInfo{Code::store_newer, "store_newer", EINVAL, 17, kExitStoreNewer, false},
    CodeInfo{Code::store_foreign, "store_foreign", EINVAL, 17, kExitStoreForeign, false},
    CodeInfo{Code::store_damaged, "store_damaged", EIO, 17, kExitStoreDamaged, false},
    CodeInfo{Code::unsafe_filesystem, "unsafe_filesystem", EINVAL, 19, kExitUnsafeFilesystem,
             false},
    CodeInfo{Code::mount_failed, "mount_failed", EIO, 19, kExitMountFailed, false},
    CodeInfo{Code::socket_in_use, "socket_in_use", EADDRINUSE, 13, kExitSocketInUse, false},
    CodeInfo{Code::bad_configuration, "bad_configuration", EINVAL, 18, kExitBadConfiguration,
             false},
    CodeInfo{Code::usage, "usage", EINVAL, 18, kExitUsage, false},
    CodeInfo{Code::not_running, "not_running", ECONNREFUSED, 20, kExitNotRunning, true},
};

constexpr bool in_order() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].code) != i) return false;
  }
  return kTable.size() == static_cast<size_t>(Code::not_running) + 1;
}
static_assert(in_order(), "a row of the table is missing or out of place");

Code code_of_errno(int errno_value) {
  switch (errno_value) {
    case ENOENT:
      return Code::file_not_found;
    case EEXIST:
      return Code::already_exists;
    case EISDIR:
      return Code::is_directory;
    case ENOTDIR:
      return Code::not_directory;
    case ENOTEMPTY:
      return Code::not_empty;
    case EACCES:
      return Code::permission_denied;
    case EPERM:
      return Code::operation_not_permitted;
    case ENAMETOOLONG:
      return Code::name_too_long;
    case EFBIG:
      return Code::too_large;
    case ENOSPC:
      return Code::no_space;
    case EDQUOT:
      return Code::quota_exceeded;
    case EBUSY:
      return Code::busy;
    case EROFS:
      return Code::read_only;
    case ETIMEDOUT:
      return Code::timeout;
    case ENODATA:
      return Code::no_attribute;
    case EXDEV:
      return Code::cross_device;
    case EMLINK:
      return Code::too_many_links;
    case ELOOP:
      return Code::loop;
    case ETXTBSY:
      return Code::text_busy;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return Code::unavailable;
    default:
      return Code::io_error;
  }
}

}  // namespace

const CodeInfo& code_info(Code code) {
  return kTable[static_cast<size_t>(code)];
}

Error errno_error(int errno_value, std::string_view what) {
  // strerror_r in its GNU form returns the text and is safe in threads.
  char buffer[128];
  std::string text = std::string(what) + ": " + strerror_r(errno_value, buffer, sizeof buffer);
  if (errno_value == EMFILE) text += "; raise the limit of open files (ulimit -n)";
  return Error{code_of_errno(errno_value), std::move(text)};
}

}  // namespace ebla
