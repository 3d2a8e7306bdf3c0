// Pipelining, the order within a session, cancelling, stopping.
#include <future>
#include <mutex>
#include <thread>

#include "schema/base/limits.h"
#include "tests/daemon/control_fixture.h"

namespace ebla::daemon {
namespace {

std::string evict(int id, std::string_view session, std::string_view content = "x") {
  const std::string named = session.empty() ? "" : ",\"session\":\"" + std::string(session) + "\"";
  return request(std::to_string(id), "evict",
                 "{\"content\":\"" + std::string(content) + "\"" + named + "}");
}

// Notes when calls run, by what they carry.
class Journal {
 public:
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(what));
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

class ControlOrderTest : public ControlTest {
 protected:
  // Evictions are answered later, from a thread of their own.
  void answer_late() {
    target_.on("evict", [this](std::shared_ptr<Request> given, Responder respond) {
      const std::string content = given->params.find("content")->text;
      journal_.note("begin " + content);
      const std::lock_guard lock(mutex_);
      late_.push_back(
          std::async(std::launch::async, [this, content, respond = std::move(respond)]() mutable {
            std::this_thread::yield();
            journal_.note("end " + content);
            respond(Reply{"{}", {}});
          }));
    });
  }

  Journal journal_;
  std::mutex mutex_;
  std::vector<std::future<void>> late_;  // ends by waiting for them
};

TEST_F(ControlOrderTest, OneSessionIsSerialAndInOrder) {
  answer_late();
  target_.name_sessions({{"id-of-a", "a"}});
  const Running running = start();
  Client client(socket_path());
  std::string all;
  std::vector<std::string> wanted;
  for (int i = 0; i < 60; ++i) {
    // Key and id are two names of one session.
    all += evict(i, i % 2 == 0 ? "a" : "id-of-a", std::to_string(i));
    wanted.push_back("begin " + std::to_string(i));
    wanted.push_back("end " + std::to_string(i));
  }
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 60; ++i) EXPECT_EQ(client.expect().id(), std::to_string(i));
  EXPECT_EQ(journal_.notes(), wanted);
}

TEST_F(ControlOrderTest, NoSessionIsTheDefaultOne) {
  answer_late();
  const Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(evict(0, "", "0") + evict(1, "default", "1") + evict(2, "", "2")));
  for (int i = 0; i < 3; ++i) client.expect();
  EXPECT_EQ(journal_.notes(),
            (std::vector<std::string>{"begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"}));
}

TEST_F(ControlOrderTest, OtherSessionsAndReadsOvertake) {
  target_.on("evict", [&](std::shared_ptr<Request> given, Responder respond) {
    if (given->params.find("session")->text == "slow") gate_.pass();
    respond(Reply{"{}", {}});
  });
  const Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(evict(1, "slow") + evict(2, "slow") + evict(3, "quick") +
                          request("4", "fs.stat", R"({"path":"/","session":"slow"})")));
  std::set<std::string> first = {client.expect().id(), client.expect().id()};
  EXPECT_EQ(first, (std::set<std::string>{"3", "4"}));
  gate_.open();
  EXPECT_EQ(client.expect().id(), "1");
  EXPECT_EQ(client.expect().id(), "2");
}

TEST_F(ControlOrderTest, SessionIsOpenedBeforeItsFirstUse) {
  target_.on("session.open", [&](std::shared_ptr<Request> given, Responder respond) {
    if (given->params.find("parent") == nullptr) gate_.pass();
    journal_.note("open " + given->params.find("key")->text);
    respond(Reply{"{}", {}});
  });
  answer_late();
  const Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(request("1", "session.open", R"({"key":"root"})") +
                          request("2", "session.open", R"({"key":"sub","parent":"root"})") +
                          evict(3, "sub", "3") + request("4", "status")));
  EXPECT_EQ(client.expect().id(), "4");
  gate_.open();
  for (const char* id : {"1", "2", "3"}) EXPECT_EQ(client.expect().id(), id);
  EXPECT_EQ(journal_.notes(),
            (std::vector<std::string>{"open root", "open sub", "begin 3", "end 3"}));
}

TEST_F(ControlOrderTest, TwoClientsShareTheOrder) {
  target_.on("evict", [&](std::shared_ptr<Request>, Responder respond) {
    gate_.pass();
    respond(Reply{"{}", {}});
  });
  const Running running = start();
  Client one(socket_path());
  Client two(socket_path());
  ASSERT_TRUE(one.send(evict(1, "s")));
  gate_.await_arrivals(1);
  ASSERT_TRUE(two.send(evict(2, "s") + request("3", "status")));
  EXPECT_EQ(two.expect().id(), "3");
  gate_.open();
  EXPECT_EQ(one.expect().id(), "1");
  EXPECT_EQ(two.expect().id(), "2");
}

TEST_F(ControlOrderTest, ManyPipelinedRequestsAllComeBack) {
  const Running running = start();
  constexpr int kRequests = 20'000;
  Client client(socket_path());
  std::jthread sender([&] {
    std::string all;
    for (int i = 0; i < kRequests; ++i) all += request(std::to_string(i), "status");
    EXPECT_TRUE(client.send(all));
  });
  std::vector<int> seen(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    ++seen[client.expect().line.find("id")->as_uint64().value_or(0)];
  }
  sender.join();
  EXPECT_EQ(seen, std::vector<int>(kRequests, 1));
}

