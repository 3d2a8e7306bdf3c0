// A child process that serves mounts of a store, as the daemon does: the test process only
// uses them. The child ends with its object, cleanly or the test fails; a mount that is left behind
// aborts the run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fs/mount_table.h"
#include "schema/base/clock.h"
#include "schema/store.h"
#include "tests/kit/temp_dir.h"

namespace ebla::kit {

// What the child's functions work on.
struct ChildSide {
  Store& store;
  fs::MountTable& table;
  uid_t uid = 0;

  // Stores under the default session, tells the mounts, waits until they have been told.
  void put(const std::string& name, const std::string& bytes,
           const std::string& session = "default");
  void open_session(const std::string& id);
  void deliver(const ChangeSet& changes);
};

class MountedChild {
 public:
  struct Plan {
    std::vector<std::string> mounts;            // DIR or SUBTREE=DIR
    std::function<void(ChildSide&)> seed = {};  // before the mounts; session "default" is open
    // Answers ask(); the built-in questions are "counts", "unmount MILLISECONDS", "mount SPEC",
    // "unmount-one DIR", "list" and "put NAME TEXT".
    std::function<std::string(ChildSide&, const std::string&)> answer = {};
    fs::MountTableOptions options = {};
    uid_t uid = 0;                      // the child's; also its gid
    std::function<void()> before = {};  // first of all in the child, still as root
    // The store to be shown; a model store when there is none.
    std::function<std::unique_ptr<Store>(const Clock&)> open = {};
  };

  // Why FUSE cannot be used here; empty if it can.
  static std::string unusable();

  explicit MountedChild(Plan plan);
  ~MountedChild();
  MountedChild(const MountedChild&) = delete;
  MountedChild& operator=(const MountedChild&) = delete;

  // First error of a mount; empty if all came up.
  const std::string& mount_error() const { return mount_error_; }
  std::string ask(const std::string& question);
  std::map<std::string, uint64_t> counts();
  pid_t pid() const { return pid_; }
  void kill_hard();  // kill -9; mounts stay behind and are the test's to clear
  // Ends the child now; returns what it wrote to stderr.
  std::string stop();

 private:
  [[noreturn]] void serve(int channel);
  std::string receive();

  Plan plan_;
  TempDir folder_{"child"};
  std::string mount_error_;
  pid_t pid_ = -1;
  int channel_ = -1;
  bool killed_ = false;
};

}  // namespace ebla::kit

// At the start of a test that mounts.
#define EBLA_NEED_FUSE()                                                    \
  if (const auto why = ebla::kit::MountedChild::unusable(); !why.empty()) { \
    GTEST_SKIP() << why;                                                    \
  }
