// P15: what a store of 1,000,000 files costs beside an empty one: start, first lookups, putting
// away.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "schema/base/clock.h"
#include "schema/sqlite/open.h"
#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr size_t kFolders = 1000;
constexpr size_t kFilesEach = 1000;
constexpr size_t kLookups = 1000;
constexpr size_t kPuts = 200;
constexpr size_t kPutBytes = 100'000;

std::string file_path(size_t folder, size_t file) {
  return fmt::format("d{}/f{}", folder, file);
}

CreatePlan plan_of(Ino parent, std::string name, bool folder) {
  CreatePlan plan;
  plan.parent = parent;
  plan.name = std::move(name);
  plan.kind = folder ? NodeKind::directory : NodeKind::file;
  plan.mode = folder ? 0700 : 0600;
  plan.uid = geteuid();
  plan.gid = getegid();
  return plan;
}

// Written without a daemon: many changes in one transaction.
void fill_store(const std::string& path) {
  SystemClock clock;
  sqlite::OpenOptions options;
  options.path = path;
  options.uid = geteuid();
  options.gid = getegid();
  options.clock = &clock;
  const auto store = must(sqlite::open_store(options), "open the store");
  for (size_t d = 0; d < kFolders; ++d) {
    std::promise<Result<Attr>> made;
    store->create(plan_of(store->root(), fmt::format("d{}", d), true), {},
                  [&](Result<Attr> attr, const ChangeSet&) { made.set_value(std::move(attr)); });
    const Ino folder = must(made.get_future().get(), "create").ino;
    for (size_t f = 0; f < kFilesEach; ++f) {
      store->create(plan_of(folder, fmt::format("f{}", f), false), {},
                    [](Result<Attr>, const ChangeSet&) {});
    }
    std::promise<Result<void>> synced;
    store->sync({},
                [&](Result<void> done, const ChangeSet&) { synced.set_value(std::move(done)); });
    if (auto done = synced.get_future().get(); !done) die("sync: " + done.error().text);
  }
}

// The first look at files all over the tree, microseconds each.
double lookup_us(const Daemon& daemon, size_t folders) {
  std::mt19937 random(15);
  const double time = seconds([&] {
    for (size_t i = 0; i < kLookups; ++i) {
      struct stat info{};
      const std::string path =
          daemon.mount + "/" + file_path(random() % folders, random() % kFilesEach);
      if (::stat(path.c_str(), &info) != 0) die("stat " + path);
    }
  });
  return time * 1e6 / kLookups;
}

void put_away(tools::Client& client, uint64_t seed, Samples& samples) {
  const std::string text = distinct_text(kPutBytes, seed);
  const std::string params = fmt::format(R"({{"id":"put-{}","content":{{"$blob":0}}}})", seed);
  samples.add(
      seconds([&] { must(client.call("evict", params, {.blobs = {text}, .fds = {}}), "evict"); }));
}

void print_start(const char* what, double time, double most) {
  print({"P15", what, fmt::format("{:.3f} s", time), "-", "-", fmt::format("<= {:.2f} s", most),
         time <= most});
}

void print_beside(const char* what, double large, double empty, const char* unit) {
  print({"P15", what, fmt::format("{:.1f} {}", large, unit),
         fmt::format("nearly empty store {:.1f} {}", empty, unit),
         fmt::format("{:.2f} x", large / empty), "<= 1.2 x", large <= 1.2 * empty});
}

}  // namespace

void row_large_store(const Settings& settings, const WorkFolder& folder) {
  fill_store(folder / "p15.db");
  std::optional<Daemon> large;
  const auto start = [&] { large.emplace(settings.eblad, folder, "p15"); };
  start();
  large.reset();
  print_start("start, 1,000,000 files, after a clean stop", seconds(start), 0.15);
  if (::kill(large->child.pid(), SIGKILL) != 0) die("kill");
  large.reset();
  print_start("the same after a kill", seconds(start), 1);

  Daemon small(settings.eblad, folder, "p15-small");
  if (::mkdir((small.mount + "/d0").c_str(), 0700) != 0) die("mkdir");
  for (size_t f = 0; f < kFilesEach; ++f) {
    if (::mknod((small.mount + "/" + file_path(0, f)).c_str(), S_IFREG | 0600, 0) != 0)
      die("mknod");
  }
  auto to_large = must(tools::Client::connect(large->socket), "connect");
  auto to_small = must(tools::Client::connect(small.socket), "connect");
  Samples large_puts;
  Samples small_puts;
  for (size_t i = 0; i < kPuts; ++i) {
    put_away(to_large, i, large_puts);
    put_away(to_small, i, small_puts);
  }
  print_beside("put away 100 KB", large_puts.median() * 1e3, small_puts.median() * 1e3, "ms");
  print_beside("a first lookup", lookup_us(*large, kFolders), lookup_us(small, 1), "us");
}

}  // namespace ebla::bench
