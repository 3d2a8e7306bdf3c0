// Where the text of a call's argument lies by itself: in the file that the tool wrote.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "context/formats/format.h"

namespace ebla::context {

// Whether tools call the path of a file so.
bool is_path_name(std::string_view argument);
// False: no argument of this call, unread, is called so.
bool may_name_path(std::string_view arguments);
// The path that a call names, as it names it; "": none.
std::string named_path(std::span<const StringArgument> arguments);

// The files that the calls of one list wrote. Reads the list once; body and conversation must
// outlive it.
class OwnFiles {
 public:
  // `writes`: whether a tool of this name changes the file that its call names.
  OwnFiles(std::string_view body, const Conversation& conversation,
           const std::function<bool(const std::string& tool)>& writes);

  // The file that an argument of this call went into and where it still stands as far as the list
  // tells: the call did not fail, and no later one changed the file. "": none, or a path that no
  // text may name: long, of odd characters, of another machine. What a tool replaced, and patches,
  // stand in no file.
  std::string of(size_t message, size_t part, std::string_view argument) const;

 private:
  using At = std::pair<size_t, size_t>;
  std::string_view body_;
  const Conversation& conversation_;
  std::map<std::string, At, std::less<>> last_;  // call by the path that it names
  std::set<At> went_well_;
};

}  // namespace ebla::context
