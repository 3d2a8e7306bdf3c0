#include "tools/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <set>

#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"

namespace ebla::tools {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

class ClientTest : public testing::Test {
 protected:
  std::string path() const { return folder_ / "sock"; }
  Client connected() const {
    auto client = Client::connect(path());
    EXPECT_TRUE(client) << client.error().text;
    return std::move(*client);
  }

  kit::TempDir folder_{"client"};
};

TEST_F(ClientTest, GreetsWithProtocolAndBlobs) {
  Json hello;
  FakeDaemon daemon(
      path(),
      [&](const FakeRequest& request) {
        hello = request.params;
        return result(R"({"protocol":1})");
      },
      true);
  const Client client = connected();
  EXPECT_EQ(hello.find("protocol")->as_int64(), 1);
  EXPECT_TRUE(hello.find("blobs")->boolean);
  EXPECT_THAT(hello.find("client")->text, testing::StartsWith("ebla/"));
  EXPECT_EQ(client.peer_pid(), getpid());
  EXPECT_EQ(client.peer_uid(), geteuid());
}

TEST_F(ClientTest, NobodyThereNamesTheSocketAndTheRemedy) {
  for (const std::string& place : {path(), folder_ / "no/such/folder/sock"}) {
    const auto client = Client::connect(place);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, Code::not_running);
    EXPECT_THAT(client.error().text, AllOf(HasSubstr(place), HasSubstr("`ebla start`")));
  }
  // What a killed daemon leaves: a socket file that nobody listens to.
  const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(Client::connect(path()).error().code, Code::not_running);
}

TEST_F(ClientTest, TooLongAPathSaysSo) {
  const auto client = Client::connect("/" + std::string(107, 'x'));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::bad_configuration);
  EXPECT_THAT(client.error().text, AllOf(HasSubstr("108 bytes"), HasSubstr("107")));
}

TEST_F(ClientTest, AnotherProtocolIsRefused) {
  FakeDaemon newer(path(), [](const FakeRequest&) { return result(R"({"protocol":2})"); }, true);
  const auto client = Client::connect(path());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::bad_configuration);
  EXPECT_THAT(client.error().text, AllOf(HasSubstr("protocol 2"), HasSubstr(path())));
}

TEST_F(ClientTest, ProtocolThatTheDaemonRefusesReadsAlike) {
  FakeDaemon newer(
      path(), [](const FakeRequest&) { return error("invalid_params", "protocol: 2 to 3"); }, true);
  const auto client = Client::connect(path());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::bad_configuration);
  EXPECT_THAT(client.error().text, HasSubstr("protocol: 2 to 3"));
}

TEST_F(ClientTest, ClosedWithoutAByte) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result("{}"); });
  daemon.refuse();
  const auto client = Client::connect(path());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::unavailable);
  EXPECT_THAT(client.error().text, HasSubstr("closed the connection at once"));
}

TEST_F(ClientTest, DeathInMidCallIsUnavailableAndStaysSo) {
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    FakeAnswer answer;
    answer.hang_up = true;
    answer.raw = request.params.find("cut") != nullptr ? R"({"jsonrpc":"2.0","id":2,"resu)" : "";
    return answer;
  });
  for (const char* params : {"{}", R"({"cut":true})"}) {
    Client client = connected();
    for (int i = 0; i < 2; ++i) {
      const auto reply = client.call("evict", params);
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error().code, Code::unavailable);
      EXPECT_THAT(reply.error().text, AllOf(HasSubstr("`evict`"), HasSubstr(path())));
    }
  }
}

TEST_F(ClientTest, AnswerThatTheDaemonSentBeforeItClosedIsRead) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    FakeAnswer answer;
    answer.raw = R"({"jsonrpc":"2.0","id":null,"error":{"code":11,"message":"a line too long",)"
                 R"("data":{"name":"too_large","retry":false}}})"
                 "\n";
    answer.hang_up = true;
    return answer;
  });
  Client client = connected();
  const auto reply = client.call("evict", "{}");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::too_large);
  EXPECT_EQ(reply.error().text, "a line too long");
}

