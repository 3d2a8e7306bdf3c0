// Slow, dead, hostile and huge clients hurt nobody else.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "schema/base/limits.h"
#include "tests/daemon/control_fixture.h"
#include "tests/kit/hoard.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

class ControlAbuseTest : public ControlTest {
 protected:
  void await_connections(uint64_t count) {
    while (server().counters().connections != count) std::this_thread::yield();
  }
};

TEST_F(ControlAbuseTest, NonsenseGetsAnErrorEach) {
  const Running running = start();
  const std::vector<std::string> lines = {
      "\xff",
      "{\"a\":\"\xc0\xaf\"}",
      "\xe2\x82",
      "\xed\xa0\x80",
      "\xf4\x90\x80\x80",
      "\x80",
      std::string(100'000, '['),
      std::string(100'000, '{'),
      "NaN",
      "1e400",
      std::string(10'000, '9'),
      "GET / HTTP/1.1",
      "Host: localhost",
      std::string("\0\0\0", 3),
      "[" + std::string(10'000, ' ') + "]",
      "\xef\xbb\xbf",
  };
  Client client(socket_path());
  for (const std::string& line : lines) {
    const Received answer = client.call(line + "\n");
    EXPECT_EQ(answer.id(), "null") << line.substr(0, 40);
    EXPECT_TRUE(answer.error_code() == -32700 || answer.error_code() == -32600)
        << line.substr(0, 40) << ": " << answer.error_code();
  }
  std::string batch = "[" + request("1", "status");
  batch.pop_back();
  for (int i = 1; i < 10'000; ++i) batch += "," + request("1", "status").substr(0, 53);
  EXPECT_EQ(client.call(batch + "]\n").id(), "null");
  EXPECT_EQ(client.call(request("2", "status")).id(), "2");
}

TEST_F(ControlAbuseTest, RandomBytesAndHttp) {
  const Running running = start();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Client client(socket_path());
    client.send(kit::random_bytes(64 * limits::kKiB, seed));
    client.shut_write();
    while (client.receive().has_value()) continue;
  }
  Client http(socket_path());
  ASSERT_TRUE(http.send("POST /rpc HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}\n"));
  for (const int64_t code : {-32700, -32700, -32600}) EXPECT_EQ(http.expect().error_code(), code);
  expect_alive();
}

TEST_F(ControlAbuseTest, MutatedRequestsNeverKill) {
  const Running running = start();
  const std::string whole =
      request_with_blobs("1", "evict", R"({"session":"s","content":{"$blob":0}})", {"abc\n"}) +
      request("\"two\"", "fs.read", R"({"path":"/a/b","offset":-1,"numbered":true})");
  std::minstd_rand random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Client client(socket_path());
    client.send(bytes);
    client.shut_write();
    while (client.receive().has_value()) continue;
  }
  expect_alive();
}

TEST_F(ControlAbuseTest, LineOfTheLimitAndOneMore) {
  const Running running = start();
  const std::string frame = request("1", "evict", R"({"content":""})");
  std::string line = frame;
  line.insert(line.find("\"\"}") + 1,
              std::string(limits::kRequestLineBytes + 1 - frame.size(), 'x'));
  ASSERT_EQ(line.size(), limits::kRequestLineBytes + 1);
  Client client(socket_path());
  EXPECT_EQ(client.call(line).error_name(), "");
  line.insert(line.size() - 1, "\r");
  EXPECT_EQ(client.call(line).error_name(), "");
  line.insert(line.find("xxx"), "x");
  const Received answer = client.call(line);
  EXPECT_EQ(answer.error_name(), "too_large");
  EXPECT_EQ(answer.id(), "null");
  EXPECT_NE(answer.error_text().find("blob"), std::string::npos) << answer.error_text();
  EXPECT_FALSE(client.receive().has_value());
  // The CR alone in a read of its own.
  Client slow(socket_path());
  line.assign(limits::kRequestLineBytes, ' ');
  ASSERT_TRUE(slow.send(line));
  ASSERT_TRUE(slow.send("\r"));
  expect_alive();
  ASSERT_TRUE(slow.send("\n" + request("2", "status")));
  EXPECT_EQ(slow.expect().id(), "2");
}

TEST_F(ControlAbuseTest, HugeLineIsRefusedInBoundedMemory) {
  const Running running = start();
  expect_alive();
  const size_t before = resident_bytes();
  Client client(socket_path());
  const std::string piece(limits::kMiB, 'x');
  size_t sent = 0;
  while (sent < 256 && client.send(piece)) ++sent;
  EXPECT_LT(sent, 8u);
  EXPECT_EQ(client.expect().error_name(), "too_large");
  EXPECT_FALSE(client.receive().has_value());
  if (!sanitized()) {
    EXPECT_LT(resident_bytes(), before + 16 * limits::kMiB);
  }
}

TEST_F(ControlAbuseTest, IdleAndHalfMessages) {
  const Running running = start();
  expect_alive();
  await_connections(0);
  const size_t before = resident_bytes();
  const size_t threads = thread_count();
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<Client>(socket_path()));
    if (i % 5 == 0) {
      ASSERT_TRUE(idle.back()->send(request("1", "status").substr(0, 20)));
    }
    if (i % 5 == 1) {
      ASSERT_TRUE(idle.back()->send(R"({"jsonrpc":"2.0","method":"stats","blobs":[9]})"
                                    "\nfour"));
    }
  }
  expect_alive();
  EXPECT_EQ(thread_count(), threads);
  if (!sanitized()) {
    EXPECT_LT(resident_bytes(), before + 32 * limits::kMiB);
  }
  // Each of them is still served.
  for (int i = 0; i < 1000; i += 5) {
    EXPECT_EQ(idle[static_cast<size_t>(i)]->call(request("1", "status").substr(20)).id(), "1");
  }
  idle.clear();
  await_connections(0);
}

TEST_F(ControlAbuseTest, SlowClientsAreServedAtTheirPace) {
  const Running running = start();
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 200; ++i) slow.push_back(std::make_unique<Client>(socket_path()));
  const std::string message =
      request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", {"1234567"});
  for (const char byte : message) {
    for (auto& client : slow) ASSERT_TRUE(client->send({&byte, 1}));
    if (byte == '"') expect_alive();
  }
  for (auto& client : slow) EXPECT_EQ(client->expect().error_name(), "");
}

TEST_F(ControlAbuseTest, WhoeverNeverReadsCostsOnlyItself) {
  const std::string bytes(limits::kMiB, 'r');
  std::atomic<size_t> made = 0;
  target_.on("fs.read_bytes", [&](std::shared_ptr<Request>, Responder respond) {
    ++made;
    respond(Reply{R"({"$blob":0})", {bytes}});
  });
  const Running running = start();
  expect_alive();
  const size_t before = resident_bytes();
  std::string all;
  // Long requests, so that not too many fit into the buffers between.
  const std::string params = "{\"path\":\"/" + std::string(4000, 'p') + "\"}";
  for (int i = 0; i < 64; ++i) all += request("1", "fs.read_bytes", params);
  std::vector<std::unique_ptr<Client>> deaf;
  for (int i = 0; i < 20; ++i) {
    deaf.push_back(std::make_unique<Client>(socket_path()));
    // Until the server reads no more.
    size_t at = 0;
    for (;;) {
      const ssize_t count =
          ::send(deaf.back()->fd(), all.data() + at, all.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) break;
      at = (at + static_cast<size_t>(count)) % all.size();
    }
    expect_alive();
  }
  if (!sanitized()) {
    EXPECT_LT(resident_bytes(), before + 320 * limits::kMiB);
  }
  // One that begins to read gets what it asked for, in whole frames, more than was queued.
  const size_t queued = limits::kReplyQueueBytes / bytes.size();
  for (size_t i = 0; i < 3 * queued; ++i) {
    const Received answer = deaf.front()->expect();
    ASSERT_EQ(answer.blobs.size(), 1u);
    ASSERT_TRUE(answer.blobs[0] == bytes);
  }
  EXPECT_GE(made, 3 * queued);
}

TEST_F(ControlAbuseTest, RefusalsThatNobodyReadsStopToo) {
  const Running running = start();
  Client deaf(socket_path());
  const std::string lines = [] {
    std::string out;
    for (int i = 0; i < 50'000; ++i) out += "x\n";
    return out;
  }();
  size_t sent = 0;
  for (;;) {
    const ssize_t count =
        ::send(deaf.fd(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    // Full: the server reads on only while its queue has room.
    const uint64_t seen = server().counters().errors;
    expect_alive();
    if (seen == server().counters().errors) break;
  }
  EXPECT_LT(sent, 4 * limits::kMiB);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(deaf.expect().error_code(), -32700);
}

TEST_F(ControlAbuseTest, ConnectAndLeave) {
  const Running running = start();
  expect_alive();
  await_connections(0);
  const size_t before = open_descriptors();
  for (int i = 0; i < 3000; ++i) {
    Client client(socket_path());
    if (i % 3 == 0) client.send(request("1", "status"));
    if (i % 3 == 1) client.send("{");
  }
  expect_alive();
  await_connections(0);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ControlAbuseTest, AllRequestsTogetherHaveALimit) {
  target_.on("evict", [&](std::shared_ptr<Request> given, Responder respond) {
    gate_.pass();
    given.reset();
    respond(Reply{"{}", {}});
  });
  const Running running = start(4);
  std::string items = "0";
  for (int i = 0; i < 500'000; ++i) items += ",0";
  std::vector<std::unique_ptr<Client>> clients;
  size_t held = 0;
  Received refused;
  for (; held < 8; ++held) {
    clients.push_back(std::make_unique<Client>(socket_path()));
    const std::string params =
        "{\"session\":\"" + std::to_string(held) + "\",\"content\":[" + items + "]}";
    ASSERT_TRUE(clients.back()->send(request("1", "evict", params)));
    // An answer now is a refusal: the calls wait at the gate.
    expect_alive();
    const uint64_t errors = server().counters().errors;
    if (errors > 0) break;
  }
  EXPECT_GE(held, 1u);
  EXPECT_LE(held, 4u);
  EXPECT_EQ(clients.back()->expect().error_name(), "busy");
  gate_.open();
  for (size_t i = 0; i < held; ++i) EXPECT_EQ(clients[i]->expect().error_name(), "");
  // The room comes back.
  EXPECT_EQ(clients[0]->call(request("2", "evict", "{\"content\":[" + items + "]}")).error_name(),
            "");
}

TEST_F(ControlAbuseTest, UnfinishedLinesHaveALimit) {
  const Running running = start();
  const std::string half(limits::kRequestLineBytes - 1, ' ');
  std::vector<std::unique_ptr<Client>> clients;
  const size_t most = limits::kLineTotalBytes / limits::kRequestLineBytes;
  for (size_t i = 0; i < most + 3; ++i) {
    clients.push_back(std::make_unique<Client>(socket_path()));
    clients.back()->send(half);
  }
  expect_alive();
  EXPECT_EQ(clients.back()->expect().error_name(), "busy");
  EXPECT_FALSE(clients.back()->receive().has_value());
  ASSERT_TRUE(clients.front()->send("\n" + request("1", "status")));
  EXPECT_EQ(clients.front()->expect().id(), "1");
}

TEST_F(ControlAbuseTest, WithoutDescriptorsConnectionsWait) {
  if (sanitized()) GTEST_SKIP() << "the sanitizers open descriptors for their own checks";
  const Running running = start();
  expect_alive();
  await_connections(0);
  std::unique_ptr<Client> one;
  std::unique_ptr<Client> two;
  {
    // Two ends for the first client, one for the second: its other end waits to be accepted.
    const kit::Hoard hoard(3);
    one = std::make_unique<Client>(socket_path());
    EXPECT_EQ(one->call(request("1", "status")).id(), "1");
    two = std::make_unique<Client>(socket_path());
    ASSERT_TRUE(two->send(request("2", "status")));
    // The others are served meanwhile, and nothing spins: a loop that kept asking for the second
    // would ask again with each of these, and not five times a second.
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t failed_before = server().counters().failed;
    for (int i = 0; i < 500; ++i) ASSERT_EQ(one->call(request("3", "status")).id(), "3");
    const uint64_t failed = server().counters().failed - failed_before;
    const auto passed = std::chrono::steady_clock::now() - begin;
    EXPECT_LE(failed, 2 + static_cast<uint64_t>(passed / std::chrono::milliseconds(200)));
    EXPECT_GE(server().counters().failed, 1u);
    EXPECT_EQ(server().counters().accepted, 2u);
    one.reset();  // makes room
    EXPECT_EQ(two->expect().id(), "2");
  }
  expect_alive();
}

TEST_F(ControlAbuseTest, ForeignUserIsClosedWithoutAByte) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto ask_as_nobody = [&]() -> int {
    // Everything that allocates comes before the fork: other threads may hold the heap's lock.
    const std::string path = socket_path();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const std::string line = request("1", "status");
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(10);
      const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
      const auto* plain = reinterpret_cast<const sockaddr*>(&address);
      if (::connect(fd, plain, sizeof address) != 0) ::_exit(11);
      // May fail when the server was quicker.
      (void)!::send(fd, line.data(), line.size(), MSG_NOSIGNAL);
      char byte = 0;
      ::_exit(::recv(fd, &byte, 1, 0) > 0 ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  Running running = start();
  EXPECT_EQ(ask_as_nobody(), 11);  // the folder alone keeps others out
  const std::string folder = socket_path().substr(0, socket_path().rfind('/'));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket_path().c_str(), 0666), 0);
  EXPECT_EQ(ask_as_nobody(), 0);
  EXPECT_EQ(server().counters().refused, 1u);
  EXPECT_EQ(server().counters().requests, 0u);
  running.stop();
  options_.allow_uids = {65534};
  const Running again = start();
  ASSERT_EQ(::chmod(socket_path().c_str(), 0666), 0);
  EXPECT_EQ(ask_as_nobody(), 1);
}

}  // namespace
}  // namespace ebla::daemon
