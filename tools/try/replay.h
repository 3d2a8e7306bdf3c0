// A transcript sent through `prepare`, a model call at a time: what would have been decided when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/base/json.h"
#include "schema/base/result.h"
#include "tools/client.h"
#include "tools/try/transcript.h"

namespace ebla::tools {

struct ReplayOptions {
  std::optional<int64_t> window;  // tokens; not given: what is known of the model
  std::string model;              // "": the transcript's
};

// One call of the model. Tokens are the daemon's estimates of the list alone.
struct Turn {
  size_t messages = 0;   // of the list that the agent sent
  uint64_t without = 0;  // tokens of that list
  uint64_t with = 0;     // tokens of the list that `prepare` gave back
  uint64_t cached = 0;   // of these, at the front, as the call before had them
  uint64_t output = 0;   // tokens that the model answered with
  bool fits = true;
  bool degraded = false;
  std::vector<Json> actions;  // as ebla-control(7) has them
};

// A file that keeps what was put away.
struct KeptFile {
  size_t call = 0;  // number of the call, from 1
  std::string what;
  std::string tool;
  std::string path;
  uint64_t bytes = 0;
  uint64_t tokens_before = 0;
  uint64_t tokens_after = 0;
};

struct Replay {
  std::string model;  // "" for none
  std::string format;
  std::string folder;   // of the results in the tree
  std::string history;  // path in the tree
  uint64_t history_bytes = 0;
  uint64_t window = 0;  // 0: unknown
  uint64_t trigger = 0;
  std::vector<Turn> turns;
  std::vector<KeptFile> files;
};

// The daemon keeps what this puts away: give it one of its own (throwaway.h).
Result<Replay> replay(Client& client, const Transcript& transcript, const ReplayOptions& options);

}  // namespace ebla::tools
