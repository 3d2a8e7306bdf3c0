// P6: grep through many files. P7: opening files, listing a large folder. P13: deleting. P14: an
// archive unpacked, git status.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "schema/base/fd.h"
#include "tests/bench/places.h"

namespace ebla::bench {
namespace {

constexpr int kRounds = 5;
constexpr size_t kMegabyte = 1u << 20;

std::string folder_in(const Place& place, std::string_view name) {
  const std::string folder = place.folder + "/" + std::string(name);
  if (::mkdir(folder.c_str(), 0700) != 0) die("mkdir " + folder);
  return folder;
}

// passthrough_hp holds a descriptor for each of them.
constexpr size_t kTreeFiles = 5'000;

// As a source tree, in folders of a hundred.
void make_tree(const std::string& folder) {
  constexpr size_t kInOne = 100;
  const std::string text = distinct_text(4096, 14);
  for (size_t i = 0; i < kTreeFiles; ++i) {
    const std::string at = fmt::format("{}/d{}", folder, i / kInOne);
    if (i % kInOne == 0 && ::mkdir(at.c_str(), 0700) != 0) die("mkdir " + at);
    write_file(fmt::format("{}/f{}", at, i), std::string_view(text).substr(i % 3000));
  }
}

void open_read_close(const std::string& folder, size_t files) {
  std::array<char, 4096> buffer;
  for (size_t i = 0; i < files; ++i) {
    UniqueFd file = must(open_file(fmt::format("{}/f{}", folder, i), O_RDONLY), "open");
    must(read_full(file.get(), buffer.data(), buffer.size()), "read");
  }
}

}  // namespace

void row_grep(const Settings& settings, const WorkFolder& folder) {
  constexpr size_t kFiles = 1000;
  constexpr size_t kBytes = 100'000;
  const Places places(settings, folder, "p6");
  for (const Place& place : places.all()) {
    const std::string in = folder_in(place, "grep");
    for (size_t i = 0; i < kFiles; ++i) {
      std::string text = distinct_text(kBytes, i + 1);
      if (i == kFiles / 2) text.replace(kBytes / 2, 6, "needle");
      write_file(fmt::format("{}/f{}", in, i), text);
    }
    run({"sync", "-f", in});
    run({"grep", "-rF", "needle", in});
  }
  Timings warm(places);
  Timings cold(places);
  const auto grep = [](const Place& place) {
    run({"grep", "-rF", "needle", place.folder + "/grep"});
  };
  for (int round = 0; round < kRounds; ++round) {
    warm.round(grep);
    for (const Place& place : places.all()) drop_pages_below(place.folder + "/grep");
    cold.round(grep);
  }
  warm.print("P6", "grep -rF, 1,000 files of 100 KB, warm", 1.3, 0);
  cold.print("P6", "the same, pages dropped", 0, 0.8);
}

void row_open_and_list(const Settings& settings, const WorkFolder& folder) {
  constexpr size_t kOpened = 1000;
  constexpr size_t kListed = 100'000;
  const Places places(settings, folder, "p7");
  for (const Place& place : places.all()) {
    const std::string opened = folder_in(place, "open");
    for (size_t i = 0; i < kOpened; ++i) write_file(fmt::format("{}/f{}", opened, i), "a line\n");
    const std::string listed = folder_in(place, "list");
    for (size_t i = 0; i < kListed; ++i) write_file(fmt::format("{}/file-{}", listed, i), "");
    run({"sync", "-f", listed});
    run({"ls", "-l", listed});
  }
  Timings open(places);
  Timings names(places);
  Timings all(places);
  for (int round = 0; round < kRounds; ++round) {
    open.round([](const Place& place) { open_read_close(place.folder + "/open", kOpened); });
    names.round([](const Place& place) { run({"ls", place.folder + "/list"}); });
    all.round([](const Place& place) { run({"ls", "-l", place.folder + "/list"}); });
  }
  open.print("P7", "open, read, close 1,000 files", 0, 1.0);
  names.print("P7", "ls of 100,000 files", 3.0, 0);
  all.print("P7", "ls -l of 100,000 files, warm", 2.0, 0);
}

void row_delete(const Settings& settings, const WorkFolder& folder) {
  const Places places(settings, folder, "p13");
  const auto large = [&](size_t megabytes, int rounds) {
    Timings timings(places);
    const std::string piece = distinct_text(16 * kMegabyte, megabytes);
    for (int round = 0; round < rounds; ++round) {
      for (const Place& place : places.all()) {
        UniqueFd file = must(open_file(place.folder + "/big", O_WRONLY | O_CREAT, 0600), "open");
        for (size_t done = 0; done < megabytes; done += 16) {
          if (!write_full(file.get(), piece)) die("write");
        }
        if (::fsync(file.get()) != 0) die("fsync");
      }
      timings.round([](const Place& place) {
        if (::unlink((place.folder + "/big").c_str()) != 0) die("unlink");
      });
    }
    timings.print("P13", fmt::format("rm of one file of {} MB", megabytes), 1.0, 0);
  };
  large(64, kRounds);
  large(1024, 2);
  Timings tree(places);
  for (int round = 0; round < 2; ++round) {
    for (const Place& place : places.all()) make_tree(folder_in(place, "tree"));
    tree.round([](const Place& place) { run({"rm", "-r", place.folder + "/tree"}); });
  }
  tree.print("P13", "rm -r of 5,000 files", 0, 1.0);
}

void row_archive(const Settings& settings, const WorkFolder& folder) {
  const Places places(settings, folder, "p14");
  const std::string source = folder / "p14.source";
  const std::string archive = folder / "p14.tar";
  if (::mkdir(source.c_str(), 0700) != 0) die("mkdir");
  make_tree(source);
  run({"tar", "-cf", archive, "-C", source, "."});
  Timings unpack(places);
  for (int round = 0; round < 3; ++round) {
    for (const Place& place : places.all()) {
      if (round > 0) run({"rm", "-r", place.folder + "/t"});
      folder_in(place, "t");
    }
    unpack.round(
        [&](const Place& place) { run({"tar", "-xf", archive, "-C", place.folder + "/t"}); });
  }
  unpack.print("P14", "tar x of 5,000 small files", 0, 1.0);
  Timings status(places);
  for (const Place& place : places.all()) {
    const std::string in = place.folder + "/t";
    run({"git", "-C", in, "init", "-q"});
    run({"git", "-C", in, "add", "."});
    run({"git", "-C", in, "status", "-s"});
  }
  for (int round = 0; round < kRounds; ++round) {
    status.round(
        [](const Place& place) { run({"git", "-C", place.folder + "/t", "status", "-s"}); });
  }
  status.print("P14", "git status of them, warm", 1.5, 1.0);
}

}  // namespace ebla::bench
