// P18: bytes on disk for bytes that are kept.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "tests/bench/places.h"

namespace ebla::bench {
namespace {

constexpr size_t kTexts = 100;
constexpr unsigned kPauseUs = 50'000;  // an agent works between two results
constexpr size_t kTextBytes = 1'000'000;

double megabytes(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<double>(info.st_size) / 1e6 : 0;
}

// Space that was freed is given back while nothing else is to be done.
void settle(const std::string& store) {
  constexpr int kMostTenths = 600;
  constexpr int kQuietTenths = 20;
  double before = megabytes(store);
  for (int tenth = 0, quiet = 0; tenth < kMostTenths && quiet < kQuietTenths; ++tenth) {
    ::usleep(100'000);
    const double now = megabytes(store);
    quiet = now == before ? quiet + 1 : 0;
    before = now;
  }
}

void print_size(const std::string& what, double stored, double raw, double most) {
  print({"P18", what, fmt::format("{:.1f} MB", stored), fmt::format("{:.1f} MB kept", raw),
         fmt::format("{:.2f} x", stored / raw), fmt::format("<= {:.2f} x", most),
         stored <= most * raw});
}

void put_texts(const Settings& settings, const WorkFolder& folder) {
  double log = 0;
  std::string store;
  {
    const Daemon daemon(settings.eblad, folder, "p18-texts");
    store = daemon.store;
    auto client = must(tools::Client::connect(daemon.socket), "connect");
    for (size_t i = 0; i < kTexts; ++i) {
      const std::string text = distinct_text(kTextBytes, i + 1);
      const std::string params = fmt::format(R"({{"id":"text-{}","content":{{"$blob":0}}}})", i);
      must(client.call("evict", params, {.blobs = {text}, .fds = {}}), "evict");
      log = std::max(log, megabytes(store + "-wal"));
      ::usleep(kPauseUs);
    }
  }
  const double raw = kTexts * kTextBytes / 1e6;
  print_size("store of 100 MB of distinct texts", megabytes(store), raw, 1.05);
  print(
      {"P18", "its log, at most", fmt::format("{:.1f} MB", log), "-", "-", "<= 32 MB", log <= 32});
}

void write_small_files(const Settings& settings, const WorkFolder& folder) {
  constexpr size_t kFiles = 20'000;
  std::string store;
  double raw = 0;
  {
    const Daemon daemon(settings.eblad, folder, "p18-small");
    store = daemon.store;
    const std::string text = distinct_text(8192, 18);
    for (size_t i = 0; i < kFiles; ++i) {
      const std::string at = fmt::format("{}/d{}", daemon.mount, i / 100);
      if (i % 100 == 0 && ::mkdir(at.c_str(), 0700) != 0) die("mkdir");
      const std::string_view bytes = std::string_view(text).substr(i % 4096, 500 + i % 7000);
      write_file(fmt::format("{}/f{}", at, i), bytes);
      raw += static_cast<double>(bytes.size()) / 1e6;
    }
  }
  print_size("store of 20,000 files of 4 KB", megabytes(store), raw, 1.15);
}

void write_and_delete(const Settings& settings, const WorkFolder& folder) {
  constexpr size_t kFiles = 64;
  std::string store;
  double most = 0;
  {
    const Daemon daemon(settings.eblad, folder, "p18-churn");
    store = daemon.store;
    for (size_t round = 0; round < 5; ++round) {
      for (size_t i = 0; i < kFiles; ++i) {
        const std::string path = fmt::format("{}/f{}", daemon.mount, i);
        if (round > 0 && ::unlink(path.c_str()) != 0) die("unlink");
        write_file(path, distinct_text(kTextBytes, round * kFiles + i + 1));
      }
    }
    most = megabytes(store);
    settle(store);
  }
  print_size("5 rounds of writing and deleting, at their end", most, kFiles * kTextBytes / 1e6,
             1.2);
  print_size("the same a little later", megabytes(store), kFiles * kTextBytes / 1e6, 1.2);
}

}  // namespace

void row_size(const Settings& settings, const WorkFolder& folder) {
  put_texts(settings, folder);
  write_small_files(settings, folder);
  write_and_delete(settings, folder);
}

}  // namespace ebla::bench
