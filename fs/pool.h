// Threads that serve channels. One thread at a time takes the requests of a channel as long as it
// is quick with them: to wake a second one for each request costs more than most requests do. The
// others come in where requests pile up, where one takes long, and where one has taken long.
// Knows no libfuse.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
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
  // A thread that is at one request for this long, twice at most, is not waited for any longer.
  static constexpr auto kPatience = std::chrono::milliseconds(2);

  // threads 0: by the number of CPUs. Any number is brought within 4 to 16.
  static Result<std::unique_ptr<Pool>> create(unsigned threads);
  ~Pool();  // stop()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Served from now on, until it dies.
  Result<void> add(std::shared_ptr<Channel> channel);
  // Ends the threads; a request that is being handled is finished. Channels are let go of.
  void stop();
  // Whether it looks for requests that take long; not while nothing is served.
  bool watching() const { return watching_.load(); }

 private:
  // What one thread is at, for the one that watches.
  struct alignas(64) Server {
    std::atomic<uint64_t> channel{0};
    std::atomic<uint64_t> step{0};  // odd: at a request
    uint64_t seen = 0;              // by the watch: the step at its last look
  };
  class ServerTurn;

  Pool() = default;
  void start(unsigned threads);
  void run(Server& server);
  void serve(Server& server, uint64_t id, Channel& channel, class ReceiveBuffer& buffer);
  std::shared_ptr<Channel> find(uint64_t id) const;
  bool take_out(uint64_t id, const Channel& channel);
  void call(uint64_t id, const Channel& channel) const;

  void watch();
  bool look();
  void wake_watch();

  UniqueFd epoll_;
  UniqueFd stop_event_;
  std::atomic<bool> stopping_{false};
  mutable std::shared_mutex mutex_;
  uint64_t next_id_ = 1;  // 0 is the stop event
  std::unordered_map<uint64_t, std::shared_ptr<Channel>> channels_;
  std::unique_ptr<Server[]> servers_;
  std::vector<std::thread> threads_;

  std::atomic<bool> watching_{false};  // false: whoever serves wakes the watch
  std::mutex watch_mutex_;
  std::condition_variable watch_wake_;
  std::thread watch_;
};

}  // namespace ebla::fs
