// What a request body says, in one shape for all formats. Values hold spans of the body, never
// copies of long texts: a conversation is of use only together with the body it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/hash.h"

namespace ebla::context {

enum class FormatId : uint8_t { anthropic, openai, responses, langchain };
std::string_view format_name(FormatId format);

// Bytes [begin, end) of the body.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  std::string_view of(std::string_view body) const { return body.substr(begin, end - begin); }
  bool operator==(const Span&) const = default;
};

// tool: nothing but results of tools, whatever the format calls whoever brings them. A user
// message that holds results and words besides is the user's.
enum class Role : uint8_t { system, developer, user, assistant, tool, other };

enum class PartKind : uint8_t {
  text,         // of whoever speaks
  tool_call,    // the model asks for a tool; provider-side tools too
  tool_result,  // what the tool answered
  image,        // inline data or a link
  document,     // PDF, audio, file: inline data or a link
  reasoning,    // never edited; dropped only together with its whole group
  unknown,      // counted by its serialised size
};

// How a body writes what a message or a result says.
enum class ContentShape : uint8_t {
  text,     // a string; also where a message has no content of its own
  blocks,   // a list of objects
  strings,  // a list in which strings stand, too
  mixed,    // a list that holds something else
  object,   // one object
  other,    // a number, true or false
  null,
  absent,
};

// What a text shows.
enum class Showing : uint8_t {
  words,
  white_space,  // alone
  nothing,      // it is empty
};

// What its text counts, and what it is found by. Of a tool call: its arguments, canonical. Of
// media: the bytes that its base64 stands for.
struct PartFacts {
  Hash128 hash;             // XXH3-128 of the decoded text (blocks joined by LF)
  uint64_t bytes = 0;       // of the decoded text
  uint64_t characters = 0;  // code points
  uint64_t lines = 0;       // LF ends a line; text after the last LF is one more
  uint64_t class_sum = 0;   // size rule (scan.h)
  uint64_t tokens = 0;      // window count (tokens.h), unscaled
};

// A result that answers no call of the list, as a repair carries it on in words of the user
// (formats/carried.h). The part has its call id and tool, as far as the words tell them.
struct Carried {
  std::string lead;  // the words in front of what the tool said
  PartFacts facts;   // of what it said
};

struct Part {
  PartKind kind = PartKind::text;
  Span span;                // the block; of plain string content: the string token
  std::vector<Span> texts;  // the string tokens, quotes included, that are its text in order
  Span arguments;           // tool_call: the object, or the string token that holds JSON
  Span content;             // tool_result: the value that a replacement stands for (string or list)
  std::string call_id;      // tool_call, tool_result, carried: as the client gave it, decoded
  uint32_t number = 0;      // of a call of an id that others bear, too (call_ids.h)
  std::string tool;         // name; of a result: where the format or the call tells it
  bool named_by_call = false;  // tool_result: it was the call that told its tool
  bool free_form = false;      // tool_call: the arguments are plain text, not JSON
  std::string media_type;      // image, document: "image/png"
  // image, document: the string token of base64 data or of a data URL. Empty: a link (then that is
  // its text), or a document of plain text. One among the blocks of a result is a part of its own
  // behind the result, its span within the result's.
  Span data;
  bool provider_side = false;               // the provider runs the tool and keeps the pair itself
  bool error = false;                       // tool_result: marked as failed
  ContentShape shape = ContentShape::text;  // tool_result: of its content
  bool immovable = false;                   // image: no text can stand in its place
  bool stand_in = false;                    // text: a repair put it there, nobody said it
  Showing showing = Showing::words;        // text, tool_result: that of its texts which shows least
  std::shared_ptr<const Carried> carried;  // text: of these words
  PartFacts facts;
};

struct Message {
  Role role = Role::other;
  Span span;                // its JSON value
  uint64_t bytes_hash = 0;  // XXH3 of that, as it is written
  std::vector<Part> parts;
  ContentShape shape = ContentShape::text;  // of its content
  // Engine identity of the message as it stands here (replacements not resolved): role, text, call
  // ids, tool names, canonical arguments, result texts. The same in all formats; blind to
  // reasoning, cache marks, ids and fields that providers or frameworks add.
  Hash128 identity;
  uint64_t tokens = 0;  // window count of all parts and of the frame around them
  std::string id;       // the message's own id, where it has one
  uint16_t traits = 0;  // what it shows of its format (formats/traits.h); 0: nobody has looked
};

struct PartAt {
  size_t message = 0;
  size_t part = 0;
  bool operator==(const PartAt&) const = default;
};

struct Pair {
  PartAt call;
  PartAt result;
};

// Which result answers which call (formats/pairs.h).
struct Pairing {
  std::vector<Pair> pairs;         // by the place of the result
  std::vector<PartAt> unanswered;  // calls, in order
  std::vector<PartAt> strays;      // results without a call before them, in order
  std::vector<Pair> second;        // results of a call that has one already, in order
  std::vector<PartAt> outdated;    // results of ours that say there is none, of calls that have one
  bool id_repeats = false;         // some id is more than one call's
};

struct Conversation {
  FormatId format = FormatId::anthropic;
  Span list;                   // the array of messages, brackets included
  bool whole_request = false;  // the body is the request; else it is the list alone
  std::vector<Message> messages;
  Pairing pairing;    // of them
  uint8_t shape = 0;  // the format's own: how messages of this list are wrapped
  std::string model;
  uint64_t max_output = 0;       // tokens, 0: not said
  uint64_t overhead_tokens = 0;  // system, tool definitions, all that is sent beside the messages
  // The provider holds what came before (previous_response_id, conversation): only fresh items may
  // be touched.
  bool partial = false;
};

// What a tool said that the client runs: a result, or one that is carried on. Both are put away by
// the same rules.
inline bool is_answer(const Part& part) {
  return part.carried != nullptr || (part.kind == PartKind::tool_result && !part.provider_side);
}
// What a part is put away by and found again.
inline const PartFacts& item_facts(const Part& part) {
  return part.carried ? part.carried->facts : part.facts;
}

// A model message: what fresh and settled are told by.
inline bool is_model(const Message& message) {
  return message.role == Role::assistant;
}

}  // namespace ebla::context
