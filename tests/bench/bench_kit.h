// What the rows share: a running eblad, samples and their percentiles, a table that prints itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"
#include "tools/client.h"

namespace ebla::bench {

// The folder that all rows use; on the file system whose floor is measured.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& below);
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// A child process that says on a descriptor that it is ready; ended by SIGTERM.
class Child {
 public:
  // Waits for a byte on the pipe whose write end the child finds as descriptor `ready_fd`, or, when
  // `mount` is not empty, for a FUSE file system to be there.
  Child(std::vector<std::string> command, int ready_fd, const std::string& mount = "");
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

struct Daemon {
  std::string store, socket, mount;
  Child child;
  Daemon(const std::string& eblad, const WorkFolder& folder, const std::string& name);
};

// Throws, so that daemons and mounts end on the way out; main prints it.
[[noreturn]] void die(const std::string& text);
template <class T>
T must(Result<T> result, std::string_view what) {
  if (!result) die(std::string(what) + ": " + result.error().text);
  return std::move(*result);
}

class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  double percentile(double share) const;  // 0.5: median
  double median() const { return percentile(0.5); }
  double max() const { return percentile(1.0); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<double> values_;
};

double seconds(const std::function<void()>& work);
uint64_t anonymous_bytes(pid_t pid);  // RssAnon
// Of a process, all its threads: what a busy machine does not lengthen.
double processor_seconds(pid_t pid);

struct Row {
  std::string number, metric, measured, floor, ratio, target;
  bool reached = false;
};
void print(const Row& row);

// Distinct text of that size: nothing may be recognised as known.
std::string distinct_text(size_t bytes, uint64_t seed);

struct Settings {
  std::string eblad;        // the daemon's binary
  std::string nullfs;       // the floor of the mount; built beside this program
  std::string passthrough;  // libfuse's passthrough_hp, where the user has it; else empty
  std::string folder;       // parent of the work folder
  unsigned rounds = 200;
};

void row_put_away(const Settings& settings, const WorkFolder& folder);       // P1
void row_clients(const Settings& settings, const WorkFolder& folder);        // P2
void row_history(const Settings& settings, const WorkFolder& folder);        // P3
void row_read(const Settings& settings, const WorkFolder& folder);           // P4, P5
void row_grep(const Settings& settings, const WorkFolder& folder);           // P6
void row_open_and_list(const Settings& settings, const WorkFolder& folder);  // P7
void row_prepare(const Settings& settings, const WorkFolder& folder);        // P10
void row_delete(const Settings& settings, const WorkFolder& folder);         // P13
void row_archive(const Settings& settings, const WorkFolder& folder);        // P14
void row_large_store(const Settings& settings, const WorkFolder& folder);    // P15
void row_ping(const Settings& settings, const WorkFolder& folder);           // P16
void row_memory(const Settings& settings, const WorkFolder& folder);         // P17
void row_size(const Settings& settings, const WorkFolder& folder);           // P18
void row_notice(const Settings& settings, const WorkFolder& folder);         // P20

}  // namespace ebla::bench
