#include "tests/bench/places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "schema/base/fd.h"

namespace ebla::bench {
namespace {

std::string new_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) die("mkdir " + path);
  return path;
}

void print_ratio(const char* number, const std::string& what, const Samples& ours,
                 const Place& floor, const Samples& theirs, double most) {
  const double ratio = ours.median() / theirs.median();
  print({number, what, fmt::format("{:.2f} ms", ours.median() * 1e3),
         fmt::format("{} {:.2f} ms", floor.name, theirs.median() * 1e3),
         fmt::format("{:.2f} x", ratio), fmt::format("<= {:.1f} x", most), ratio <= most});
}

}  // namespace

Places::Places(const Settings& settings, const WorkFolder& folder, const std::string& row)
    : daemon_(std::make_unique<Daemon>(settings.eblad, folder, row)) {
  all_.push_back({"ext4", new_folder(folder / (row + ".ext4"))});
  all_.push_back({"ebla", new_folder(daemon_->mount + "/work")});
  if (settings.passthrough.empty()) return;
  const std::string below = new_folder(folder / (row + ".below"));
  const std::string mount = new_folder(folder / (row + ".hp"));
  passthrough_.emplace(std::vector<std::string>{settings.passthrough, "--foreground", below, mount},
                       9, mount);
  all_.push_back({"passthrough_hp", new_folder(mount + "/work")});
}

void Timings::round(const std::function<void(const Place&)>& work) {
  for (size_t i = 0; i < samples_.size(); ++i) {
    samples_[i].add(seconds([&] { work(places_.all()[i]); }));
  }
}

void Timings::print(const char* number, const std::string& what, double most_ext4,
                    double most_passthrough) const {
  const std::vector<Place>& places = places_.all();
  if (most_ext4 > 0) print_ratio(number, what, samples_[1], places[0], samples_[0], most_ext4);
  if (most_passthrough == 0) return;
  if (places.size() > 2) {
    print_ratio(number, what, samples_[1], places[2], samples_[2], most_passthrough);
  } else {
    bench::print({number, what, fmt::format("{:.2f} ms", samples_[1].median() * 1e3),
                  "passthrough_hp: give --passthrough", "-",
                  fmt::format("<= {:.1f} x", most_passthrough), false});
  }
}

void run(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid || status != 0) {
    die(command[0] + " did not succeed");
  }
}

void drop_pages_below(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    UniqueFd file = must(open_file(entry.path(), O_RDONLY), "open");
    if (::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) die("fadvise");
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  UniqueFd file = must(open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), "open " + path);
  if (!write_full(file.get(), bytes)) die("write " + path);
}

}  // namespace ebla::bench
