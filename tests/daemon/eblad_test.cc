#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

using EbladTest = EbladFixture;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // keeps freed memory for a while
#else
constexpr bool kSanitized = false;
#endif

TEST_F(EbladTest, WhatIsPutAwayIsReadFromTheMount) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const std::string path = mount_ + "/large_tool_results/call_1";
  EXPECT_NE(::access(path.c_str(), F_OK), 0);  // the kernel remembers that it is not there
  const std::string text = kit::numbered_rows(240'000);
  const Json gone = client.must("evict", evict_params("call_1", R"(,"tool":"bash")"), {text});
  EXPECT_EQ(text_of(gone, "host_path"), path);
  EXPECT_NE(text_of(gone, "replacement").find(path), std::string::npos);
  EXPECT_EQ(whole_file(path), text);
  const auto sum = kit::shell("xxh128sum " + path + " 2>/dev/null || true");
  if (!sum.output.empty()) {
    EXPECT_EQ(sum.output.substr(0, 32), xxh3_128(text).hex());
  }
  EXPECT_EQ(kit::shell("sed -n '101,102p' " + path).output, "row 101\nrow 102\n");
  EXPECT_EQ(kit::shell("ls " + mount_ + "/large_tool_results").output, "call_1\n");
  EXPECT_EQ(
      text_of(client.must("fs.read", "{\"path\":" + json_string(path) + ",\"limit\":1}"), "text"),
      "row 1\n");
  // rm leaves an explanation.
  EXPECT_EQ(kit::shell("rm -f " + path).status, 0);
  const auto read = client.call("fs.read", "{\"path\":" + json_string(path) + "}");
  EXPECT_EQ(read.error, "file_not_found");
  EXPECT_NE(read.text.find("removed"), std::string::npos) << read.text;
  // The same content again fills it again, in the same place.
  const Json again = client.must("evict", evict_params("call_1", R"(,"tool":"bash")"), {text});
  EXPECT_TRUE(flag_of(again, "known"));
  EXPECT_EQ(text_of(again, "replacement"), text_of(gone, "replacement"));
  EXPECT_EQ(whole_file(path), text);
  // Where the mount is read, and a file of it handed in: from the store.
  auto from_mount =
      client.call("evict", R"({"id":"copy","content":{"$path":)" + json_string(path) + "}}");
  ASSERT_TRUE(from_mount.result) << from_mount.text;
  EXPECT_EQ(text_of(*from_mount.result, "same_as"), "/large_tool_results/call_1");
}

