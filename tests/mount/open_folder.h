// A folder that stays open. To list it once more asks for no attributes, and so the kernel does not
// learn that its time of change is another one: only what it was told counts.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ebla {

using Names = std::multiset<std::string>;

class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path) : dir_(opendir(path.c_str())) {
    EXPECT_NE(dir_, nullptr) << path;
  }
  ~OpenFolder() { closedir(dir_); }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  // From the start.
  Names again() {
    rewinddir(dir_);
    return rest();
  }
  // From where it is.
  Names rest() {
    Names out;
    while (const dirent* entry = readdir(dir_)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") out.insert(name);
    }
    return out;
  }
  DIR* raw() { return dir_; }

 private:
  DIR* dir_;
};

inline Names list(const std::string& path) {
  return OpenFolder(path).again();
}

}  // namespace ebla
