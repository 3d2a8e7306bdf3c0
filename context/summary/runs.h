// What a call ran, as a summary names it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/list/conversation.h"
#include "schema/base/json.h"

namespace ebla::context {

struct RunName {
  std::string what;                  // "bash: make -j2" on one line
  std::string kind;                  // kind_of_run(what)
  std::string group;                 // the same for calls that are much alike
  std::string folder;                // where it runs, "" unknown
  bool looks = false;                // it only looks at things: ls, grep, cat
  std::vector<std::string> written;  // files that a command redirects its output to
};
// `arguments`: given_arguments().
RunName run_name(const Part& call, const Json& arguments);
// Of a `what`, which a summary before may hold. The kind is the same for a call that tries the same
// again: of a command without its flags, "bash: make", of another call with the arguments that say
// what it is about alone, "fetch: url=x".
std::string kind_of_run(std::string_view what);
std::string group_of_run(std::string_view what);
// The command of a call, "" where it has none.
std::string command_text(const Json& arguments);

}  // namespace ebla::context
