// Programs that ask much of a file system, as they come, in a mount of a store on disk. What is not
// installed is skipped.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/kit/check_store.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/shell.h"
#include "tests/mount/on_disk.h"

namespace ebla {
namespace {

using kit::MountedChild;
using kit::shell;
using kit::TempDir;

class MountPrograms : public ::testing::Test {
 protected:
  // Empty: it can begin.
  std::string begin(const std::string& programs) {
    if (auto why = MountedChild::unusable(); !why.empty()) return why;
    if (shell("for p in " + programs + "; do command -v $p || exit 1; done").status != 0) {
      return "one of these is not installed: " + programs;
    }
    if (!kit::keep_mounts_private()) return "no right to mount for this process alone";
    auto plan = kit::on_disk(dir_ / "store", dir_ / "m");
    plan.seed = [](kit::ChildSide& side) { side.put("log", "what a tool printed\n"); };
    child_.emplace(std::move(plan));
    return child_->mount_error();
  }
  // In the mount; `$host` is a folder beside it. Stops at the first command that fails.
  std::string run(const std::string& commands) {
    const auto ended = shell("set -e; mkdir -p '" + (dir_ / "host") + "'; host='" +
                             (dir_ / "host") + "'; cd '" + (dir_ / "m") + "'; " + commands);
    EXPECT_EQ(ended.status, 0) << commands << "\n" << ended.output;
    return ended.output;
  }
  void TearDown() override {
    if (!child_) return;
    child_->stop();
    EXPECT_THAT(kit::check_store(dir_ / "store"), testing::IsEmpty());
  }

