// The same reading calls on a mount and on a folder of the native file system that holds the same
// files: results and errno must be equal.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/hash.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/real_texts.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::TempDir;

std::string errno_name() {
  return std::string("errno ") + strerrorname_np(errno);
}

// What a call came to, as text: comparing texts shows the difference at once.
using Call = std::function<std::string(const std::string& root)>;

std::string open_and(const std::string& path, int flags,
                     const std::function<std::string(int)>& then) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  return fd ? then(fd.get()) : errno_name();
}

std::string pread_at(int fd, off_t offset, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t n = ::pread(fd, bytes.data(), size, offset);
  if (n < 0) return errno_name();
  bytes.resize(static_cast<size_t>(n));
  return std::to_string(n) + " " + xxh3_128(bytes).hex();
}

std::string seek(int fd, off_t offset, int whence) {
  const off_t at = ::lseek(fd, offset, whence);
  return at < 0 ? errno_name() : std::to_string(at);
}

std::string listing(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return errno_name();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    names.push_back(std::string(entry->d_name) + ":" + std::to_string(entry->d_type));
  }
  ::closedir(dir);
  std::ranges::sort(names);
  std::string all;
  for (const auto& name : names) all += name + " ";
  return all;
}

std::string status_of(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return errno_name();
  std::string text = std::to_string(info.st_mode) + " " + std::to_string(info.st_uid);
  // Folder sizes and block counts are each file system's own business.
  if (S_ISREG(info.st_mode)) {
    text += " " + std::to_string(info.st_size) + " " + std::to_string(info.st_nlink);
  } else {
    text += " links " + std::to_string(info.st_nlink);
  }
  return text;
}

std::string mapped(const std::string& path, size_t size) {
  return open_and(path, O_RDONLY, [&](int fd) -> std::string {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return errno_name();
    const std::string sum = xxh3_128({static_cast<const char*>(at), size}).hex();
    ::munmap(at, size);
    return sum;
  });
}

