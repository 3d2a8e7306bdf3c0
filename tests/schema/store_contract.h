// What every engine of the Store interface must do: one suite, each sentence of the contract a
// test, run over every engine there is.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/store.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

namespace ebla {

inline constexpr uint32_t kDaemonUid = 4711;
inline constexpr uint32_t kDaemonGid = 4712;

struct Engine {
  std::string name;
  bool durable = false;  // opening it again in the same folder finds what was there
  std::function<std::unique_ptr<Store>(const std::string& folder, const Clock& clock)> open;
};
std::vector<Engine> engines();
inline void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

class StoreContract : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Store& store() { return *store_; }
  // Closes the store and opens it again; skips the test's rest for an engine that forgets.
  void reopen();

  Ino results() { return ino_of("/", "large_tool_results"); }
  Ino histories() { return ino_of("/", "conversation_history"); }
  // 0 when there is no such name.
  Ino ino_of(std::string_view folder, std::string_view name);
  Ino resolve_ino(std::string_view path);

  // Puts `bytes` away and checks that what the outcome says is there.
  EvictionOutcome put(const Session& session, std::string_view call_id, std::string bytes,
                      std::string_view stem = "");
  void expect_file(const EvictionOutcome& outcome, std::string_view bytes);

  ManualClock clock_;
  kit::TempDir folder_{"store"};
  std::unique_ptr<Store> store_;
};

}  // namespace ebla
