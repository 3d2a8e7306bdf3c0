// Ordinary programs in a mount do what they do in a native folder.
#include <gtest/gtest.h>

#include "tests/kit/shell.h"
#include "tests/parity/both_sides.h"

namespace ebla {
namespace {

using kit::shell;
using ShellParity = kit::BothSides;

bool is_there(const char* program) {
  return shell(std::string("command -v ") + program).status == 0;
}

// A tree with all that a tree may have.
constexpr const char* kMakeTree = R"(
mkdir -p src/a/b src/empty && cd src || exit 9
seq 1 20000 >a/numbers
printf '' >a/nothing
head -c 300000 /dev/zero >a/b/zeros
printf 'with\0nul' >'a/b/a name with spaces and
a newline'
ln -s numbers a/link; ln -s /absent dangling; ln -s .. a/up
ln a/numbers a/b/hard
mkfifo a/pipe
chmod 0640 a/numbers; chmod 4755 a/nothing; chmod 1777 empty
chown 1234:5678 a/b/zeros; chown -h 1:2 a/link
touch -d '2001-02-03 04:05:06.123456789 UTC' a/numbers; touch -hd '1969-12-31 UTC' a/link
touch -d '2020-01-01 UTC' a/b empty; cd ..
)";

TEST_F(ShellParity, Redirections) {
  expect_same(R"(
echo one >f; echo two >>f; cat f f >g; cat <g; printf 3 1<>f; cat f
seq 1 100000 | tee big | wc; tail -n 2 big; wc -c big; : >big; wc -c big
set -C; echo no >f; echo $?; echo yes >|f; cat f; cat absent; ls -A)");
}

TEST_F(ShellParity, CopiesKeepEverything) {
  expect_same(std::string(kMakeTree) + R"(
cp -a src copy && diff -r --no-dereference src copy 2>&1 | grep -v fifo
stat -c '%n %.9Y' copy/a/numbers copy/a/link copy/a/b copy/empty
cp -r --sparse=always src/a/b thin; cmp src/a/b/zeros thin/zeros; cp -al src linked
stat -c %h src/a/numbers)");
}

TEST_F(ShellParity, ArchivesComeBack) {
  expect_same(std::string(kMakeTree) + R"(
tar -cf src.tar --sort=name --mtime='2020-01-01 UTC' src && md5sum src.tar
mkdir out && tar -C out -xpf src.tar && diff -r --no-dereference src out/src 2>&1 | grep -v fifo
tar -C src -cf - . | (mkdir two && tar -C two -xpf -); find two -printf '%p %y %m %U %n\n' | sort
tar -df src.tar; echo $?; rm -rf out two src; ls)");
}

TEST_F(ShellParity, EditsInPlace) {
  expect_same(R"(
seq 1 1000 >f; chmod 0604 f; sed -i s/7/seven/ f; md5sum f; stat -c %a f
sed -i.old 5d f; wc -l f f.old; printf '1d\nw\nq\n' | ed -s f 2>/dev/null; sort -Ro /dev/null f
sort -r f -o f; head -n 3 f; ls)");
}

TEST_F(ShellParity, MovesAndLinks) {
  expect_same(R"(
mkdir -p a/b c; echo 1 >a/f; echo 2 >c/g
mv a/f c/; ls a c; mv c/f c/g; cat c/g; mv -n c/g a; mv -T c a/b; find . | sort
mv a a/b/x; mv a/b a/d; mkdir e; mv -T a e; mkdir e/full; echo x >e/full/f; mkdir h; mv -T h e/full
mv -T e/g h 2>&1; mv -T h e/g 2>&1; ln e/g two; ln two three; rm two; stat -c '%h %s' three
ln e six; ln -s three four; cat four; mv four e/; cat e/four; rm e/g three; rmdir e; rm -r e; ls)");
}

TEST_F(ShellParity, PiecesAndHoles) {
  expect_same(R"(
dd if=/dev/zero of=f bs=1000 count=300 2>/dev/null; printf abc | dd of=f bs=1 seek=131071 conv=notrunc 2>/dev/null
md5sum f; printf x | dd of=f bs=1 seek=5000000 conv=notrunc 2>/dev/null; md5sum f; stat -c %s f
truncate -s 100000 f; truncate -s 400000 f; md5sum f; truncate -s 0 f; truncate -s 3G f; stat -c %s f
tail -c 5 f | od -c; rm f; fallocate -l 1000000 g; stat -c %s g; printf hello >g
fallocate -n -l 5000000 g; stat -c %s g; yes | head -c 600000 >g
fallocate -p -o 100000 -l 300000 g; md5sum g; fallocate -z -o 500000 -l 200000 g; md5sum g; stat -c %s g
cp g h; cmp g h; dd if=g of=g2 bs=64k conv=fsync oflag=direct 2>/dev/null; cmp g g2; sync; sync g; sync .)");
}

TEST_F(ShellParity, ModesOwnersTimes) {
  expect_same(R"(
umask 027; touch f; mkdir d; stat -c '%n %a' f d; umask 0; touch g; stat -c %a g
chmod 6755 f; chown 5:6 f; stat -c '%a %u:%g' f; chmod u+s,g+s f; chgrp 7 f; stat -c %a f
mkdir s; chown :33 s; chmod 2775 s; touch s/f; mkdir s/d; stat -c '%n %a %g' s/f s/d
touch -d @1000000000.5 f; stat -c '%.9X %.9Y' f; touch -a -d @5 f; stat -c '%X %Y' f
touch -m -d @-5 f; stat -c '%X %Y' f; touch -d @9000000000 f; stat -c %Y f; chmod 000 f; cat f | wc -c)");
}

// The mount and the native folder are searched by an ordinary user all the way.
TEST_F(ShellParity, AnOrdinaryUserIsHeldBack) {
  if (!is_there("setpriv")) GTEST_SKIP() << "there is no setpriv here";
  expect_same(R"(
as() { setpriv --reuid 4321 --regid 4321 --clear-groups sh -c "$1"; echo "= $?"; }
chmod 711 .; mkdir open sticky; chmod 777 open; chmod 1777 sticky; echo root >sticky/f; echo r >own
chmod 600 own; cd open
as 'echo hi >f; stat -c "%u:%g %a" f; mkdir d; ln -s x l'; as 'chown 1 f'; as 'chmod 755 f'
as 'cat ../own'; as 'echo x >../own'; as 'rm -f ../sticky/f'; as 'mv ../sticky/f g'; as 'ls ..'
as 'touch ../x'; echo s >suid; chmod 6777 suid; as 'echo t >>suid'; stat -c %a suid
chmod 6777 suid; as ': >suid'; stat -c %a suid; as 'ln suid hard'; as 'rm -r d'; ls -A)");
}

TEST_F(ShellParity, OpenFilesOutliveTheirNames) {
  expect_same(R"(
echo first >f; exec 3<>f; rm f; ls -A; cat <&3; echo second >&3; stat -L -c '%h %s' /proc/self/fd/3
exec 4</proc/self/fd/3; cat <&4; exec 3>&- 4>&-; echo a >a; echo b >b; exec 5<a; mv b a; cat <&5 a
mkdir d; cd d; rmdir ../d; ls -A; echo x >x; mkdir y; cd ..; ls)");
}

TEST_F(ShellParity, ManyFilesAndWriters) {
  expect_same(R"(
mkdir m; for i in $(seq 1 400); do echo $i >m/f$i; done; ls m | wc -l; cat m/* | md5sum
rm m/f*7; ls m | wc -l; find m -name 'f*3' -delete; ls m | sort | md5sum; rm -r m
for w in 1 2 3 4; do (for i in $(seq 1 150); do echo "writer $w line $i" >>log; done) & done; wait
sort -o log log; wc log; mkfifo p; cat p >q & echo through >p; wait; cat q)");
}

TEST_F(ShellParity, Git) {
  if (!is_there("git")) GTEST_SKIP() << "there is no git here";
  expect_same(R"(
export HOME=$PWD GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one && cd one || exit
for i in $(seq 1 40); do seq $i 500 >f$i; done; git add . && git commit -qm first && git rev-parse HEAD
git mv f1 moved && echo x >>f2 && chmod +x f3 && ln -s f2 l && git add . && git commit -qm second
git status --short; git rev-parse HEAD; cd .. && git clone -q one two && cd two && git log --oneline
git checkout -q -b other HEAD~1 && git rm -q f5 && git commit -qm third && git merge -q main -m merged
git status --short; git gc -q --prune=now; git fsck --no-progress; git rev-parse HEAD; git diff main --stat
cd .. && rm -rf one two)");
}

TEST_F(ShellParity, Databases) {
  if (!is_there("sqlite3")) GTEST_SKIP() << "there is no sqlite3 here";
  expect_same(R"(
for mode in delete wal truncate persist; do
sqlite3 $mode.db "PRAGMA journal_mode=$mode; CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL
SELECT i+1 FROM n WHERE i<5000) INSERT INTO t SELECT i, hex(i*i) FROM n; BEGIN; DELETE FROM t WHERE a%3=0; COMMIT;
BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*), sum(a) FROM t; PRAGMA integrity_check;"
sqlite3 $mode.db 'VACUUM; SELECT count(*) FROM t; PRAGMA integrity_check;'; done; ls | grep db$)");
}

}  // namespace
}  // namespace ebla
