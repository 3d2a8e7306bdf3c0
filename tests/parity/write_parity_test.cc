// System calls that change a tree, with their edge cases and errno: the same on a mount and in a
// native folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "tests/kit/real_texts.h"
#include "tests/parity/both_sides.h"
#include "tests/parity/calls.h"

namespace ebla {
namespace {

using kit::came_to;
using kit::content;
using kit::opened;
using kit::status;

// What a step comes to below a folder, as text.
using Call = std::function<std::string(const std::string& root)>;

class WriteParity : public kit::BothSides {
 protected:
  // Runs the steps in both folders, in their order, and compares what each comes to.
  struct Step {
    const char* what;
    Call call;
  };
  void expect_same_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      EXPECT_EQ(step.call(mounted() + "/"), step.call(native() + "/")) << step.what;
    }
    EXPECT_EQ(tree_of(mounted()), tree_of(native()));
  }
};

TEST_F(WriteParity, Opening) {
  const auto open_as = [](const std::string& name, int flags) {
    return [=](const std::string& root) { return opened(root + name, flags); };
  };
  expect_same_steps({
      {"absent", open_as("f", O_WRONLY)},
      {"create", open_as("f", O_WRONLY | O_CREAT)},
      {"create again", open_as("f", O_WRONLY | O_CREAT)},
      {"exclusive", open_as("f", O_WRONLY | O_CREAT | O_EXCL)},
      {"as a folder", open_as("f", O_RDONLY | O_DIRECTORY)},
      {"below a file", open_as("f/x", O_WRONLY | O_CREAT)},
      {"in an absent folder", open_as("d/x", O_WRONLY | O_CREAT)},
      {"with a slash", open_as("f/", O_WRONLY | O_CREAT)},
      {"new with a slash", open_as("n/", O_WRONLY | O_CREAT)},
      {"long name", open_as(std::string(255, 'n'), O_WRONLY | O_CREAT)},
      {"too long name", open_as(std::string(256, 'n'), O_WRONLY | O_CREAT)},
      {"direct", open_as("f", O_RDWR | O_DIRECT)},
      {"append and truncate", open_as("f", O_RDWR | O_APPEND | O_TRUNC)},
      {"truncate by a reader",
       [](const std::string& root) {
         opened(root + "t", O_WRONLY | O_CREAT,
                [](int fd) { return came_to(::write(fd, "xyz", 3)); });
         return opened(root + "t", O_RDONLY | O_TRUNC) + status(root + "t");
       }},
      {"any bytes of name",
       [](const std::string& root) {
         return opened(root + "\xff\xfe \n\t\\", O_WRONLY | O_CREAT);
       }},
      {"through a dangling link",
       [](const std::string& root) {
         return came_to(::symlink("made", (root + "l").c_str())) +
                opened(root + "l", O_WRONLY | O_CREAT | O_EXCL) +
                opened(root + "l", O_WRONLY | O_CREAT) + opened(root + "l", O_WRONLY | O_NOFOLLOW);
       }},
      {"loop",
       [](const std::string& root) {
         return came_to(::symlink("loop", (root + "loop").c_str())) +
                opened(root + "loop", O_WRONLY | O_CREAT);
       }},
  });
}

Call mkdir_of(const char* name) {
  return [=](const std::string& root) { return came_to(::mkdir((root + name).c_str(), 0751)); };
}

Call file_of(const char* name) {
  return [=](const std::string& root) { return opened(root + name, O_WRONLY | O_CREAT); };
}

Call unlink_of(const char* name) {
  return [=](const std::string& root) { return came_to(::unlink((root + name).c_str())); };
}

Call rmdir_of(const char* name) {
  return [=](const std::string& root) { return came_to(::rmdir((root + name).c_str())); };
}

Call rename_of(const char* from, const char* to, unsigned flags = 0) {
  return [=](const std::string& root) {
    return came_to(
               ::renameat2(AT_FDCWD, (root + from).c_str(), AT_FDCWD, (root + to).c_str(), flags)) +
           " " + status(root + from) + " " + status(root + to);
  };
}

