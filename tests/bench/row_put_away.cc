// P1: one client puts 240 KB away, durable when answered, against the same bytes written to a new
// file and fsynced on the same file system; paced, interleaved, one after the other.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "schema/base/fd.h"
#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr size_t kBytes = 240'000;
constexpr int kPaceUs = 10'000;

void write_and_fsync(const std::string& path, const std::string& text) {
  UniqueFd file = must(open_file(path, O_WRONLY | O_CREAT | O_EXCL, 0600), "open");
  if (!write_full(file.get(), text) || ::fsync(file.get()) != 0) die("write and fsync");
}

void put_away(tools::Client& client, const std::string& text, uint64_t number) {
  const std::string params =
      fmt::format(R"({{"session":"bench","id":"call_{}","content":{{"$blob":0}}}})", number);
  auto reply = must(client.call("evict", params, {.blobs = {text}, .fds = {}}), "evict");
  const Json* evicted = reply.result.find("evicted");
  if (evicted == nullptr || !evicted->boolean) die("240 KB were not put away");
}

}  // namespace

void row_put_away(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p1");
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  Samples ours;
  Samples ext4;
  const unsigned warm_up = settings.rounds / 10 + 1;
  for (unsigned round = 0; round < settings.rounds + warm_up; ++round) {
    const std::string text = distinct_text(kBytes, round + 1);
    const std::string path = folder / fmt::format("p1-{}", round);
    const double mine = seconds([&] { put_away(client, text, round); });
    ::usleep(kPaceUs);
    const double floor = seconds([&] { write_and_fsync(path, text); });
    ::usleep(kPaceUs);
    ::unlink(path.c_str());
    if (round < warm_up) continue;
    ours.add(mine * 1e3);
    ext4.add(floor * 1e3);
  }
  const double middle = ours.median() / ext4.median();
  const double high = ours.percentile(0.99) / ext4.percentile(0.99);
  print({"P1", "put away 240 KB, durable, paced: p50", fmt::format("{:.2f} ms", ours.median()),
         fmt::format("file + fsync {:.2f} ms", ext4.median()), fmt::format("{:.2f} x", middle),
         "<= 1.6 x", middle <= 1.6});
  print({"P1", "put away 240 KB, durable, paced: p99",
         fmt::format("{:.2f} ms", ours.percentile(0.99)),
         fmt::format("file + fsync {:.2f} ms", ext4.percentile(0.99)),
         fmt::format("{:.2f} x", high), "<= 5 x", high <= 5});
}

}  // namespace ebla::bench
