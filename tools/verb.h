// What a verb is. The verb table feeds the parser, the help texts and the shell completions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/base/result.h"
#include "schema/default_paths.h"
#include "tools/streams.h"

namespace ebla::tools {

struct Option {
  std::string_view name;   // without the dashes
  std::string_view value;  // how help names the value; empty for a flag
  std::string_view help;
};

struct Verb;

// A command line, taken apart and checked against the table.
struct Arguments {
  const Verb* verb = nullptr;
  bool json = false;
  bool help = false;
  bool version = false;
  std::optional<std::string> socket;
  std::vector<std::pair<std::string, std::string>> options;  // name, value; in order
  std::vector<std::string> operands;
  std::vector<std::string> passed;  // start: what goes to eblad as it is

  const std::string* find(std::string_view name) const;  // last one; nullptr when absent
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The value of an option as a number from `smallest` on (nullopt: not given); a usage error
  // naming option and value if it is none.
  Result<std::optional<int64_t>> number(std::string_view name, int64_t smallest = 0) const;
};

// What a verb works with.
struct Call {
  const Arguments& args;
  Streams& streams;
  const Environment& env;
  std::string socket;  // where the daemon is looked for
};

// Returns the exit status; run() prints an error and maps it.
using Handler = Result<int> (*)(Call& call);

enum class Passing { none, options, filter };

struct Verb {
  std::string_view name;
  std::string_view operands;  // as the usage line shows them
  std::string_view summary;   // one line, no full stop
  std::string_view description;
  std::span<const Option> options;
  size_t max_operands;
  // options: what the table does not know goes to eblad. filter: input from a pipe is passed on
  // to the output when the command line is wrong, so that nothing is lost.
  Passing passing;
  Handler handler;
  // Exit status of an error, where the verb has statuses of its own.
  int (*exit_status)(Code code) = nullptr;
};

std::span<const Verb> verbs();
const Verb* find_verb(std::string_view name);
std::span<const Option> global_options();

}  // namespace ebla::tools