TEST_F(ControlOrderTest, ReadingPausesAtThePipelineLimit) {
  target_.on("evict", [&](std::shared_ptr<Request>, Responder respond) {
    gate_.pass();
    respond(Reply{"{}", {}});
  });
  const Running running = start();
  Client client(socket_path());
  const size_t count = limits::kPipelinedRequests + 10;
  std::string all;
  for (size_t i = 0; i < count; ++i) all += evict(static_cast<int>(i), "s");
  ASSERT_TRUE(client.send(all));
  gate_.await_arrivals(1);
  expect_alive();
  EXPECT_EQ(server().counters().requests, limits::kPipelinedRequests + 1);
  gate_.open();
  for (size_t i = 0; i < count; ++i) client.expect();
}

TEST_F(ControlOrderTest, CloseCancelsWhatRuns) {
  std::promise<std::shared_ptr<Request>> seen;
  Responder kept;
  target_.on("fs.stat", [&](std::shared_ptr<Request> given, Responder respond) {
    kept = std::move(respond);
    seen.set_value(std::move(given));
  });
  const Running running = start();
  auto client = std::make_unique<Client>(socket_path());
  ASSERT_TRUE(client->send(request("1", "fs.stat", R"({"path":"/"})")));
  const std::shared_ptr<Request> given = seen.get_future().get();
  EXPECT_FALSE(*given->cancelled);
  client.reset();
  while (!*given->cancelled) std::this_thread::yield();
  kept(Reply{"{}", {}});  // nobody is there any more: no harm
  expect_alive();
}

TEST_F(ControlOrderTest, WhatWasSentBeforeTheCloseIsRun) {
  // More than are read at once: the rest lies in the socket when the client is gone.
  constexpr size_t kCount = limits::kPipelinedRequests * 3;
  target_.on("evict", [&](std::shared_ptr<Request>, Responder respond) {
    gate_.pass();
    respond(Reply{"{}", {}});
  });
  const Running running = start();
  {
    Client client(socket_path());
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(client.send(R"({"jsonrpc":"2.0","method":"evict","params":{"content":"x"}})"
                              "\n"));
    }
    gate_.await_arrivals(1);
  }
  gate_.open();
  gate_.await_arrivals(kCount);
  while (server().counters().connections != 0) std::this_thread::yield();
}

TEST_F(ControlOrderTest, StopLetsCallsFinishAndRefusesNewOnes) {
  target_.on("evict", [&](std::shared_ptr<Request> given, Responder respond) {
    gate_.pass();
    EXPECT_FALSE(*given->cancelled);
    respond(Reply{"\"done\"", {}});
  });
  const Running running = start();
  Client client(socket_path());
  Client other(socket_path());
  EXPECT_EQ(other.call(request("0", "status")).error_name(), "");
  ASSERT_TRUE(client.send(evict(1, "s") + evict(2, "s")));
  gate_.await_arrivals(1);
  std::jthread stopper([&] { server().stop(60'000); });
  // From some moment on the answer is a refusal.
  std::string name;
  while (name.empty()) name = other.call(request("3", "status")).error_name();
  EXPECT_EQ(name, "unavailable");
  gate_.open();
  stopper.join();
  std::map<std::string, Received> answers;
  for (int i = 0; i < 2; ++i) {
    Received answer = client.expect();
    answers[answer.id()] = std::move(answer);
  }
  EXPECT_EQ(answers["1"].result().text, "done");
  EXPECT_EQ(answers["2"].error_name(), "unavailable");  // had not begun
  EXPECT_FALSE(client.receive().has_value());
}

TEST_F(ControlOrderTest, StopHasAnEnd) {
  target_.on("fs.stat", [](std::shared_ptr<Request> given, Responder respond) {
    // As a long read does that looks whether anybody still waits.
    while (!*given->cancelled) std::this_thread::yield();
    respond(Reply{"{}", {}});
  });
  std::promise<Responder> kept;
  target_.on("stats", [&](std::shared_ptr<Request>, Responder respond) {
    kept.set_value(std::move(respond));
  });
  Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(request("1", "fs.stat", R"({"path":"/"})") + request("2", "stats")));
  Responder late = kept.get_future().get();
  server().stop(1);
  EXPECT_FALSE(client.receive().has_value());
  running.stop();
  late(Reply{"{}", {}});  // after the end of everything: no harm
}

TEST_F(ControlOrderTest, StopWithQueuesFull) {
  target_.on("evict", [&](std::shared_ptr<Request>, Responder respond) {
    gate_.pass();
    respond(Reply{"{}", {}});
  });
  const Running running = start(4);
  std::vector<std::unique_ptr<Client>> clients;
  for (int c = 0; c < 20; ++c) {
    clients.push_back(std::make_unique<Client>(socket_path()));
    std::string all;
    for (int i = 0; i < 40; ++i) all += evict(i, c % 2 == 0 ? "shared" : std::to_string(c));
    ASSERT_TRUE(clients.back()->send(all));
  }
  gate_.await_arrivals(4);
  std::jthread opener([&] { gate_.open(); });
  server().stop(0);
  opener.join();
  for (auto& client : clients) {
    while (client->receive().has_value()) continue;
  }
}

}  // namespace
}  // namespace ebla::daemon