Call link_of(const char* from, const char* to) {
  return [=](const std::string& root) {
    return came_to(::link((root + from).c_str(), (root + to).c_str())) + status(root + from);
  };
}

TEST_F(WriteParity, Names) {
  expect_same_steps({
      {"mkdir d", mkdir_of("d")},
      {"mkdir d again", mkdir_of("d")},
      {"mkdir d/e", mkdir_of("d/e")},
      {"mkdir d/e/g", mkdir_of("d/e/g")},
      {"file f", file_of("f")},
      {"file d/h", file_of("d/h")},
      {"mkdir over a file", mkdir_of("f")},
      {"rmdir of a full one", rmdir_of("d")},
      {"rmdir of a file", rmdir_of("f")},
      {"rmdir of nothing", rmdir_of("none")},
      {"rmdir of .", rmdir_of("d/.")},
      {"rmdir of ..", rmdir_of("d/e/..")},
      {"unlink of a folder", unlink_of("d")},
      {"unlink of nothing", unlink_of("none")},
      {"link", link_of("f", "d/f2")},
      {"link over", link_of("f", "d/h")},
      {"link of a folder", link_of("d", "d2")},
      {"link of nothing", link_of("none", "x")},
      {"rename to a link of itself", rename_of("f", "d/f2")},
      {"rename over a file", rename_of("f", "d/h")},
      {"rename of nothing", rename_of("none", "x")},
      {"rename a file over a folder", rename_of("d/h", "d/e")},
      {"rename a folder over a file", rename_of("d/e", "d/h")},
      {"rename a folder into itself", rename_of("d", "d/e/d")},
      {"rename a folder over a full one", rename_of("d/e/g", "d")},
      {"rename to a folder above", rename_of("d/e", "d")},
      {"keep: taken", rename_of("d/h", "d/f2", RENAME_NOREPLACE)},
      {"keep: free", rename_of("d/h", "h", RENAME_NOREPLACE)},
      {"exchange with nothing", rename_of("h", "none", RENAME_EXCHANGE)},
      {"exchange file and folder", rename_of("h", "d/e", RENAME_EXCHANGE)},
      {"exchange folder and file", rename_of("h", "d/e", RENAME_EXCHANGE)},
      {"exchange with one above", rename_of("d", "d/e", RENAME_EXCHANGE)},
      {"both flags", rename_of("h", "d/e", RENAME_EXCHANGE | RENAME_NOREPLACE)},
      {"folder over an empty one", mkdir_of("void")},
      {"rename over the empty one", rename_of("d", "void")},
      {"rmdir g", rmdir_of("void/e/g")},
      {"rename up", rename_of("void/e", "e")},
      {"rename to itself", rename_of("e", "e")},
      {"rename with a slash", rename_of("h", "i/")},
      {"symlink",
       [](const std::string& root) { return came_to(::symlink("a/b", (root + "l").c_str())); }},
      {"empty target",
       [](const std::string& root) { return came_to(::symlink("", (root + "l0").c_str())); }},
      {"target of 4095 bytes",
       [](const std::string& root) {
         return came_to(::symlink(std::string(4095, 't').c_str(), (root + "l1").c_str())) +
                status(root + "l1");
       }},
      {"hard link of a symlink", link_of("l", "l2")},
      {"unlink the symlink", unlink_of("l")},
  });
}

