// Listings that the kernel keeps: whoever changes a folder, the next listing shows it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include "schema/path.h"
#include "tests/kit/fill_store.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/shell.h"
#include "tests/mount/open_folder.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

struct Place {
  Ino folder = 0;
  std::string name;
};

Place place_of(Store& store, const std::string& path) {
  const size_t slash = path.rfind('/');
  const auto folder = resolve(store, slash == 0 ? "/" : path.substr(0, slash));
  return {folder ? folder->ino : 0, path.substr(slash + 1)};
}

// What the socket would do: "make PATH", "remove PATH", "move FROM TO". Answers when the mounts
// have been told; "untold-..." tells them nothing, "everything" that anything may have changed.
// "names PATH": what is there.
std::string answer(ChildSide& side, const std::string& question) {
  std::istringstream words(question);
  std::string verb;
  std::string path;
  std::string to;
  words >> verb >> path >> to;
  if (verb == "everything") {
    ChangeSet changes;
    changes.everything = true;
    side.deliver(changes);
    return "";
  }
  if (verb == "names") {
    std::string out;
    const auto folder = resolve(side.store, path);
    const auto entries = side.store.readdir(folder->ino, 0, 100'000);
    for (const DirEntry& entry : *entries) out += entry.name + "\n";
    return out;
  }
  const bool told = !verb.starts_with("untold-");
  if (!told) verb.erase(0, std::string("untold-").size());
  const Place at = place_of(side.store, path);
  const auto done = kit::wait_for<void>([&](Completion<void> finish) {
    if (verb == "make") {
      side.store.create(
          {.parent = at.folder, .name = at.name, .mode = 0600}, {},
          [finish = std::move(finish)](const Result<Attr>& made, const ChangeSet& changes) mutable {
            if (!made) return finish(std::unexpected(made.error()), changes);
            finish({}, changes);
          });
    } else if (verb == "remove") {
      side.store.remove({at.folder, at.name, 0, "test"}, {}, std::move(finish));
    } else {
      const Place target = place_of(side.store, to);
      side.store.rename({.parent = at.folder,
                         .name = at.name,
                         .new_parent = target.folder,
                         .new_name = target.name,
                         .mode = {}},
                        {}, std::move(finish));
    }
  });
  if (!done.result) return done.result.error().text;
  if (told) side.deliver(done.changes);
  return "";
}

Names truth(MountedChild& child, const std::string& path) {
  std::istringstream lines(child.ask("names " + path));
  Names out;
  for (std::string name; std::getline(lines, name);) out.insert(name);
  return out;
}

// A folder of `count` files. Of a large one the kernel knows the names of the first part alone: of
// the rest it has been told names without nodes.
void fill(const std::string& folder, int count) {
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  for (int i = 0; i < count; ++i) {
    const int fd = open(fmt::format("{}/f{}", folder, i).c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
  }
}

TEST(MountList, EveryChangeFromOutsideShowsAtOnce) {
  EBLA_NEED_FUSE();
  const TempDir dir("list");
  MountedChild child({.mounts = {dir / "m", "/d=" + (dir / "sub")},
                      .seed =
                          [](ChildSide& side) {
                            for (const char* name : {"d", "e"}) {
                              kit::wait_for<Attr>([&](Completion<Attr> done) {
                                side.store.create({.parent = side.store.root(),
                                                   .name = name,
                                                   .kind = NodeKind::directory,
                                                   .mode = 0700},
                                                  {}, std::move(done));
                              });
                            }
                            for (int i = 0; i < 1000; ++i)
                              answer(side, fmt::format("make /d/f{}", i));
                          },
                      .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  OpenFolder whole(dir / "m/d");
  OpenFolder top(dir / "m");
  OpenFolder other(dir / "m/e");
  OpenFolder below(dir / "sub");
  const std::string steps[] = {
      "make /d/new",       "remove /d/new",     "make /d/new",          "remove /d/f999",
      "move /d/f998 /d/g", "move /d/f997 /d/g", "move /d/f996 /e/f996", "remove /d/f0",
      "move /d/f1 /d/f2",  "remove /e/f996",    "make /e/f996",         "move /e/f996 /d/f996",
      "make /new",         "move /new /d/new",  "move /d/new /new"};
  for (const std::string& step : steps) {
    for (OpenFolder* folder : {&whole, &top, &other, &below}) folder->again();  // kept from here on
    ASSERT_EQ(child.ask(step), "") << step;
    const Names d = truth(child, "/d");
    EXPECT_EQ(whole.again(), d) << step;
    EXPECT_EQ(below.again(), d) << step;
    EXPECT_EQ(other.again(), truth(child, "/e")) << step;
    EXPECT_EQ(top.again(), truth(child, "/")) << step;
    EXPECT_EQ(list(dir / "m/d"), d) << step;
  }
  whole.again();
  other.again();
  for (const char* step : {"untold-remove /d/f995", "untold-make /e/one", "untold-make /d/one",
                           "untold-make /one", "untold-remove /new"}) {
    ASSERT_EQ(child.ask(step), "");
  }
  ASSERT_EQ(child.ask("everything"), "");
  EXPECT_EQ(whole.again(), truth(child, "/d"));
  EXPECT_EQ(below.again(), truth(child, "/d"));
  EXPECT_EQ(other.again(), truth(child, "/e"));
  EXPECT_EQ(top.again(), truth(child, "/"));
  EXPECT_FALSE(list(dir / "m").contains(".ebla"));
}

TEST(MountList, ChangesByAnotherMountShow) {
  EBLA_NEED_FUSE();
  const TempDir dir("list");
  MountedChild child({.mounts = {dir / "m", dir / "r"}, .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/d";
  fill(folder, 1000);
  OpenFolder seen(dir / "r/d");
  const auto comes = [&](const std::string& step) {
    const Names names = truth(child, "/d");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen.again() != names) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << step;
      std::this_thread::yield();
    }
  };
  for (const char* step : {"touch new", "rm new", "mv f999 g", "mv f998 g", "mkdir f1000",
                           "rmdir f1000", "ln f5 h", "ln -s f5 s", "mkfifo p", "rm f0 f500 f997"}) {
    seen.again();
    ASSERT_EQ(shell("cd " + folder + " && " + step).output, "") << step;
    comes(step);
    if (HasFatalFailure()) return;
    EXPECT_EQ(list(folder), truth(child, "/d")) << step;
  }
  // Its time of change is what it was: nothing but the telling says that it changed.
  ASSERT_EQ(shell("cd " + folder + " && touch -d @1 .").output, "");
  comes("touch");
  list(dir / "r/d");
  ASSERT_EQ(shell("cd " + folder + " && rm f3 f996 && touch late && touch -d @1 .").output, "");
  comes("all at the old time");
  EXPECT_EQ(list(dir / "r/d"), truth(child, "/d"));
}

TEST(MountList, AStormLeavesTheTruth) {
  EBLA_NEED_FUSE();
  const TempDir dir("list");
  constexpr int kRounds = 1000;
  constexpr int kFiles = 60;
  MountedChild child({.mounts = {dir / "m", dir / "r"}, .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/d";
  fill(folder, kFiles);
  std::atomic<bool> ended{false};
  std::thread lister([&] {
    OpenFolder one(folder);
    OpenFolder two(dir / "r/d");
    while (!ended) {
      one.again();
      two.again();
    }
  });
  OpenFolder one(folder);
  OpenFolder two(dir / "r/d");
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      const int n = (round * 7 + i * 13) % kFiles;
      const bool there = truth(child, "/d").contains(fmt::format("f{}", n));
      EXPECT_EQ(child.ask(fmt::format("{} /d/f{}", there ? "remove" : "make", n)), "");
    }
    const Names names = truth(child, "/d");
    EXPECT_EQ(one.again(), names) << round;
    EXPECT_EQ(two.again(), names) << round;
    if (HasFailure()) break;
  }
  ended = true;
  lister.join();
  EXPECT_EQ(list(folder), truth(child, "/d"));
}

// Who asks only whether a folder is empty leaves the kernel with a part; the next listings mend
// that.
TEST(MountList, WhatWasGivenUpIsKeptLater) {
  EBLA_NEED_FUSE();
  const TempDir dir("list");
  MountedChild child({.mounts = {dir / "m"}, .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/d";
  fill(folder, 10);
  const auto listings = [&] {
    const auto before = child.counts();
    EXPECT_EQ(list(folder), truth(child, "/d"));
    auto counts = child.counts();
    auto old = before;
    return counts["readdir"] + counts["readdirplus"] - old["readdir"] - old["readdirplus"];
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_NE(readdir(OpenFolder(folder).raw()), nullptr);
    ASSERT_EQ(child.ask(fmt::format("make /d/new{}", round)), "");
    for (int i = 0; i < 3; ++i) listings();
    EXPECT_EQ(listings(), 0U) << round;
  }
}

}  // namespace
}  // namespace ebla