TEST_F(ClientTest, SilenceEndsWithTimeout) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    FakeAnswer answer;
    answer.keep_silent = true;
    return answer;
  });
  Client client = connected();
  const auto reply = client.call("stats", "{}", {}, milliseconds(1));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::timeout);
  // A late answer must not be taken for that of another call.
  EXPECT_EQ(client.call("stats", "{}").error().code, Code::unavailable);
}

TEST_F(ClientTest, NoiseIsNoAnswer) {
  for (const char* noise :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "{}\n", "[]\n",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n", "{\"jsonrpc\":\"2.0\",\"id\":2}\n",
        "{\"id\":2,\"result\":{},\"blobs\":[18446744073709551615]}\n",
        "{\"id\":2,\"result\":{},\"blobs\":[-1]}\n"}) {
    FakeDaemon daemon(path(), [noise](const FakeRequest&) {
      FakeAnswer answer;
      answer.raw = noise;
      answer.hang_up = true;
      return answer;
    });
    Client client = connected();
    const auto reply = client.call("stats", "{}");
    ASSERT_FALSE(reply) << noise;
    EXPECT_EQ(reply.error().code, Code::internal_error) << noise;
  }
}

TEST_F(ClientTest, EveryErrorNameKeepsItsExitStatus) {
  std::string name;
  FakeDaemon daemon(path(), [&](const FakeRequest&) { return error(name, "why"); });
  Client client = connected();
  for (int i = 0; i <= static_cast<int>(Code::not_running); ++i) {
    const CodeInfo& info = code_info(static_cast<Code>(i));
    name = info.name;
    const auto reply = client.call("stats", "{}");
    ASSERT_FALSE(reply);
    EXPECT_EQ(code_info(reply.error().code).name, info.name);
    EXPECT_EQ(code_info(reply.error().code).exit_status, info.exit_status) << info.name;
    EXPECT_EQ(reply.error().text, "why");
  }
  name = "from_the_future";
  EXPECT_EQ(client.call("stats", "{}").error().text, "why (from_the_future)");
}

TEST_F(ClientTest, BlobsAndDescriptorsTravelBothWays) {
  std::string big(3'000'000, '\0');
  for (size_t i = 0; i < big.size(); ++i) {
    big[i] = static_cast<char>(i * 7 % 251);
  }
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    return result(R"({"a":{"$blob":1},"b":"text","c":{"$blob":9}})", {"", request.blobs.at(0)});
  });
  const UniqueFd first = memory_file("first file");
  const UniqueFd second = memory_file(big);
  Client client = connected();
  const auto reply = client.call("evict", "{}", {{big, "small"}, {first.get(), second.get()}});
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(reply->bytes("a"), big);
  EXPECT_EQ(reply->bytes("b"), "text");
  EXPECT_FALSE(reply->bytes("c"));
  EXPECT_FALSE(reply->bytes("d"));
  const auto requests = daemon.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].blobs, (std::vector<std::string>{big, "small"}));
  EXPECT_EQ(requests[0].files, (std::vector<std::string>{"first file", big}));
}

TEST_F(ClientTest, AnAnswerInSinglesBytesIsOneAnswer) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    FakeAnswer answer = result(R"({"a":{"$blob":0}})", {"x\ny"});
    answer.byte_by_byte = true;
    return answer;
  });
  Client client = connected();
  for (int i = 0; i < 3; ++i) {
    const auto reply = client.call("stats", "{}");
    ASSERT_TRUE(reply) << reply.error().text;
    EXPECT_EQ(reply->bytes("a"), "x\ny");
  }
}

TEST_F(ClientTest, ARequestOverTheLineLimitIsNotSent) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result("{}"); });
  Client client = connected();
  const auto reply = client.call("evict", "{\"id\":\"" + std::string(1'100'000, 'x') + "\"}");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::too_large);
  EXPECT_TRUE(client.call("stats", "{}"));
  EXPECT_EQ(daemon.requests().size(), 1U);
}

}  // namespace
}  // namespace ebla::tools
