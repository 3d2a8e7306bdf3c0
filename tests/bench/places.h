// Folders of different file systems in which the same work is timed: ext4 (what the work folder
// lies on), a mount of ours, and passthrough_hp over ext4 where the user has it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/bench_kit.h"

namespace ebla::bench {

struct Place {
  std::string name;
  std::string folder;
};

class Places {
 public:
  Places(const Settings& settings, const WorkFolder& folder, const std::string& row);

  const std::vector<Place>& all() const { return all_; }
  const Place& ours() const { return all_[1]; }
  const Daemon& daemon() const { return *daemon_; }

 private:
  std::unique_ptr<Daemon> daemon_;
  std::optional<Child> passthrough_;
  std::vector<Place> all_;  // ext4, ours, passthrough
};

// Seconds of one piece of work, by place.
class Timings {
 public:
  explicit Timings(const Places& places) : places_(places), samples_(places.all().size()) {}
  // Each place once, one after the other.
  void round(const std::function<void(const Place&)>& work);
  // One row for each place that a target speaks of; 0: it speaks of none.
  void print(const char* number, const std::string& what, double most_ext4,
             double most_passthrough) const;

 private:
  const Places& places_;
  std::vector<Samples> samples_;
};

// A program of the system with its output thrown away; it must succeed.
void run(const std::vector<std::string>& command);
// The pages of all files below it are dropped.
void drop_pages_below(const std::string& folder);
void write_file(const std::string& path, std::string_view bytes);

}  // namespace ebla::bench