  TempDir dir_{"programs"};
  std::optional<MountedChild> child_;
};

#define EBLA_NEED_PROGRAMS(programs) \
  if (const auto why = begin(programs); !why.empty()) GTEST_SKIP() << why

// Names, links, modes and times that a copy must keep.
constexpr const char* kMakeTree =
    "mkdir -p t/a/b t/empty; seq 1 60000 >t/a/rows; printf 'x\\0y\\377' >t/a/b/bytes; "
    "ln t/a/rows t/a/b/twin; ln -s ../nowhere t/a/link; mkfifo t/a/pipe; "
    "truncate -s 3M t/hole; printf end >>t/hole; printf '' >t/'a name\nof two lines'; chmod 4750 "
    "t/a/rows; chmod 1777 t/empty; touch -d 2001-02-03T04:05:06.789 t/a/b; ";

TEST_F(MountPrograms, TarGivesBackWhatItTook) {
  EBLA_NEED_PROGRAMS("tar");
  run(std::string(kMakeTree) + "tar cf $host/one.tar t; mkdir u; tar xpf $host/one.tar -C u");
  EXPECT_EQ(run("tar c --sort=name t | md5sum >$host/t; tar c --sort=name -C u t | md5sum "
                "| diff - $host/t"),
            "");
}

TEST_F(MountPrograms, RsyncHasNothingToDoTheSecondTime) {
  EBLA_NEED_PROGRAMS("rsync");
  run(std::string(kMakeTree) + "rsync -aH --delete t/ u/; rm t/a/b/bytes; touch u/stray");
  EXPECT_NE(run("rsync -aHi --delete t/ u/"), "");
  EXPECT_EQ(run("rsync -aHi --delete t/ u/"), "");
  EXPECT_EQ(run("rsync -aHi --delete u/ $host/u/ >/dev/null; rsync -aHi --delete $host/u/ u/"), "");
  EXPECT_EQ(run("ls u | grep stray || true"), "");
}

TEST_F(MountPrograms, CopiesOfAResultAreOrdinaryFiles) {
  EBLA_NEED_PROGRAMS("setfattr");
  EXPECT_EQ(run("cp -a large_tool_results/log copy; cp -a large_tool_results/log $host/log; "
                "mv $host/log moved; chmod u+w copy; setfattr -n user.mine -v 1 copy; "
                "cp -a copy third; getfattr -d third; echo more >>copy; cat copy moved"),
            "# file: third\nuser.mine=\"1\"\n\nwhat a tool printed\nmore\nwhat a tool printed\n");
}

TEST_F(MountPrograms, GitKeepsARepository) {
  EBLA_NEED_PROGRAMS("git");
  run("export HOME=$host GIT_CONFIG_NOSYSTEM=1; git config --global user.name n; "
      "git config --global user.email n@example.org; git init -q r; cd r; "
      "for i in $(seq 30); do mkdir -p d$((i % 5)); seq 1 $((i * 200)) >d$((i % 5))/f$i; "
      "git add .; git commit -qm $i; done; git gc -q --prune=now; git fsck --strict 2>&1; "
      "git checkout -qb other; git rm -rq d1; git commit -qm less; git checkout -q -; "
      "git merge -q other; cd ..; git clone -q r s; git -C s fsck 2>&1; diff -r r/d2 s/d2");
  EXPECT_EQ(run("export HOME=$host; git -C r status --porcelain; git -C s status --porcelain; "
                "git -C s log --oneline | wc -l"),
            "31\n");
}

TEST_F(MountPrograms, SqliteSharesADatabaseBetweenProcesses) {
  EBLA_NEED_PROGRAMS("sqlite3");
  for (const char* mode : {"delete", "truncate", "persist", "wal"}) {
    run(
        fmt::format("sqlite3 {0}.db 'PRAGMA journal_mode={0}; CREATE TABLE t(w, v);' >/dev/null; "
                    "for w in 1 2 3; do (for i in $(seq 15); do echo \"INSERT INTO t VALUES($w, "
                    "randomblob(3000));\"; done | sqlite3 -cmd '.timeout 60000' {0}.db) & done; "
                    "wait",
                    mode));
    EXPECT_EQ(run(fmt::format("sqlite3 {}.db 'PRAGMA integrity_check; SELECT count(*) FROM t; "
                              "VACUUM; PRAGMA integrity_check'",
                              mode)),
              "ok\n45\nok\n")
        << mode;
  }
}

TEST_F(MountPrograms, MakeBuildsOnceAndAgainWhatHasChanged) {
  EBLA_NEED_PROGRAMS("make cc");
  run("mkdir p; cd p; for i in 1 2 3; do printf '#include \"all.h\"\\nint f%d(void) "
      "{ return K + %d; }\\n' $i $i >f$i.c; done; echo '#define K 10' >all.h; "
      "printf '#include <stdio.h>\\nint f1(void), f2(void), f3(void);\\nint main(void) "
      "{ printf(\"%%d\\\\n\", f1() + f2() + f3()); return 0; }\\n' >main.c; "
      "printf 'prog: f1.o f2.o f3.o main.o\\n\\tcc -o $@ $^\\n%%.o: %%.c all.h\\n"
      "\\tcc -c -o $@ $<\\n' >Makefile; make -j2 >/dev/null");
  EXPECT_EQ(run("cd p; ./prog; make -q && echo fresh"), "36\nfresh\n");
  EXPECT_EQ(run("cd p; echo '#define K 20' >all.h; make -j2 >/dev/null; ./prog"), "66\n");
}

TEST_F(MountPrograms, FioVerifiesWhatItWrote) {
  EBLA_NEED_PROGRAMS("fio");
  const std::string common =
      "fio --directory=. --size=6m --verify=crc32c --verify_fatal=1 --do_verify=1 ";
  for (const char* job : {"--name=a --rw=randrw --bsrange=512-64k --bs_unaligned --numjobs=2 "
                          "--ioengine=psync --fsync=100",
                          "--name=b --rw=randwrite --bs=4k --ioengine=mmap",
                          "--name=c --rw=randwrite --bs=4k --direct=1 --ioengine=psync"}) {
    EXPECT_NE(run(common + job).find("err= 0"), std::string::npos) << job;
  }
}

}  // namespace
}  // namespace ebla