const std::map<std::string, std::string>& files() {
  static const auto* all = new std::map<std::string, std::string>{
      {"empty", ""},
      {"one_byte", "x"},
      {"no_final_newline", "a\nb"},
      {"chunk_less_one", kit::random_bytes(131'071, 1)},
      {"chunk", kit::random_bytes(131'072, 2)},
      {"chunk_and_one", kit::random_bytes(131'073, 3)},
      {"large", kit::random_bytes(3'000'001, 4)},
      {"with_nul", kit::with_nul(100'000)},
      {"invalid_utf8", kit::invalid_utf8(100'000)},
      {"chinese", kit::chinese(30'000)},
      {std::string(200, 'n'), "a long name"},
  };
  return *all;
}

void add_reads(std::map<std::string, Call>& calls, const std::string& name, size_t size) {
  const auto end = static_cast<off_t>(size);
  for (const off_t offset : {off_t{0}, off_t{1}, off_t{4095}, off_t{4096}, off_t{131'071},
                             off_t{131'072}, end - 1, end, end + 1, end + 1'000'000, off_t{-1}}) {
    for (const size_t length : {size_t{0}, size_t{1}, size_t{4096}, size_t{200'000}}) {
      calls["pread " + name + " " + std::to_string(offset) + " " + std::to_string(length)] =
          [=](const std::string& root) {
            return open_and(root + "/" + name, O_RDONLY,
                            [=](int fd) { return pread_at(fd, offset, length); });
          };
    }
  }
  for (const auto& [whence_name, whence] : std::map<std::string, int>{
           {"SET", SEEK_SET}, {"END", SEEK_END}, {"DATA", SEEK_DATA}, {"HOLE", SEEK_HOLE}}) {
    for (const off_t offset : {off_t{0}, off_t{-1}, end, end + 1}) {
      calls["lseek " + name + " " + whence_name + " " + std::to_string(offset)] =
          [=](const std::string& root) {
            return open_and(root + "/" + name, O_RDONLY,
                            [=](int fd) { return seek(fd, offset, whence); });
          };
    }
  }
  calls["stat " + name] = [=](const std::string& root) { return status_of(root + "/" + name); };
  calls["stat under " + name] = [=](const std::string& root) {
    return status_of(root + "/" + name + "/x");
  };
  calls["list " + name] = [=](const std::string& root) { return listing(root + "/" + name); };
  calls["O_DIRECTORY " + name] = [=](const std::string& root) {
    return open_and(root + "/" + name, O_RDONLY | O_DIRECTORY, [](int) { return "open"; });
  };
  calls["write to a reader of " + name] = [=](const std::string& root) {
    return open_and(root + "/" + name, O_RDONLY, [](int fd) -> std::string {
      return ::write(fd, "x", 1) == 1 ? "written" : errno_name();
    });
  };
  if (size > 0) {
    calls["mmap " + name] = [=](const std::string& root) {
      return mapped(root + "/" + name, size);
    };
  }
  for (const int mode : {F_OK, R_OK, X_OK}) {
    calls["access " + name + " " + std::to_string(mode)] = [=](const std::string& root) {
      return ::access((root + "/" + name).c_str(), mode) == 0 ? std::string("yes") : errno_name();
    };
  }
}

void add_paths(std::map<std::string, Call>& calls) {
  for (const std::string& path :
       {std::string("/absent"), std::string("/absent/x"), std::string("/."), std::string("/.."),
        std::string("//one_byte"), std::string("/./one_byte"), std::string("/one_byte/"),
        std::string("/one_byte/."), "/" + std::string(255, 'n'), "/" + std::string(256, 'n'),
        "/" + std::string(5000, 'n'), std::string("/\xff\xfe"), std::string("/new\nline")}) {
    calls["stat " + path] = [=](const std::string& root) { return status_of(root + path); };
    calls["open " + path] = [=](const std::string& root) {
      return open_and(root + path, O_RDONLY, [](int) { return "open"; });
    };
  }
  calls["list"] = listing;
  calls["read a folder"] = [](const std::string& root) {
    return open_and(root, O_RDONLY, [](int fd) { return pread_at(fd, 0, 10); });
  };
  calls["O_WRONLY of a folder"] = [](const std::string& root) {
    return open_and(root, O_WRONLY, [](int) { return "open"; });
  };
  calls["O_EXCL of an existing file"] = [](const std::string& root) {
    return open_and(root + "/one_byte", O_RDONLY | O_CREAT | O_EXCL, [](int) { return "open"; });
  };
  calls["mkdir over a file"] = [](const std::string& root) {
    return ::mkdir((root + "/one_byte").c_str(), 0700) == 0 ? std::string("made") : errno_name();
  };
  calls["readlink of a file"] = [](const std::string& root) {
    char target[10];
    return ::readlink((root + "/one_byte").c_str(), target, sizeof target) >= 0
               ? std::string("link")
               : errno_name();
  };
  calls["rmdir of a file"] = [](const std::string& root) {
    return ::rmdir((root + "/one_byte").c_str()) == 0 ? std::string("removed") : errno_name();
  };
  calls["unlink of nothing"] = [](const std::string& root) {
    return ::unlink((root + "/absent").c_str()) == 0 ? std::string("removed") : errno_name();
  };
  calls["unlink, then read by descriptor"] = [](const std::string& root) {
    return open_and(root + "/chunk", O_RDONLY, [&](int fd) -> std::string {
      if (::unlink((root + "/chunk").c_str()) != 0) return errno_name();
      return pread_at(fd, 100, 1000) + " " + status_of(root + "/chunk");
    });
  };
}

TEST(Parity, ReadingCallsComeToTheSame) {
  EBLA_NEED_FUSE();
  const TempDir dir("parity");
  const std::string native = dir / "native";
  ASSERT_EQ(::mkdir(native.c_str(), 0700), 0);
  for (const auto& [name, bytes] : files()) {
    auto file = open_file(native + "/" + name, O_WRONLY | O_CREAT | O_EXCL, 0400);
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_full(file->get(), bytes));
  }
  MountedChild child(
      {.mounts = {"/large_tool_results=" + (dir / "m")}, .seed = [](ChildSide& side) {
         for (const auto& [name, bytes] : files()) side.put(name, bytes);
       }});
  ASSERT_EQ(child.mount_error(), "");

  std::map<std::string, Call> calls;
  for (const auto& [name, bytes] : files()) add_reads(calls, name, bytes.size());
  add_paths(calls);
  ASSERT_GT(calls.size(), 600u);
  // By name, so the one that unlinks comes last of its kind, behind every read.
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(call(dir / "m"), call(native)) << name;
  }
}

}  // namespace
}  // namespace ebla
