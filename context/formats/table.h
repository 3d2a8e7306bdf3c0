// One row a format: each is a file with a class below FormatBase. What they share is here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/formats/format.h"
#include "context/formats/reading.h"
#include "context/formats/traits.h"

namespace ebla::context {

// Where results stand.
enum class ResultPlace : uint8_t {
  blocks,    // blocks of the user's message right behind the call, before all else in it
  messages,  // messages of their own, right behind the call
  anywhere,  // items of their own, anywhere behind the call
};

class FormatBase : public Format {
 public:
  std::string edit(std::string_view body, const Message& message,
                   std::span<const PartEdit> edits) const override;
  std::string user_message(const Conversation& conversation, std::string_view text) const override {
    return user_of(conversation, plain_content(text));
  }
  std::string merged_user(std::string_view body, const Message& message,
                          std::string_view text) const override;
  std::vector<Repair> repairs(std::string_view body,
                              const Conversation& conversation) const override;
  std::vector<Splice> repair_splices(std::string_view body, const Conversation& conversation,
                                     std::span<const Repair> repairs) const override;
  std::vector<std::string> breaches(std::string_view body,
                                    const Conversation& conversation) const override;

  virtual ResultPlace result_place() const = 0;
  // The content of a message of the user that says this and nothing else.
  virtual std::string plain_content(std::string_view text) const;
  // A block of text; `token` is the JSON string.
  virtual std::string text_block(bool of_model, std::string_view token) const;
  // The member that holds what a message says, in the JSON value of the message; absent: none.
  virtual JsonValue content_of(const JsonValue& message) const { return message["content"]; }
  // The object that holds that member.
  virtual JsonValue fields_of(const JsonValue& message) const { return message; }
  // A message of the user with this content, a JSON value, in the shape of this list.
  virtual std::string user_of(const Conversation& conversation, std::string_view content) const = 0;
  // The ids of calls and results in the JSON value of a message: one list for each place where it
  // says them, each in the order of its parts.
  virtual std::vector<std::vector<JsonValue>> call_ids(const JsonValue& message) const = 0;
  // A medium of a result as a block of the user's.
  virtual std::string user_media(std::string_view block) const { return std::string(block); }
  // A result of this text for a call, under its call_id as it is: a message, or a block where
  // results are blocks. "": nobody but the tool can tell what it would be.
  virtual std::string result_of(std::string_view body, const Conversation& conversation,
                                const Part& call, std::string_view text) const = 0;
  // Whether the provider takes a content of this shape; `result`: of this one, else of a message
  // that says something besides.
  virtual bool takes(ContentShape shape, std::string_view body, const Part* result) const;
  // The member of a result that holds what it says.
  virtual std::string_view result_member() const { return "content"; }
  // The first message, but for those of the system, must be the user's.
  virtual bool begins_with_user() const { return false; }
  // A text of white space alone is refused like an empty one.
  virtual bool refuses_blank() const { return false; }
  bool refuses(Showing text) const {
    return text == Showing::nothing || (text == Showing::white_space && refuses_blank());
  }
  // Rules of this format beyond the common ones, in words.
  virtual void own_rules(const JsonTree&, const Conversation&, std::vector<std::string>&) const {}
};

// A JSON string of this text, quotes included: strict JSON whatever the bytes.
std::string json_string(std::string_view text);
// {"name":value,…} of names and JSON values.
std::string json_object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);

// The format that fits best; invalid_params: none.
Result<const Format*> best_fit(const Traits& traits);
// A list that is read and what each of its elements shows.
Result<Conversation> read_as(const Format& format, const JsonTree& body,
                             std::span<const ElementTraits> each);

const Format& anthropic_format();
const Format& openai_format();
const Format& responses_format();
const Format& langchain_format();

}  // namespace ebla::context
