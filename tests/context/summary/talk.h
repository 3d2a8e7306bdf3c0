// Conversations by hand, without a format: a body of JSON string tokens and the spans over it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "context/list/working_list.h"
#include "context/summary/summary.h"

namespace ebla::context::test {

// Messages are built by calls in order; `list()` has them all. Addresses stay valid while it lives.
class Talk {
 public:
  Talk() = default;
  Talk(Talk&&) = default;

  Talk& user(std::string_view text);
  Talk& assistant(std::string_view text);
  Talk& rules(std::string_view text);
  // A model message that says `text` ("" nothing) and calls a tool; JSON of the arguments.
  Talk& call(std::string_view id, std::string_view tool, std::string_view arguments,
             std::string_view text = "");
  Talk& result(std::string_view id, std::string_view tool, std::string_view text,
               bool error = false);
  Talk& image(std::string_view media_type, std::string_view base64);
  // The last part stands as a replacement.
  Talk& put_away(std::string_view path, uint64_t tokens, std::string_view replacement);
  Talk& id(std::string_view id);  // of the last message

  const std::string& body() const { return body_; }
  WorkingList& list() { return list_; }
  const WorkingList& list() const { return list_; }
  std::vector<const WorkingMessage*> all() const;
  SummaryInput input(size_t removed) const;

 private:
  Message& add(Role role);
  Part& part(PartKind kind);
  Span token(std::string_view text);

  std::string body_;
  std::deque<Message> messages_;
  WorkingList list_;
};

// A JSON string token of valid UTF-8; a surrogate that stands as three bytes is escaped.
std::string json_token(std::string_view text);

}  // namespace ebla::context::test
