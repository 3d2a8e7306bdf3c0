// P17: anonymous memory of an idle daemon, and at most while 1 GB passes through it.
// P20: length of the notice without its preview.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "schema/base/fd.h"
#include "schema/base/utf8.h"
#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr size_t kGigabyte = 1u << 30;

UniqueFd gigabyte_file(const WorkFolder& folder) {
  UniqueFd file = must(open_file(folder / "p17-source", O_RDWR | O_CREAT, 0600), "open");
  const std::string piece = distinct_text(16u << 20, 17);
  for (size_t done = 0; done < kGigabyte; done += piece.size()) {
    if (!write_full(file.get(), piece)) die("write");
  }
  return file;
}

double mib(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

void row_memory(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p17");
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  must(client.call("evict", R"({"id":"small","content":"short"})"), "evict");
  const uint64_t idle = anonymous_bytes(daemon.child.pid());
  print({"P17", "anonymous memory, idle", fmt::format("{:.1f} MiB", mib(idle)), "-", "-",
         "<= 20 MB", mib(idle) <= 20});

  UniqueFd file = gigabyte_file(folder);
  std::atomic<bool> finished{false};
  std::atomic<uint64_t> peak{0};
  std::jthread watch([&] {
    while (!finished) {
      peak = std::max(peak.load(), anonymous_bytes(daemon.child.pid()));
      ::usleep(5'000);
    }
  });
  const double time = seconds([&] {
    must(client.call("evict", R"({"id":"giga","content":{"$fd":0}})",
                     {.blobs = {}, .fds = {file.get()}}),
         "evict");
  });
  finished = true;
  watch = {};
  print({"P17", "the same while 1 GB passes through", fmt::format("{:.1f} MiB", mib(peak)),
         fmt::format("1 GiB put away in {:.1f} s", time), "-", "<= 64 MB", mib(peak) <= 64});
}

void row_notice(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p20");
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  size_t longest = 0;
  for (const char* tool : {"make", "mcp__some_server__a_tool_with_a_long_name"}) {
    const std::string text = distinct_text(240'000, longest + 3);
    const std::string params = fmt::format(
        R"({{"id":"toolu_01A09q90qw90lq917835lq9_{}","tool":"{}","content":{{"$blob":0}}}})",
        longest, tool);
    auto reply = must(client.call("evict", params, {.blobs = {text}, .fds = {}}), "evict");
    std::string replacement = must(reply.bytes("replacement"), "replacement");
    // The first line of the preview is the first that carries the gutter of line 1.
    const size_t gutter = replacement.find(" 1| ");
    if (gutter == std::string::npos) die("the replacement shows no first line");
    const size_t preview = replacement.rfind('\n', gutter);
    longest = std::max(longest, utf8::count(std::string_view(replacement).substr(0, preview)));
  }
  print({"P20", "notice without preview", fmt::format("{} characters", longest), "-", "-", "<= 400",
         longest <= 400});
}

}  // namespace ebla::bench
