// Patterns of file names: `*` and `?` within a name, `[abc]`, `{a,b}`, `**` over folders, `\`
// before what is meant as it is. Immutable after compile().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::daemon {

class Glob {
 public:
  // invalid_params: empty, too long, an open bracket, too many alternatives.
  static Result<Glob> compile(std::string_view pattern);
  // `path` is relative to the folder where the search began, without a slash at either end. A
  // pattern without a slash means the name at any depth, one with a slash the path; a slash at the
  // end means folders only. A name that begins with a dot is matched only where the pattern has a
  // dot there.
  bool matches(std::string_view path, bool folder) const;

 private:
  struct Form {
    std::vector<std::string> elements;
    bool folders_only = false;
  };
  std::vector<Form> forms_;  // one for each alternative
};

}  // namespace ebla::daemon
