// The socket file: where it may lie, whether somebody lives there already, who may reach it.
#pragma once

#include <sys/types.h>

#include <string>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::daemon {

class ListenSocket {
 public:
  // Errors: name_too_long (more than 107 bytes: take a shorter path), invalid_path,
  // permission_denied (others could replace the socket: the text says how to mend it),
  // socket_in_use (naming the process), already_exists (no socket lies there; it stays untouched).
  // Missing folders are made with mode 0700. Nonblocking. Give an absolute path where the process
  // may change its folder: close() removes the file by it.
  static Result<ListenSocket> bind(const std::string& path);

  ListenSocket(ListenSocket&&) = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket() { close(); }

  int fd() const { return fd_.get(); }
  // No more connections; the file goes if it is still this socket's.
  void close();

 private:
  ListenSocket(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace ebla::daemon
