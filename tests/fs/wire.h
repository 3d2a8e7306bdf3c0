// The operations without a mount: raw messages of the FUSE protocol over a socket pair, handled on
// the test's own thread, so every run is the same.
#pragma once

#include <linux/fuse.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/connection.h"
#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/store.h"
#include "tests/kit/fill_store.h"

namespace ebla::fs {

struct Answer {
  int error = 0;  // positive errno
  uint64_t unique = 0;
  std::string body;

  template <class T>
  T as() const {
    T out{};
    std::memcpy(&out, body.data(), std::min(sizeof(out), body.size()));
    return out;
  }
};

struct WireEntry {
  std::string name;
  uint64_t offset = 0;
  fuse_entry_out entry{};  // READDIRPLUS only
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

class Wire {
 public:
  // Session "default" is open. `owner`: what a mount of an ordinary user shows.
  explicit Wire(std::string_view subtree = "/", std::optional<Owner> owner = {},
                View::Access access = View::Access::writes);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Sends a request and handles it. nullopt: no answer came.
  std::optional<Answer> call(uint32_t opcode, uint64_t node, const std::string& body = "");
  // As it is, without a header made for it.
  void send_raw(const std::string& message);
  Channel::Outcome handle();
  std::optional<Answer> receive();
  void hang_up() { kernel_.reset(); }

  // The kernel's side says it can do everything but what the flags `cannot` say.
  Answer init(uint32_t cannot = 0);
  Answer lookup(uint64_t parent, std::string_view name);
  uint64_t find(std::string_view path);  // by lookups from the root; 0 if one fails
  std::vector<WireEntry> list(uint64_t node, uint64_t offset, uint32_t size, bool plus);
  Answer read(uint64_t node, uint64_t offset, uint32_t size);
  void forget(uint64_t node, uint64_t count);
  Ino put(const std::string& name, const std::string& bytes);  // also tells, as the table does

  Connection& connection() { return *connection_; }
  Shared& shared() { return *shared_; }
  Store& store() { return *store_; }
  const std::vector<ChangeSet>& published() const { return published_; }

 private:
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  std::vector<ChangeSet> published_;
  std::unique_ptr<Shared> shared_;
  UniqueFd kernel_;  // the kernel's end
  std::shared_ptr<Connection> connection_;
  ReceiveBuffer buffer_;
  uint64_t next_unique_ = 2;
};

}  // namespace ebla::fs
