// Threads that serve channels: each waits for any of them, so one that dies or is slow disturbs no
// other. Knows no libfuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fs/channel.h"
#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::fs {

class Pool {
 public:
  static constexpr unsigned kLeastThreads = 4;
  static constexpr unsigned kMostThreads = 16;

  // threads 0: by the number of CPUs. Any number is brought within 4 to 16.
  static Result<std::unique_ptr<Pool>> create(unsigned threads);
  ~Pool();  // stop()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Served from now on, until it dies.
  Result<void> add(std::shared_ptr<Channel> channel);
  // Ends the threads; a request that is being handled is finished. Channels are let go of.
  void stop();

 private:
  Pool() = default;
  void run();
  void serve(uint64_t id, Channel& channel, class ReceiveBuffer& buffer);
  std::shared_ptr<Channel> find(uint64_t id) const;
  bool take_out(uint64_t id, const Channel& channel);

  UniqueFd epoll_;
  UniqueFd stop_event_;
  std::atomic<bool> stopping_{false};
  mutable std::shared_mutex mutex_;
  uint64_t next_id_ = 1;  // 0 is the stop event
  std::unordered_map<uint64_t, std::shared_ptr<Channel>> channels_;
  std::vector<std::thread> threads_;
};

}  // namespace ebla::fs
