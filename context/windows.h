// The window of a model by the start of its name: shipped table, a user's file over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::context {

struct ModelWindow {
  std::string prefix;       // of the model's name; longest match wins; case counts not
  uint64_t window = 0;      // tokens, input and output together
  uint64_t max_output = 0;  // tokens reserved where a request does not say; 0: none
};

class WindowTable {
 public:
  static WindowTable shipped();
  // Lines "PREFIX WINDOW [MAX_OUTPUT]", '#' begins a comment; a file's rows win over what is
  // there. bad_configuration names file line and fault.
  Result<void> add(std::string_view text);
  const ModelWindow* find(std::string_view model) const;  // nullptr: unknown
 private:
  std::vector<ModelWindow> rows_;
};

}  // namespace ebla::context
