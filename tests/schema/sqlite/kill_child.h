// A child of the test that works on a store until it is killed, and tells what was acknowledged.
//
// EBLA_KILL_ROUNDS: how often (20).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/store.h"

namespace ebla {

extern const char* self_path;  // the program of the test, which is the child's too

struct Child {
  pid_t pid = 0;
  UniqueFd out;  // what it writes to its standard output
};
// Runs this program with the arguments FLAG STORE NUMBER.
Child start_child(std::string flag, std::string store, uint64_t number);
// Waits for it; the test fails when SIGKILL was not what ended it.
void expect_killed(const Child& child);
uint64_t kill_rounds();

// nullptr, and a line on standard error, when it cannot be opened.
std::unique_ptr<Store> open_at(const std::string& path, const Clock& clock);

// The child of history_kill_test.cc.
int history_child(const std::string& path);

}  // namespace ebla
