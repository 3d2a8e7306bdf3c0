// Error values. Inside Ebla nothing throws for an expected failure: a function returns Result<T>.
// The one table in result.cc maps a Code to what each edge speaks: errno for the mount, number,
// name and retry flag for the control socket, exit status for the command line.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace ebla {

enum class Code {
  // Names of the control protocol (ebla-control(7)).
  file_not_found,
  already_exists,
  no_match,
  ambiguous,
  conflict,
  is_directory,
  not_directory,
  not_empty,
  permission_denied,        // EACCES
  operation_not_permitted,  // EPERM, the answer of protected files
  invalid_path,
  name_too_long,
  too_large,
  no_space,
  quota_exceeded,
  busy,
  read_only,
  unknown_session,
  timeout,
  corrupt,
  out_of_range,
  io_error,
  no_attribute,
  cross_device,
  too_many_links,  // EMLINK
  loop,            // ELOOP
  text_busy,       // ETXTBSY
  no_data,         // ENXIO: a seek beyond the last data
  not_supported,   // EOPNOTSUPP
  unavailable,
  // JSON-RPC's own.
  parse_error,
  invalid_request,
  method_not_found,
  invalid_params,
  internal_error,
  // Start of the daemon: each has an exit status of its own.
  store_locked,
  store_newer,
  store_foreign,
  store_damaged,
  unsafe_filesystem,
  mount_failed,
  socket_in_use,
  bad_configuration,
  // Start of the client.
  usage,
  not_running,
};

struct Error {
  Code code{};
  std::string text;  // one sentence, no host path but the caller's own, says what to do
};

template <class T>
using Result = std::expected<T, Error>;  // std::expected is [[nodiscard]]

inline std::unexpected<Error> fail(Code code, std::string text) {
  return std::unexpected(Error{code, std::move(text)});
}

// One row of the table. `name` is what error data.name carries.
struct CodeInfo {
  Code code;
  std::string_view name;
  int errno_value;
  int rpc_code;
  int exit_status;
  bool retry;  // the same call may succeed later without the caller changing anything
};

const CodeInfo& code_info(Code code);

// Error from errno: `what` is "operation: subject". The code follows errno (ENOSPC: no_space, …).
Error errno_error(int errno_value, std::string_view what);

// Exit statuses of ebla and eblad: a promise, listed in ebla(1) and eblad(8).
enum ExitStatus : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitNotRunning = 3,
  kExitNotFound = 4,
  kExitDenied = 5,
  kExitNoSpace = 6,
  kExitRetry = 7,
  kExitCorrupt = 8,
  kExitStoreLocked = 10,
  kExitStoreNewer = 11,
  kExitStoreForeign = 12,
  kExitStoreDamaged = 13,
  kExitUnsafeFilesystem = 14,
  kExitMountFailed = 15,
  kExitSocketInUse = 16,
  kExitBadConfiguration = 17,
};

}  // namespace ebla
