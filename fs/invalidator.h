// Tells one kernel what to drop from its caches, on a thread of its own: a notice may wait for a
// lock that the kernel holds while it waits for an answer. Changes that pile up are joined.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schema/change_set.h"

namespace ebla::fs {

class Connection;

// Runs its function when the last mount that it was given to has let go of it.
class Delivery {
 public:
  explicit Delivery(std::move_only_function<void()> done) : done_(std::move(done)) {}
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    if (done_) done_();
  }

 private:
  std::move_only_function<void()> done_;
};

class Invalidator {
 public:
  // `connection` must outlive the invalidator.
  explicit Invalidator(Connection& connection);
  ~Invalidator();  // stop()
  Invalidator(const Invalidator&) = delete;
  Invalidator& operator=(const Invalidator&) = delete;

  void push(const ChangeSet& changes, std::shared_ptr<Delivery> delivery);
  // Tells what is queued, as far as the kernel still listens, and ends the thread.
  void stop();

 private:
  struct Pending {
    std::map<std::pair<Ino, std::string>, DentryChange> dentries;
    std::set<Ino> attributes;
    std::map<Ino, std::pair<uint64_t, uint64_t>> ranges;  // first byte, end (0: of the file)
    bool everything = false;
    std::vector<std::shared_ptr<Delivery>> deliveries;
    bool empty() const { return deliveries.empty(); }
  };

  void run();
  void tell(const Pending& pending);
  std::set<uint64_t> tell_dentries(const Pending& pending);
  void tell_everything();
  void tell_end(uint64_t nodeid);
  bool known(uint64_t nodeid) const;

  Connection& connection_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Pending pending_;
  bool stopping_ = false;
  std::thread thread_;  // last: sees all of the above
};

}  // namespace ebla::fs
