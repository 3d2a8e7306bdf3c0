// Bytes behind the line, and descriptors beside it.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "tests/daemon/control_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

class ControlBlobsTest : public ControlTest {
 protected:
  // A file that holds `text`, to be passed.
  UniqueFd file(std::string_view text) {
    auto opened = open_file(folder_.path(), O_TMPFILE | O_RDWR, 0600);
    EXPECT_TRUE(opened.has_value());
    EXPECT_TRUE(write_full(opened->get(), text).has_value());
    return std::move(*opened);
  }

  static std::vector<std::string> fds_of(const Received& answer) {
    std::vector<std::string> texts;
    for (const Json& text : answer.result().find("fds")->items) texts.push_back(text.text);
    return texts;
  }

  static std::string evict_fd(std::string_view id, int index) {
    return request(id, "evict", "{\"content\":{\"$fd\":" + std::to_string(index) + "}}");
  }
};

using Texts = std::vector<std::string>;

TEST_F(ControlBlobsTest, EveryShapeArrivesByteForByte) {
  const Running running = start();
  Client client(socket_path());
  for (const auto& [name, text] : kit::all_shapes()) {
    const Received answer =
        client.call(request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", {text}));
    const Json& blob = answer.result().find("blobs")->items.at(0);
    EXPECT_EQ(blob.find("size")->as_uint64(), text.size()) << name;
    EXPECT_EQ(blob.find("xxh3")->text, xxh3_128(text).hex()) << name;
    EXPECT_EQ(blob.find("spooled")->boolean, text.size() > limits::kBlobMemoryBytes) << name;
  }
}

TEST_F(ControlBlobsTest, LargeOnesLieInAFile) {
  const Running running = start();
  Client client(socket_path());
  const std::string small = kit::random_bytes(limits::kBlobMemoryBytes, 1);
  const std::string large = kit::random_bytes(40 * limits::kMiB + 17, 2);
  const std::string edge = kit::random_bytes(limits::kBlobMemoryBytes + 1, 3);
  // The next request follows at once, and the large one is whole when it is seen.
  ASSERT_TRUE(client.send(
      request_with_blobs("1", "evict", R"({"content":{"$blob":1}})", {small, large, "", edge}) +
      request("2", "status")));
  std::map<std::string, Received> answers;
  for (int i = 0; i < 2; ++i) {
    Received answer = client.expect();
    answers[answer.id()] = std::move(answer);
  }
  const auto& blobs = answers["1"].result().find("blobs")->items;
  ASSERT_EQ(blobs.size(), 4u);
  EXPECT_FALSE(blobs[0].find("spooled")->boolean);
  EXPECT_TRUE(blobs[1].find("spooled")->boolean);
  EXPECT_FALSE(blobs[2].find("spooled")->boolean);
  EXPECT_TRUE(blobs[3].find("spooled")->boolean);
  EXPECT_EQ(blobs[0].find("xxh3")->text, xxh3_128(small).hex());
  EXPECT_EQ(blobs[1].find("xxh3")->text, xxh3_128(large).hex());
  EXPECT_EQ(blobs[3].find("xxh3")->text, xxh3_128(edge).hex());
  // Nothing stays behind but the socket's folder.
  const auto names = std::filesystem::directory_iterator(folder_.path());
  EXPECT_EQ(std::distance(begin(names), end(names)), 1);
}

// Long ones are received where they belong, short ones and their ends by way of a shared buffer.
TEST_F(ControlBlobsTest, ManyInMemoryArriveWholeBesideOthers) {
  const Running running = start();
  Client client(socket_path());
  Client other(socket_path());
  Texts texts;
  uint32_t seed = 10;
  for (const size_t size : {300 * limits::kKiB, limits::kMiB + 3, size_t{0}, 256 * limits::kKiB,
                            size_t{7}, 2 * limits::kMiB}) {
    texts.push_back(kit::random_bytes(size, ++seed));
  }
  const std::string one = request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", texts);
  const std::string bytes =
      one + request_with_blobs("2", "evict", R"({"content":{"$blob":1}})", {texts[1], texts[5]});
  for (size_t at = 0; at < bytes.size(); at += 777'777) {
    ASSERT_TRUE(client.send(bytes.substr(at, 777'777)));
    EXPECT_EQ(other.call(request("3", "status")).id(), "3");
  }
  for (int answers = 0; answers < 2; ++answers) {
    const Received answer = client.expect();
    const Texts sent = answer.id() == "1" ? texts : Texts{texts[1], texts[5]};
    const auto& blobs = answer.result().find("blobs")->items;
    ASSERT_EQ(blobs.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(blobs[i].find("xxh3")->text, xxh3_128(sent[i]).hex()) << i;
    }
  }
}

TEST_F(ControlBlobsTest, FailedSpoolCostsOneRequest) {
  options_.spool_folder = "/proc/no-such-folder";
  const Running running = start();
  Client client(socket_path());
  const std::string large(limits::kBlobMemoryBytes + 1, '\n');
  ASSERT_TRUE(
      client.send(request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", {large, large})));
  const Received answer = client.expect();
  EXPECT_EQ(answer.id(), "1");
  EXPECT_EQ(answer.error_name(), "io_error");
  EXPECT_EQ(answer.error_text().find("/proc"), std::string::npos) << answer.error_text();
  EXPECT_EQ(client.call(request_with_blobs("2", "evict", R"({"content":{"$blob":0}})", {"x"})).id(),
            "2");
}

TEST_F(ControlBlobsTest, FullDiskIsNoSpace) {
  // In a mount namespace of its own, so that nothing is left behind however the test ends.
  options_.spool_folder = folder_.path() + "/small";
  std::filesystem::create_directory(options_.spool_folder);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", options_.spool_folder.c_str(), "tmpfs", 0, "size=10m,mode=700") != 0) {
    GTEST_SKIP() << "a small file system needs the right to mount: " << std::strerror(errno);
  }
  Running running = start();
  Client client(socket_path());
  const std::string large(limits::kBlobMemoryBytes + 4 * limits::kMiB, 'x');
  const Received answer =
      client.call(request_with_blobs("1", "evict", R"({"content":{"$blob":0}})", {large}));
  EXPECT_EQ(answer.error_name(), "no_space");
  const std::string fits(limits::kBlobMemoryBytes + 5, 'y');
  EXPECT_EQ(client.call(request_with_blobs("2", "evict", R"({"content":{"$blob":0}})", {fits}))
                .error_name(),
            "");
  running.stop();
  EXPECT_EQ(::umount(options_.spool_folder.c_str()), 0);
}

TEST_F(ControlBlobsTest, BlobsOfARefusedRequestAreNoRequests) {
  const Running running = start();
  Client client(socket_path());
  const std::string hostile = request("666", "status");
  for (const char* method : {"no.such", "status", "evict"}) {
    ASSERT_TRUE(client.send(request_with_blobs("1", method, R"({"x":1})", {hostile, hostile})));
    const Received answer = client.expect();
    EXPECT_EQ(answer.id(), "1");
    EXPECT_NE(answer.error_name(), "");
  }
  EXPECT_EQ(client.call(request("2", "status")).id(), "2");
  // Where their sizes cannot be known the connection ends.
  for (const char* line : {R"({"jsonrpc":"2.0","id":1,"method":"evict","blobs":[29],,})",
                           R"({"jsonrpc":"2.0","id":1,"method":"evict","blobs":"29"})",
                           "{\"tool\":\"\xff\",\"blobs\":[29]}"}) {
    Client other(socket_path());
    ASSERT_TRUE(other.send(std::string(line) + "\n" + hostile));
    EXPECT_LE(other.expect().error_code(), -32600) << line;
    EXPECT_FALSE(other.receive().has_value()) << line;
  }
}

// A client need not send 64 GiB to learn that they are not wanted.
TEST_F(ControlBlobsTest, ARefusalComesBeforeTheBlobs) {
  const Running running = start();
  const Texts many(limits::kBlobsPerRequest + 1, "four");
  const std::string whole[] = {request_with_blobs("1", "evict", "{}", many),
                               request_with_blobs("1", "no.such", "{}", {"four"}),
                               request_with_blobs("1", "evict", R"({"bogus":1})", {"four"})};
  const char* const names[] = {"too_large", "method_not_found", "invalid_params"};
  for (size_t i = 0; i < std::size(whole); ++i) {
    const size_t line = whole[i].find('\n') + 1;
    Client client(socket_path());
    ASSERT_TRUE(client.send(whole[i].substr(0, line)));
    const Received answer = client.expect();
    EXPECT_EQ(answer.id(), "1");
    EXPECT_EQ(answer.error_name(), names[i]);
    // Who sends them all the same goes on behind them.
    ASSERT_TRUE(client.send(whole[i].substr(line) + request("2", "status")));
    EXPECT_EQ(client.expect().id(), "2");
    // Who ends instead has been answered.
    ASSERT_TRUE(client.send(whole[i].substr(0, line + 2)));
    EXPECT_EQ(client.expect().error_name(), names[i]);
    client.shut_write();
    EXPECT_FALSE(client.receive().has_value());
  }
}

TEST_F(ControlBlobsTest, UsedUpMemorySpoolsSmallOnesToo) {
  target_.on("evict", [&](std::shared_ptr<Request> given, Responder respond) {
    gate_.pass();
    respond(describe(*given));
  });
  const Running running = start(16);
  constexpr size_t kEach = 2 * limits::kMiB;
  const std::string blob(kEach, 'b');
  std::vector<std::unique_ptr<Client>> clients;
  const std::vector<std::string> blobs(9, blob);
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Client>(socket_path()));
    const std::string params =
        "{\"content\":{\"$blob\":0},\"session\":\"" + std::to_string(i) + "\"}";
    ASSERT_TRUE(clients.back()->send(request_with_blobs("1", "evict", params, blobs)));
  }
  gate_.await_arrivals(8);
  gate_.open();
  size_t spooled = 0;
  for (auto& client : clients) {
    const Received answer = client->expect();
    for (const Json& seen : answer.result().find("blobs")->items) {
      EXPECT_EQ(seen.find("xxh3")->text, xxh3_128(blob).hex());
      spooled += seen.find("spooled")->boolean ? 1u : 0u;
    }
  }
  EXPECT_EQ(spooled, 8 * 9 - limits::kBlobMemoryTotalBytes / kEach);
}

TEST_F(ControlBlobsTest, DescriptorsComeWithTheirRequest) {
  const Running running = start();
  Client client(socket_path());
  const UniqueFd one = file("one");
  const UniqueFd two = file("two");
  ASSERT_TRUE(client.send_with(evict_fd("1", 0), {one.get()}));
  EXPECT_EQ(fds_of(client.expect()), Texts{"one"});
  ASSERT_TRUE(client.send_with(evict_fd("2", 1), {one.get(), two.get()}));
  EXPECT_EQ(fds_of(client.expect()), (Texts{"one", "two"}));
  // In several groups, in their order.
  const std::string line = evict_fd("3", 1);
  ASSERT_TRUE(client.send_with(line.substr(0, 5), {two.get()}));
  ASSERT_TRUE(client.send_with(line.substr(5), {one.get()}));
  EXPECT_EQ(fds_of(client.expect()), (Texts{"two", "one"}));
  EXPECT_EQ(client.call(evict_fd("4", 0)).error_code(), -32602);
}

// The server's thread is kept busy or asleep between, so it reads several sends at once.
TEST_F(ControlBlobsTest, DescriptorsAreNeverAnotherRequests) {
  const Running running = start();
  const UniqueFd one = file("one");
  const UniqueFd two = file("two");
  for (int round = 0; round < 300; ++round) {
    Client client(socket_path());
    ASSERT_TRUE(client.send(evict_fd("1", 0)));  // has none
    ASSERT_TRUE(client.send(request("2", "status")));
    ASSERT_TRUE(client.send_with(evict_fd("3", 0), {one.get()}));
    ASSERT_TRUE(client.send_with(request("4", "status"), {two.get()}));  // has no use for it
    ASSERT_TRUE(client.send(evict_fd("5", 0)));
    ASSERT_TRUE(client.send_with(
        request_with_blobs("6", "evict", R"({"content":{"$fd":0}})", {"a\nb\n"}), {two.get()}));
    std::map<std::string, Received> answers;
    for (int i = 0; i < 6; ++i) {
      Received answer = client.expect();
      answers[answer.id()] = std::move(answer);
    }
    EXPECT_EQ(answers["1"].error_code(), -32602);
    EXPECT_EQ(fds_of(answers["2"]), Texts{});
    EXPECT_EQ(fds_of(answers["3"]), Texts{"one"});
    EXPECT_EQ(fds_of(answers["4"]), Texts{"two"});
    EXPECT_EQ(answers["5"].error_code(), -32602);
    EXPECT_EQ(fds_of(answers["6"]), Texts{"two"});
  }
}

TEST_F(ControlBlobsTest, TooManyDescriptorsAreRefusedAndClosed) {
  const Running running = start();
  Client client(socket_path());
  const UniqueFd one = file("one");
  client.call(request("0", "status"));
  const size_t before = open_descriptors();
  for (const size_t count : {limits::kFdsPerRequest, limits::kFdsPerRequest + 1, size_t{253}}) {
    const std::vector<int> many(count, one.get());
    ASSERT_TRUE(client.send_with(evict_fd("1", 0), many));
    const Received answer = client.expect();
    EXPECT_EQ(answer.error_name(), count > limits::kFdsPerRequest ? "too_large" : "") << count;
  }
  EXPECT_EQ(client.call(request("2", "status")).id(), "2");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ControlBlobsTest, DescriptorsOfTheDeadAreClosed) {
  const Running running = start();
  const UniqueFd one = file("one");
  expect_alive();
  while (server().counters().connections != 0) std::this_thread::yield();
  const size_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    Client client(socket_path());
    ASSERT_TRUE(client.send_with("{\"half", {one.get(), one.get()}));
  }
  expect_alive();
  while (server().counters().connections != 0) std::this_thread::yield();
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace ebla::daemon
