// What the verbs share that work on the files of a store, without a daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/verb.h"

namespace ebla::tools {

// The first operand, else $EBLA_STORE, else this user's default store; absolute.
Result<std::string> store_of(const Call& call);

// "1 problem", "2 problems".
std::string counted(uint64_t number, std::string_view noun);

// One line that is written over again and again; nothing where the stream is no terminal.
class Progress {
 public:
  explicit Progress(Output& out) : out_(out) {}
  void show(const std::string& what, uint64_t done, uint64_t total);
  void clear();

 private:
  Output& out_;
  bool shown_ = false;
  std::string last_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace ebla::tools