TEST_F(EbladTest, TheLiteralMountPointsWork) {
  EBLA_NEED_DEVICE();
  const std::string results = folder_ / "results";
  const std::string histories = folder_ / "histories";
  ASSERT_EQ(::mkdir(results.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir(histories.c_str(), 0700), 0);
  Eblad::Setup setup = unmounted();
  setup.arguments = {"--mount", "/large_tool_results=" + results, "--mount",
                     "/conversation_history=" + histories};
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const Json gone = client.must("evict", evict_params("c"), {kit::prose(90'000)});
  EXPECT_EQ(text_of(gone, "host_path"), results + "/c");
  EXPECT_EQ(whole_file(results + "/c"), kit::prose(90'000));
  EXPECT_EQ(::access((histories + "/default.md").c_str(), F_OK), 0);
}

TEST_F(EbladTest, ARestartKeepsFilesAndDecisions) {
  const std::string text = kit::numbered_rows(240'000);
  std::string replacement;
  {
    Eblad eblad(unmounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    Client client(socket_);
    replacement = text_of(client.must("evict", evict_params("c", R"(,"session":"s")"), {text}),
                          "replacement");
    EXPECT_EQ(eblad.stop(), 0) << eblad.log();
    EXPECT_NE(::access(socket_.c_str(), F_OK), 0);
  }
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const Json again = client.must("evict", evict_params("c", R"(,"session":"s")"), {text});
  EXPECT_TRUE(flag_of(again, "known"));
  EXPECT_EQ(text_of(again, "replacement"), replacement);
  EXPECT_EQ(read_all(client, text_of(again, "path")), text);
}

TEST_F(EbladTest, ASecondDaemonIsRefusedAndNamesTheFirst) {
  Eblad first(unmounted());
  ASSERT_TRUE(first.ready()) << first.log();
  Eblad::Setup setup = unmounted();
  setup.socket = folder_ / "run/other.sock";
  Eblad second(setup);
  EXPECT_FALSE(second.ready());
  EXPECT_EQ(second.wait(), kExitStoreLocked);
  EXPECT_NE(second.log().find(std::to_string(first.pid())), std::string::npos) << second.log();
  EXPECT_EQ(std::ranges::count(second.log(), '\n'), 1) << second.log();

  setup = unmounted();
  setup.store = folder_ / "state/other.db";
  Eblad third(setup);
  EXPECT_EQ(third.wait(), kExitSocketInUse) << third.log();
  Client client(socket_);
  client.must("status", "{}");
}

// A client that keeps evicting while the daemon is killed: what was acknowledged is there, whole.
TEST_F(EbladTest, EveryAcknowledgedEvictionSurvivesKill) {
  const char* wanted = std::getenv("EBLA_KILL_ROUNDS");
  const int rounds = wanted == nullptr ? 10 : std::atoi(wanted);
  std::mt19937_64 random(11);
  std::map<std::string, uint64_t> acknowledged;  // path to seed
  uint64_t seed = 0;
  const auto text_for = [](uint64_t number) {
    return "content " + std::to_string(number) + "\n" +
           kit::numbered_rows(81'000 + number * 7919 % 200'000);
  };
  for (int round = 0; round < rounds; ++round) {
    Eblad eblad(unmounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    const uint64_t acks_before_kill = random() % 12;
    Client client(socket_);
    for (uint64_t acks = 0; acks < acks_before_kill; ++acks, ++seed) {
      const auto answer =
          client.call("evict", evict_params("c" + std::to_string(seed)), {text_for(seed)});
      ASSERT_TRUE(answer.result) << answer.error;
      acknowledged[text_of(*answer.result, "path")] = seed;
    }
    // Three more are under way when it dies; which of them are answered is chance.
    const uint64_t first = seed;
    for (int i = 0; i < 3; ++i, ++seed) {
      client.send("evict", evict_params("c" + std::to_string(seed)), {text_for(seed)});
    }
    eblad.kill_hard();
    for (auto answer = client.receive(); answer.error != "closed"; answer = client.receive()) {
      const std::string path = text_of(*answer.result, "path");
      for (uint64_t number = first; number < seed; ++number) {
        if (path.ends_with("/c" + std::to_string(number))) acknowledged[path] = number;
      }
    }
  }
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  EXPECT_FALSE(acknowledged.empty());
  for (const auto& [path, number] : acknowledged) {
    EXPECT_EQ(read_all(client, path), text_for(number)) << path;
  }
}

TEST_F(EbladTest, SigtermEndsInOrderWithAFileOpenInside) {
  EBLA_NEED_DEVICE();
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  client.must("evict", evict_params("c"), {kit::prose(90'000)});
  const UniqueFd open(::open((mount_ + "/large_tool_results/c").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(open);
  EXPECT_EQ(eblad.stop(), 0) << eblad.log();
}

TEST_F(EbladTest, SigtermCutsAQuietPipeAndKeepsNothingOfIt) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_TRUE(write_full(ends[1], "begun\n"));
  ASSERT_TRUE(client.send("evict", R"({"content":{"$fd":0},"force":true,"id":"p"})", {}, ends[0]));
  // The call has been taken when another one of the connection is answered.
  Client other(socket_);
  other.must("stats", "{}");
  EXPECT_EQ(eblad.stop(), 0) << eblad.log();
  const auto answer = client.receive();
  EXPECT_TRUE(answer.error == "unavailable" || answer.error == "closed") << answer.error;
  ::close(ends[0]);
  ::close(ends[1]);
  Eblad again(unmounted());
  Client third(socket_);
  EXPECT_EQ(third.call("fs.stat", R"({"path":"/large_tool_results/p"})").error, "file_not_found");
}

TEST_F(EbladTest, QuietPipesHoldUpNobody) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  std::vector<std::unique_ptr<Client>> waiting;
  std::vector<UniqueFd> fds;
  for (int i = 0; i < 20; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    fds.emplace_back(ends[0]);
    fds.emplace_back(ends[1]);
    waiting.push_back(std::make_unique<Client>(socket_));
    ASSERT_TRUE(waiting.back()->send(
        "evict", "{\"content\":{\"$fd\":0},\"session\":\"s" + std::to_string(i) + "\"}", {},
        ends[0]));
  }
  Client client(socket_);
  const std::string large = kit::numbered_rows(3'000'000);
  client.must("evict", evict_params("large"), {large});
  EXPECT_EQ(read_all(client, "/large_tool_results/large"), large);
}

TEST_F(EbladTest, ALargeContentByDescriptorTakesLittleMemory) {
  Eblad eblad(unmounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  const int file = ::memfd_create("content", MFD_CLOEXEC);
  const std::string slice = kit::numbered_rows(8 << 20);
  constexpr int kSlices = 12;
  for (int i = 0; i < kSlices; ++i) ASSERT_TRUE(write_full(file, slice));
  Client client(socket_);
  const auto answer = client.call("evict", R"({"content":{"$fd":0},"id":"huge"})", {}, file);
  ASSERT_TRUE(answer.result) << answer.text;
  EXPECT_EQ(number_of(*answer.result, "size"), slice.size() * kSlices);
  const std::string status = whole_file("/proc/" + std::to_string(eblad.pid()) + "/status");
  const size_t at = status.find("VmHWM:");
  ASSERT_NE(at, std::string::npos);
  const long peak_kib = std::strtol(status.c_str() + at + 6, nullptr, 10);
  if (!kSanitized) {
    EXPECT_LT(peak_kib, 64 * 1024) << status;
  }
  const Json page =
      client.must("fs.read", R"({"path":"/large_tool_results/huge","offset":9000000,"limit":1})");
  EXPECT_EQ(number_of(page, "size"), slice.size() * kSlices);
  ::close(file);
}

}  // namespace
}  // namespace ebla::daemon
