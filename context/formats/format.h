// A message format: how a body is read, how one message of it is written again with parts
// replaced, what makes a list valid. One file and one row of the table each.
//
// All functions are pure and thread safe. Every byte of a body that no edit touches comes out as
// it came in: number text, key order, duplicate keys, escapes, unknown fields.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context/list/conversation.h"
#include "schema/base/result.h"

namespace ebla::context {

class JsonTree;  // json_tree.h
struct Traits;   // traits.h

// What stands in place of one part from now on.
struct PartEdit {
  size_t part = 0;
  // Which: the content of a result, the text of a text part, the media or unknown block as a text
  // block, or one string argument of a call by its name ("content"; top level of the arguments
  // only; of a free-form call whatever the name). Reasoning and what the provider keeps itself are
  // left as they are.
  enum class What : uint8_t { content, argument } what = What::content;
  std::string argument;
  std::string text;  // bytes that the model shall see; written as strict JSON
};

// One change of the list: `remove` messages from `index` on go, `insert` (JSON values) come.
struct Splice {
  size_t index = 0;
  size_t remove = 0;
  std::vector<std::string> insert;
};

// What the provider would refuse, and `part` of `message` that it is about.
struct Repair {
  size_t message = 0;
  enum class What : uint8_t {
    dangling_call,     // no result, and the list goes on behind it: it gets one that says so
    stray_result,      // no call before it, or the call has its result already: what it says goes
                       // on as words of the user
    outdated_result,   // ours, that says there is none, and the true one has come: it goes
    misplaced_result,  // not where the format wants it: it moves behind its call
    repeated_id,       // a call bears the id of another: it gets one of its own, and its result
    empty_content,     // a placeholder takes its place; part = parts.size(): all of the message
    wrong_type,        // neither text nor blocks: it becomes that; part = parts.size(): as above
    no_user_first,     // the list begins with the model: a message of the user goes before it
  } what = What::dangling_call;
  size_t part = 0;
  bool operator==(const Repair&) const = default;
};

class Format {
 public:
  virtual ~Format() = default;
  virtual FormatId id() const = 0;
  // How well a body fits, 0 not at all; the best of the table wins, ties by its order. A list that
  // fits two stays valid in both.
  virtual int fitness(const Traits& traits) const = 0;
  virtual Result<Conversation> read(const JsonTree& body) const = 0;
  // invalid_params with the place of the first fault ("messages[3].content: …"). `behind`: bytes
  // that may be read behind the body (JsonTree).
  Result<Conversation> parse(std::string_view body, size_t behind = 0) const;

  // The message again with these edits; ascending by part. An image among the blocks of a result
  // stays where a replacement takes the place of its texts.
  virtual std::string edit(std::string_view body, const Message& message,
                           std::span<const PartEdit> edits) const = 0;
  // A user message of this text, in the shape of this list.
  virtual std::string user_message(const Conversation& conversation,
                                   std::string_view text) const = 0;
  // The same message with `text` before what it says: where two user messages may not follow each
  // other.
  virtual std::string merged_user(std::string_view body, const Message& message,
                                  std::string_view text) const = 0;
  // The summary and the user's message behind it are one. What stands in front of it stays as it
  // is: the vendors take several messages of the user in a row for one.
  virtual bool needs_alternation() const = 0;

  virtual std::vector<Repair> repairs(std::string_view body,
                                      const Conversation& conversation) const = 0;
  // The splices that carry them out: none for the same list again.
  virtual std::vector<Splice> repair_splices(std::string_view body,
                                             const Conversation& conversation,
                                             std::span<const Repair> repairs) const = 0;
  // What the provider would refuse, in words for the log, without positions; empty: valid. Faults
  // that the client's own list had are no breach of ours: the caller compares. Calls of the live
  // turn at the end may lack their results.
  virtual std::vector<std::string> breaches(std::string_view body,
                                            const Conversation& conversation) const = 0;
};

std::span<const Format* const> formats();
const Format& format_of(FormatId id);
// By name ("anthropic", "openai", "responses", "langchain"); nullptr: unknown.
const Format* find_format(std::string_view name);
// invalid_params when none fits.
Result<const Format*> detect_format(std::string_view body);
// Both at once, at the cost of parse().
Result<Conversation> parse_any(std::string_view body, size_t behind = 0);

// ---- What all formats share.

// Indexes c where [0, c) and [c, n) hold only whole groups: a call and all its results, a
// reasoning item and what it led to, never stand on two sides. 0 and n are among them.
std::vector<size_t> cut_points(const Conversation& conversation);
// The text of a part, decoded (WTF-8: a lone surrogate as its 3 bytes), blocks joined by LF. Of a
// call its arguments, canonical; of an unknown part, or an unknown block of a result, its JSON.
std::string text_of(std::string_view body, const Part& part);
// At most `bytes` of its start, cut on a code point.
std::string text_start(std::string_view body, const Part& part, size_t bytes);
// String members at the top of a call's arguments, in order.
struct StringArgument {
  std::string name;
  std::string text;  // decoded
};
std::vector<StringArgument> string_arguments(std::string_view body, const Part& call);
// Base64 data of an image or document, decoded; invalid_params when it is none.
Result<std::string> media_bytes(std::string_view body, const Part& part);
// The list's splices carried out on the body: the whole body, or the list alone.
std::string apply_splices(std::string_view body, const Conversation& conversation,
                          std::span<const Splice> splices);
// Conversation of the spliced body, reading only what is new.
std::vector<std::string> spliced_messages(std::string_view body, const Conversation& conversation,
                                          std::span<const Splice> splices);

// Reads a body that begins like one read before, whose first `same` bytes are the same: the
// messages that lie in them are taken over (moved), the rest is read. Same result as parse(), at
// the cost of what is new.
Result<Conversation> parse_after(const Format& format, std::string_view body, size_t same,
                                 Conversation earlier);
// The same as parse_any(); `earlier` is of that, too.
Result<Conversation> parse_any_after(std::string_view body, size_t same, Conversation earlier);
// How many bytes at their beginnings are the same.
size_t common_prefix(std::string_view a, std::string_view b);

}  // namespace ebla::context
