// P4, P5: sequential read of a 64 MB file through the mount, cold (pages dropped) and warm, against
// passthrough_hp over ext4 and against nullfs, our own flags without a store.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr size_t kBytes = 64u << 20;
constexpr int kRounds = 9;

double megabytes_per_second(const std::string& path) {
  static std::vector<char> buffer(1u << 20);
  UniqueFd file = must(open_file(path, O_RDONLY), "open");
  size_t total = 0;
  const double time = seconds([&] {
    for (;;) {
      const size_t n = must(read_full(file.get(), buffer.data(), buffer.size()), "read " + path);
      total += n;
      if (n < buffer.size()) break;
    }
  });
  if (total != kBytes) die(path + " is not 64 MB long");
  return static_cast<double>(total) / 1e6 / time;
}

void drop_pages(const std::string& path) {
  UniqueFd file = must(open_file(path, O_RDONLY), "open");
  if (::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) die("fadvise");
}

struct Reader {
  std::string name, path;
  Samples cold, warm;

  void round() {
    drop_pages(path);
    cold.add(megabytes_per_second(path));
    warm.add(megabytes_per_second(path));
  }
};

std::string put_file_away(const Daemon& daemon, const std::string& path) {
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  UniqueFd file = must(open_file(path, O_RDONLY), "open");
  must(client.call("evict", R"({"id":"big","content":{"$fd":0}})",
                   {.blobs = {}, .fds = {file.get()}}),
       "evict");
  return daemon.mount + "/large_tool_results/big";
}

void print_row(const char* number, const char* what, const Samples& ours, const Reader* floor,
               const Samples* floor_samples, double target) {
  if (floor == nullptr) {
    print({number, what, fmt::format("{:.0f} MB/s", ours.median()),
           "passthrough_hp: give --passthrough", "-", fmt::format(">= {:.2f} x", target), false});
    return;
  }
  const double ratio = ours.median() / floor_samples->median();
  print({number, what, fmt::format("{:.0f} MB/s", ours.median()),
         fmt::format("{} {:.0f} MB/s", floor->name, floor_samples->median()),
         fmt::format("{:.2f} x", ratio), fmt::format(">= {:.2f} x", target), ratio >= target});
}

}  // namespace

void row_read(const Settings& settings, const WorkFolder& folder) {
  const std::string source = folder / "source";
  if (::mkdir(source.c_str(), 0700) != 0) die("mkdir");
  {
    UniqueFd file = must(open_file(source + "/big", O_WRONLY | O_CREAT, 0600), "open");
    if (!write_full(file.get(), distinct_text(kBytes, 4))) die("write");
  }
  Daemon daemon(settings.eblad, folder, "p4");
  Reader ours{"ebla", put_file_away(daemon, source + "/big"), {}, {}};

  const std::string null_mount = folder / "null.mount";
  ::mkdir(null_mount.c_str(), 0700);
  Child nullfs({settings.nullfs, null_mount, "1", std::to_string(kBytes)}, 9, null_mount);
  Reader floor{"nullfs", null_mount + "/f0", {}, {}};

  std::optional<Child> passthrough;
  std::optional<Reader> high;
  if (!settings.passthrough.empty()) {
    const std::string mount = folder / "hp.mount";
    ::mkdir(mount.c_str(), 0700);
    passthrough.emplace(
        std::vector<std::string>{settings.passthrough, "--foreground", source, mount}, 9, mount);
    high = Reader{"passthrough_hp", mount + "/big", {}, {}};
  }
  for (int round = 0; round < kRounds; ++round) {
    ours.round();
    floor.round();
    if (high) high->round();
  }
  const Reader* hp = high ? &*high : nullptr;
  print_row("P4", "cold sequential read, 64 MB", ours.cold, hp, hp ? &hp->cold : nullptr, 0.75);
  print_row("P4", "the same against our own floor", ours.cold, &floor, &floor.cold, 0.6);
  print_row("P5", "warm sequential read, 64 MB", ours.warm, hp, hp ? &hp->warm : nullptr, 0.95);
  print_row("P5", "the same against our own floor", ours.warm, &floor, &floor.warm, 0.95);
}

}  // namespace ebla::bench