TEST_F(WriteParity, SpecialNodes) {
  const auto node = [](const char* name, mode_t mode, dev_t device) {
    return [=](const std::string& root) {
      return came_to(::mknod((root + name).c_str(), mode, device)) + status(root + name);
    };
  };
  expect_same_steps({
      {"file", node("file", S_IFREG | 0600, 0)},
      {"no kind", node("plain", 0600, 0)},
      {"fifo", node("fifo", S_IFIFO | 0644, 0)},
      {"socket", node("socket", S_IFSOCK | 0777, 0)},
      {"character device", node("null", S_IFCHR | 0666, makedev(1, 3))},
      {"block device", node("block", S_IFBLK | 0600, makedev(259, 70'000))},
      {"truncate a fifo",
       [](const std::string& root) { return came_to(::truncate((root + "fifo").c_str(), 0)); }},
      {"bind a socket",
       [](const std::string& root) {
         UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
         sockaddr_un name = {};
         name.sun_family = AF_UNIX;
         const std::string path = root + "s";
         if (path.size() >= sizeof name.sun_path) return std::string("path too long");
         path.copy(name.sun_path, path.size());
         const auto* address = reinterpret_cast<const sockaddr*>(&name);
         std::string out = came_to(::bind(fd.get(), address, sizeof name));
         out += came_to(::listen(fd.get(), 1));
         UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
         return out + came_to(::connect(client.get(), address, sizeof name));
       }},
  });
}

// The work on file f, opened so.
Call on(int flags, const std::function<std::string(int)>& work) {
  return [=](const std::string& root) {
    return opened(root + "f", flags, work) + " " + status(root + "f") + " " + content(root + "f");
  };
}

TEST_F(WriteParity, WritingAndCutting) {
  const std::string text = kit::random_bytes(500'000, 7);
  const auto put = [text](off_t offset, size_t from, size_t count) {
    return [=](int fd) { return came_to(::pwrite(fd, text.data() + from, count, offset)); };
  };
  const auto cut = [](off_t size) {
    return [=](int fd) { return came_to(::ftruncate(fd, size)); };
  };
  const auto allocate = [](int mode, off_t offset, off_t length) {
    return [=](int fd) { return came_to(::fallocate(fd, mode, offset, length)); };
  };
  expect_same_steps({
      {"create", on(O_WRONLY | O_CREAT, put(0, 0, 1000))},
      {"over a chunk's border", on(O_WRONLY, put(131'000, 5, 300))},
      {"nothing", on(O_WRONLY, put(5, 0, 0))},
      {"at a negative offset", on(O_WRONLY, put(-1, 0, 5))},
      {"at the end", on(O_WRONLY | O_APPEND, put(3, 0, 70'000))},
      {"by a reader", on(O_RDONLY, put(0, 0, 5))},
      {"cut within", on(O_RDWR, cut(100'001))},
      {"grow", on(O_RDWR, cut(400'000))},
      {"cut by a reader", on(O_RDONLY, cut(0))},
      {"cut to less than nothing", on(O_RDWR, cut(-1))},
      {"fill", on(O_RDWR, put(0, 0, 450'000))},
      {"allocate more", on(O_RDWR, allocate(0, 440'000, 50'000))},
      {"allocate beyond", on(O_RDWR, allocate(FALLOC_FL_KEEP_SIZE, 480'000, 50'000))},
      {"punch", on(O_RDWR, allocate(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 1000, 300'001))},
      {"punch beyond",
       on(O_RDWR, allocate(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 480'000, 90'000))},
      {"allocate nothing", on(O_RDWR, allocate(0, 0, 0))},
      {"allocate before the start", on(O_RDWR, allocate(0, -1, 10))},
      {"allocate by a reader", on(O_RDONLY, allocate(0, 0, 10))},
      {"read back what was written just now",
       on(O_RDWR,
          [text](int fd) {
            std::string back(200'000, '\0');
            std::string out = came_to(::pwrite(fd, text.data(), 200'000, 77));
            out += came_to(::pread(fd, back.data(), back.size(), 77));
            return out + (back == text.substr(0, 200'000) ? " same" : " other");
          })},
      {"mapped and shared", on(O_RDWR,
                               [](int fd) {
                                 void* at = ::mmap(nullptr, 300'000, PROT_READ | PROT_WRITE,
                                                   MAP_SHARED, fd, 0);
                                 if (at == MAP_FAILED) return std::string("no map");
                                 auto* bytes = static_cast<char*>(at);
                                 for (size_t i = 10; i < 300'000; i += 5000) bytes[i] = 'M';
                                 std::string out = came_to(::msync(at, 300'000, MS_SYNC));
                                 bytes[20] = 'N';
                                 ::munmap(at, 300'000);
                                 return out;
                               })},
      {"two descriptors",
       [](const std::string& root) {
         return opened(root + "f", O_RDWR, [&](int first) {
           return opened(root + "f", O_RDWR | O_APPEND, [&](int second) {
             std::string out = came_to(::write(second, "tail", 4));
             std::string back(4, '\0');
             out += came_to(::pread(first, back.data(), 4, ::lseek(first, 0, SEEK_END) - 4)) + back;
             out += came_to(::ftruncate(first, 3)) + came_to(::write(second, "XY", 2));
             return out + content(root + "f");
           });
         });
       }},
      {"syncs", on(O_RDWR, [](int fd) { return came_to(::fsync(fd)) + came_to(::fdatasync(fd)); })},
      {"O_SYNC", on(O_RDWR | O_SYNC, put(2, 0, 9))},
  });
}

TEST_F(WriteParity, CopiesWithinTheMount) {
  const std::string text = kit::random_bytes(400'000, 9);
  const auto copy = [](off64_t from, off64_t to, size_t count) {
    return [=](const std::string& root) {
      return opened(root + "a", O_RDONLY, [&](int in) {
        return opened(root + "b", O_RDWR | O_CREAT, [&](int out) {
          off64_t at_in = from;
          off64_t at_out = to;
          const ssize_t n = ::copy_file_range(in, &at_in, out, &at_out, count, 0);
          return came_to(n) + content(root + "b");
        });
      });
    };
  };
  expect_same_steps({
      {"source",
       [text](const std::string& root) {
         return opened(root + "a", O_WRONLY | O_CREAT,
                       [&](int fd) { return came_to(::write(fd, text.data(), text.size())); });
       }},
      {"all", copy(0, 0, 400'000)},
      {"a part", copy(100'003, 50, 200'000)},
      {"beyond the end", copy(400'000, 0, 10)},
      {"over the end", copy(399'990, 7, 1000)},
      {"into a hole", copy(0, 900'001, 77)},
      {"by a reader of the target",
       [](const std::string& root) {
         return opened(root + "a", O_RDONLY, [](int fd) {
           off64_t at = 0;
           off64_t to = 5;
           return came_to(::copy_file_range(fd, &at, fd, &to, 3, 0));
         });
       }},
      {"onto itself",
       [](const std::string& root) {
         return opened(root + "a", O_RDWR, [](int fd) {
           off64_t at = 0;
           off64_t to = 5;
           return came_to(::copy_file_range(fd, &at, fd, &to, 30, 0));
         });
       }},
  });
}

Call set_of(const char* file, const char* name, const std::string& value, int flags) {
  return [=](const std::string& root) {
    return came_to(::setxattr((root + file).c_str(), name, value.data(), value.size(), flags));
  };
}

Call get_of(const char* name, size_t room) {
  return [=](const std::string& root) {
    std::string value(room, '\0');
    const ssize_t n = ::getxattr((root + "f").c_str(), name, value.data(), room);
    return came_to(n) + value.substr(0, 20);
  };
}

Call times_of(const char* name, timespec a, timespec m) {
  return [=](const std::string& root) {
    const timespec both[2] = {a, m};
    std::string out = came_to(::utimensat(AT_FDCWD, (root + name).c_str(), both, 0));
    struct stat info = {};
    ::stat((root + name).c_str(), &info);
    const auto one = [](timespec asked, timespec is) {
      const bool given = asked.tv_nsec != UTIME_NOW && asked.tv_nsec != UTIME_OMIT;
      return given ? fmt::format(" {}.{}", is.tv_sec, is.tv_nsec) : std::string(" kept");
    };
    return out + one(a, info.st_atim) + one(m, info.st_mtim);
  };
}

Call mode_of(mode_t bits) {
  return [=](const std::string& root) {
    return came_to(::chmod((root + "f").c_str(), bits)) + status(root + "f");
  };
}

Call owner_of(uid_t uid, gid_t gid) {
  return [=](const std::string& root) {
    return came_to(::chown((root + "f").c_str(), uid, gid)) + status(root + "f");
  };
}

TEST_F(WriteParity, Attributes) {
  expect_same_steps({
      {"file", [](const std::string& root) { return opened(root + "f", O_WRONLY | O_CREAT); }},
      {"set", set_of("f", "user.a", "value", 0)},
      {"create again", set_of("f", "user.a", "x", XATTR_CREATE)},
      {"replace nothing", set_of("f", "user.b", "x", XATTR_REPLACE)},
      {"replace", set_of("f", "user.a", "other", XATTR_REPLACE)},
      {"empty value", set_of("f", "user.empty", "", 0)},
      {"of nothing", set_of("none", "user.a", "x", 0)},
      {"value of 65 537 bytes", set_of("f", "user.big", std::string(65'537, 'x'), 0)},
      {"no name", set_of("f", "user.", "x", 0)},
      {"unknown class", set_of("f", "other.a", "x", 0)},
      {"get", get_of("user.a", 100)},
      {"get into little room", get_of("user.a", 2)},
      {"get absent", get_of("user.z", 100)},
      {"get empty", get_of("user.empty", 100)},
      {"remove",
       [](const std::string& root) {
         return came_to(::removexattr((root + "f").c_str(), "user.a")) +
                came_to(::removexattr((root + "f").c_str(), "user.a"));
       }},
      {"of a symlink",
       [](const std::string& root) {
         return came_to(::symlink("f", (root + "l").c_str())) +
                came_to(::lsetxattr((root + "l").c_str(), "user.a", "x", 1, 0));
       }},
      {"times", times_of("f", {.tv_sec = 5, .tv_nsec = 6}, {.tv_sec = 7, .tv_nsec = 999'999'999})},
      {"omit", times_of("f", {.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = 9, .tv_nsec = 1})},
      {"now", times_of("f", {.tv_sec = 3, .tv_nsec = 4}, {.tv_sec = 0, .tv_nsec = UTIME_NOW})},
      {"before 1970", times_of("f", {.tv_sec = -5, .tv_nsec = 6}, {.tv_sec = -1, .tv_nsec = 0})},
      {"no time", times_of("f", {.tv_sec = 0, .tv_nsec = 2'000'000'000}, {})},
      {"chmod", mode_of(0123)},
      {"chmod with all bits", mode_of(07777)},
      {"chown takes setuid away", owner_of(3, 4)},
      {"chmod again", mode_of(06711)},
      {"chown of the group alone", owner_of(static_cast<uid_t>(-1), 5)},
      {"chmod without group execution", mode_of(02640)},
      {"chown keeps the lock bit", owner_of(7, 7)},
      {"chmod through nothing",
       [](const std::string& root) { return came_to(::chmod((root + "none").c_str(), 0600)); }},
  });
}

TEST_F(WriteParity, LocksAreTheKernels) {
  expect_same_steps({{"flock and fcntl", [](const std::string& root) {
                        return opened(root + "f", O_RDWR | O_CREAT, [&](int first) {
                          return opened(root + "f", O_RDWR, [&](int second) {
                            std::string out = came_to(::flock(first, LOCK_EX));
                            out += came_to(::flock(second, LOCK_EX | LOCK_NB));
                            struct flock lock = {};
                            lock.l_type = F_WRLCK;
                            out += came_to(::fcntl(first, F_OFD_SETLK, &lock));
                            lock = {};
                            lock.l_type = F_WRLCK;
                            return out + came_to(::fcntl(second, F_OFD_SETLK, &lock));
                          });
                        });
                      }}});
}

}  // namespace
}  // namespace ebla
