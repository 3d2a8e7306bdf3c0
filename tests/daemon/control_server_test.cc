// What a well-behaved client sees of the control socket.
#include "daemon/control/control_server.h"

#include <sys/stat.h>

#include "schema/base/limits.h"
#include "tests/daemon/control_fixture.h"

namespace ebla::daemon {
namespace {

TEST_F(ControlTest, AnswersOneLine) {
  const Running running = start();
  Client client(socket_path());
  const Received answer = client.call(request("7", "fs.stat", R"({"path":"/x"})"));
  EXPECT_EQ(answer.id(), "7");
  EXPECT_EQ(answer.line.find("jsonrpc")->text, "2.0");
  EXPECT_EQ(answer.result().find("method")->text, "fs.stat");
  EXPECT_EQ(answer.result().find("params")->find("path")->text, "/x");
  EXPECT_EQ(answer.result().find("uid")->as_uint64(), ::geteuid());
  EXPECT_EQ(server().counters().requests, 1u);
  EXPECT_EQ(server().counters().accepted, 1u);
}

TEST_F(ControlTest, IdComesBackAsItWasWritten) {
  const Running running = start();
  Client client(socket_path());
  const std::string digits(10'000, '3');
  for (const std::string& id : {std::string("1e400"), std::string("-0.10"), digits,
                                std::string(R"("\"\\é")"), std::string("null")}) {
    EXPECT_EQ(client.call(request(id, "status")).id(), id);
  }
}

TEST_F(ControlTest, NotificationRunsWithoutAnswer) {
  target_.on("stats", [&](std::shared_ptr<Request>, Responder respond) {
    respond(Reply{"{}", {}});
    gate_.pass();
  });
  const Running running = start();
  Client client(socket_path());
  gate_.open();
  ASSERT_TRUE(client.send(R"({"jsonrpc":"2.0","method":"stats"})"
                          "\n"));
  // Neither a result nor, of a wrong one, an error.
  ASSERT_TRUE(client.send(R"({"jsonrpc":"2.0","method":"stats","params":{"x":1}})"
                          "\n"));
  gate_.await_arrivals(1);
  EXPECT_EQ(client.call(request("2", "status")).id(), "2");
}

TEST_F(ControlTest, BlankLinesAndCrLfAreTaken) {
  const Running running = start();
  Client client(socket_path());
  std::string line = request("1", "status");
  line.insert(line.size() - 1, "\r");
  EXPECT_EQ(client.call("\n\r\n  \n" + line).id(), "1");
  EXPECT_EQ(client.call("\n" + line).id(), "1");
}

TEST_F(ControlTest, ErrorsCarryNumberNameAndRetry) {
  target_.on("fs.stat", [](std::shared_ptr<Request>, Responder respond) {
    respond(fail(Code::file_not_found, "no such file: look with fs.ls"));
  });
  target_.on("fs.ls", [](std::shared_ptr<Request>, Responder respond) {
    respond(fail(Code::no_space, "bad \xff text"));
  });
  const Running running = start();
  Client client(socket_path());
  const Received missing = client.call(request("1", "fs.stat", R"({"path":"/x"})"));
  EXPECT_EQ(missing.error_name(), "file_not_found");
  EXPECT_EQ(missing.error_code(), code_info(Code::file_not_found).rpc_code);
  EXPECT_EQ(missing.error_text(), "no such file: look with fs.ls");
  EXPECT_FALSE(missing.line.find("error")->find("data")->find("retry")->boolean);
  const Received full = client.call(request("2", "fs.ls", R"({"path":"/x"})"));
  EXPECT_TRUE(full.line.find("error")->find("data")->find("retry")->boolean);
  EXPECT_EQ(full.error_text(), "bad \xef\xbf\xbd text");

  EXPECT_EQ(client.call(request("3", "fs.stta")).error_code(), -32601);
  EXPECT_EQ(client.call(request("4", "fs.stat")).error_code(), -32602);
  EXPECT_EQ(client.call("[" + request("5", "status").substr(0, 40) + "]\n").error_code(), -32700);
  EXPECT_EQ(client.call("[]\n").error_code(), -32600);
  EXPECT_EQ(client.call("\xff\n").error_code(), -32700);
  EXPECT_EQ(server().counters().errors, 7u);
}

TEST_F(ControlTest, EverySlicingOfAMessageIsTheSame) {
  const Running running = start();
  const std::string blob = "bytes\nwith lines\n{\"jsonrpc\"}\n";
  const std::string message =
      request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", {blob}) +
      request("2", "fs.stat", R"({"path":"/é"})") +
      request_with_blobs("3", "evict", R"({"content":{"$blob":1}})", {"", blob});
  const auto check = [](Client& client) {
    std::vector<bool> seen(4);
    for (int i = 0; i < 3; ++i) {
      const Received answer = client.expect();
      ASSERT_EQ(answer.error_name(), "");
      seen[answer.line.find("id")->as_uint64().value_or(0)] = true;
    }
    EXPECT_EQ(seen, (std::vector<bool>{false, true, true, true}));
  };
  Client client(socket_path());
  for (size_t cut = 1; cut < message.size(); ++cut) {
    ASSERT_TRUE(client.send(message.substr(0, cut)));
    ASSERT_TRUE(client.send(message.substr(cut)));
    check(client);
  }
  for (const char byte : message) ASSERT_TRUE(client.send({&byte, 1}));
  check(client);
}

TEST_F(ControlTest, HelloIsKnownToWhatFollowsAtOnce) {
  target_.on("hello", [](std::shared_ptr<Request> given, Responder respond) {
    // Also late and from elsewhere.
    const bool ours = given->params.find("client") != nullptr;
    given.reset();
    if (ours) return respond(Reply{"{}", {}});
    respond(fail(Code::invalid_params, "no client"));
  });
  const Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(request("1", "hello", R"({"client":"c/1","blobs":true})") +
                          request("2", "status") + request("3", "hello") + request("4", "status")));
  std::map<std::string, Received> answers;
  for (int i = 0; i < 4; ++i) {
    Received answer = client.expect();
    answers[answer.id()] = std::move(answer);
  }
  EXPECT_EQ(answers["2"].result().find("client")->text, "c/1");
  EXPECT_TRUE(answers["2"].result().find("wants_blobs")->boolean);
  // One that fails changes nothing and holds nothing up.
  EXPECT_EQ(answers["3"].error_name(), "invalid_params");
  EXPECT_EQ(answers["4"].result().find("client")->text, "c/1");
}

TEST_F(ControlTest, BytesGoOutAsBlobs) {
  std::string bytes(3 * limits::kMiB, '\n');
  bytes[7] = '\0';
  target_.on("fs.read_bytes", [&](std::shared_ptr<Request>, Responder respond) {
    respond(Reply{R"({"bytes":{"$blob":0},"more":{"$blob":2}})", {bytes, "", "\xff"}});
  });
  const Running running = start();
  Client client(socket_path());
  const Received answer = client.call(request("1", "fs.read_bytes", R"({"path":"/x"})"));
  ASSERT_EQ(answer.blobs.size(), 3u);
  EXPECT_TRUE(answer.blobs[0] == bytes);
  EXPECT_EQ(answer.blobs[2], "\xff");
  EXPECT_EQ(client.call(request("2", "status")).id(), "2");
}

TEST_F(ControlTest, HalfClosedClientGetsItsAnswers) {
  target_.on("stats", [&](std::shared_ptr<Request> given, Responder respond) {
    gate_.pass();
    EXPECT_FALSE(*given->cancelled);
    respond(Reply{"{}", {}});
  });
  const Running running = start();
  Client client(socket_path());
  ASSERT_TRUE(client.send(request("1", "stats") + request("2", "stats")));
  client.shut_write();
  gate_.await_arrivals(2);
  gate_.open();
  EXPECT_TRUE(client.receive().has_value());
  EXPECT_TRUE(client.receive().has_value());
  EXPECT_FALSE(client.receive().has_value());
}

TEST_F(ControlTest, EndInsideARequestIsSaid) {
  const Running running = start();
  for (const std::string& cut :
       {std::string("{\"jsonrpc\""), std::string(R"({"jsonrpc":"2.0","method":"stats","blobs":[9]})"
                                                 "\nfour")}) {
    Client client(socket_path());
    ASSERT_TRUE(client.send(cut));
    client.shut_write();
    EXPECT_EQ(client.expect().error_name(), "parse_error");
    EXPECT_FALSE(client.receive().has_value());
  }
}

TEST_F(ControlTest, AnsweringTwiceOrNeverIsOneAnswer) {
  target_.on("stats", [](std::shared_ptr<Request>, Responder respond) {
    respond(Reply{"1", {}});
    respond(Reply{"2", {}});
  });
  target_.on("status", [](std::shared_ptr<Request>, Responder) {});
  target_.on("session.list",
             [](std::shared_ptr<Request>, Responder) { throw std::runtime_error("planned"); });
  const Running running = start();
  Client client(socket_path());
  EXPECT_EQ(client.call(request("1", "stats")).result().text, "1");
  EXPECT_EQ(client.call(request("2", "status")).error_code(), -32603);
  EXPECT_EQ(client.call(request("3", "session.list")).error_code(), -32603);
}

TEST_F(ControlTest, SocketGoesWithTheServer) {
  const Running running = start();
  struct stat status{};
  ASSERT_EQ(::stat(socket_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  Client client(socket_path());
  client.call(request("1", "status"));
  server().stop(1000);
  EXPECT_NE(::stat(socket_path().c_str(), &status), 0);
  EXPECT_FALSE(client.receive().has_value());
}

TEST_F(ControlTest, BoundButNeverStartedGoesQuietly) {
  options_.path = socket_path();
  auto bound = ControlServer::bind(target_, options_);
  ASSERT_TRUE(bound.has_value());
  Client early(socket_path());
  bound->reset();
  EXPECT_TRUE(early.closed_silently());
}

}  // namespace
}  // namespace ebla::daemon
