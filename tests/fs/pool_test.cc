// How threads share the requests of channels, with sockets for devices.
#include "fs/pool.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>

namespace ebla::fs {
namespace {

// Serves messages of one byte: 'x' means death, 's' a request that takes until `release` is
// counted down, 'l' the same after others were let in; all else is served at once.
class Requests final : public Channel {
 public:
  explicit Requests(int fd) : fd_(fd) {}
  int fd() const override { return fd_.get(); }
  Outcome serve_one(ReceiveBuffer& buffer, Turn& turn) override {
    const ssize_t n = recv(fd_.get(), buffer.data(), 16, MSG_DONTWAIT);
    if (n < 0) return Outcome::empty;
    if (n == 0 || buffer.data()[0] == 'x') return Outcome::dead;
    if (buffer.data()[0] == 'l') turn.let_others_in();
    if (buffer.data()[0] != 'm') {
      count(started);
      release.wait();
    }
    count(served);
    return Outcome::served;
  }
  void died() override { count(deaths); }

  std::atomic<int> started{0};
  std::atomic<int> served{0};
  std::atomic<int> deaths{0};
  std::latch release{1};

 private:
  static void count(std::atomic<int>& what) {
    ++what;
    what.notify_all();
  }
  UniqueFd fd_;
};

struct Line {
  Line() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    near = UniqueFd(ends[0]);
    channel = std::make_shared<Requests>(ends[1]);
  }
  void say(char c) const { EXPECT_EQ(send(near.get(), &c, 1, MSG_NOSIGNAL), 1); }
  UniqueFd near;
  std::shared_ptr<Requests> channel;
};

void wait_until(std::atomic<int>& value, int wanted) {
  for (int now = value; now < wanted; now = value) value.wait(now);
}

TEST(Pool, ServesAllAndOneDeathDisturbsNoOther) {
  auto pool = Pool::create(0);
  ASSERT_TRUE(pool);
  std::array<Line, 12> lines;
  for (const Line& line : lines) ASSERT_TRUE((*pool)->add(line.channel));
  for (int i = 0; i < 500; ++i) {
    for (const Line& line : lines) line.say('m');
  }
  for (const Line& line : lines) wait_until(line.channel->served, 500);
  lines[3].say('x');
  wait_until(lines[3].channel->deaths, 1);
  lines[5].near.reset();
  wait_until(lines[5].channel->deaths, 1);
  for (const size_t i : {0U, 4U, 11U}) {
    lines[i].say('m');
    wait_until(lines[i].channel->served, 501);
  }
  (*pool)->stop();
  EXPECT_EQ(lines[3].channel->deaths, 1);
  EXPECT_EQ(lines[3].channel.use_count(), 1) << "let go of";
}

// As many as there are threads, but one.
TEST(Pool, ARequestThatTakesLongKeepsNobodyFromTheNext) {
  for (const char slow : {'s', 'l'}) {
    auto pool = Pool::create(Pool::kLeastThreads);
    ASSERT_TRUE(pool);
    const Line line;
    ASSERT_TRUE((*pool)->add(line.channel));
    for (int at = 1; at < static_cast<int>(Pool::kLeastThreads); ++at) {
      line.say(slow);
      wait_until(line.channel->started, at);
      line.say('m');
      wait_until(line.channel->served, at);
    }
    line.channel->release.count_down();
    wait_until(line.channel->served, 2 * (static_cast<int>(Pool::kLeastThreads) - 1));
    for (int i = 0; i < 100; ++i) line.say('m');
    wait_until(line.channel->served, 100 + 2 * (static_cast<int>(Pool::kLeastThreads) - 1));
  }
}

TEST(Pool, OneChannelThatIsSlowKeepsNoOtherWaiting) {
  auto pool = Pool::create(Pool::kLeastThreads);
  ASSERT_TRUE(pool);
  const Line slow;
  const Line quick;
  ASSERT_TRUE((*pool)->add(slow.channel));
  ASSERT_TRUE((*pool)->add(quick.channel));
  slow.say('s');
  wait_until(slow.channel->started, 1);
  for (int i = 0; i < 1000; ++i) quick.say('m');
  wait_until(quick.channel->served, 1000);
  slow.channel->release.count_down();
  wait_until(slow.channel->served, 1);
}

// The watch sleeps by then, and is woken.
TEST(Pool, IsAsGoodAfterALongPause) {
  auto pool = Pool::create(Pool::kLeastThreads);
  ASSERT_TRUE(pool);
  const Line line;
  ASSERT_TRUE((*pool)->add(line.channel));
  for (int round = 1; round <= 3; ++round) {
    const Line other;
    ASSERT_TRUE((*pool)->add(other.channel));
    other.say('s');
    wait_until(other.channel->started, 1);
    other.say('m');
    wait_until(other.channel->served, 1);
    other.channel->release.count_down();
    wait_until(other.channel->served, 2);
    while ((*pool)->watching()) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace ebla::fs
