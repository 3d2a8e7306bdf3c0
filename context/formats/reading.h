// What the formats share in reading: parts from values of a body, with their facts.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/formats/json_tree.h"

namespace ebla::context {

// Fills one message after the other; not thread safe, keeps its buffers between messages.
class PartReader {
 public:
  // A block that only one format knows: true when it was read.
  using BlockHook =
      std::function<bool(PartReader&, Message&, const JsonValue& block, std::string_view type)>;
  struct Call {
    std::string id = {};
    std::string name = {};
    JsonValue arguments = {};  // an object, or a string
    bool free_form = false;    // the string is plain text, else it holds JSON
    bool provider_side = false;
  };
  struct Answer {
    std::string id = {};
    std::string name = {};
    JsonValue content = {};
    bool error = false;
    bool provider_side = false;
  };

  // A string, a list of blocks or of strings; anything else but null is unknown.
  void content(Message& message, const JsonValue& value, const BlockHook& hook = {});
  void text(Message& message, Span block, const JsonValue& token);
  void reasoning(Message& message, const JsonValue& block, const JsonValue& token);
  void unknown(Message& message, const JsonValue& block);
  void call(Message& message, const JsonValue& block, const Call& call);
  // The result, and behind it each image and document among its blocks as a part of its own.
  void result(Message& message, const JsonValue& block, const Answer& answer);
  // Role, identity and tokens, when all parts are there.
  void finish(Message& message);

 private:
  void block(Message& message, const JsonValue& value, const BlockHook& hook);
  bool media(Message& message, const JsonValue& block);
  void measure_media(Part& part, const JsonValue& token);

  std::string scratch_;
  std::string joined_;
  std::string first_;
};

// The text token of a block that is plain text in some format; absent: it is none.
JsonValue text_token(const JsonValue& block);

// The texts of one block of a result: its text, or what a shell wrote (that may be nothing).
// nullopt: the block is no text.
std::optional<std::vector<JsonValue>> result_texts(const JsonValue& block);

// Window count of system and tools, the members of a request that are sent beside its messages.
uint64_t overhead_of(const JsonValue& request, std::initializer_list<std::string_view> members);

// The list of messages: the root itself, or the member of it by this name.
struct ListFound {
  JsonValue list;
  JsonValue request;  // absent: the body is the list alone
};
Result<ListFound> find_list(const JsonTree& body, std::string_view member);
std::unexpected<Error> bad_place(std::string_view place, std::string_view fault);
// "messages[3]".
std::string place_of(std::string_view list, size_t index);

// One element of the list; says a fault in words or nothing. Called by several threads at once.
using ReadMessage = std::function<std::string(PartReader&, const JsonValue&, Message&)>;
Result<Conversation> read_list(const ListFound& found, std::string_view name,
                               const ReadMessage& read);

Role role_of_name(std::string_view name);  // "user", "assistant", …

}  // namespace ebla::context
