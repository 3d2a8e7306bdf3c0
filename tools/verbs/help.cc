#include "tools/help.h"

#include "tools/parse.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {

Result<int> run_help(Call& call) {
  if (call.args.operands.empty()) {
    return print(call, overview());
  }
  auto verb = verb_named(call.args.operands.front());
  if (!verb) {
    return std::unexpected(verb.error());
  }
  return print(call, help_of(**verb));
}

}  // namespace ebla::tools
