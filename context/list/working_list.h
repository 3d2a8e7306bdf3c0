// The list as it will be sent, while decisions are taken: every part either stands as the client
// sent it or has a stored replacement. Planners read it; whoever carries a plan out writes it, with
// the few functions at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context/list/conversation.h"
#include "schema/model.h"

namespace ebla::context {

// One string argument of a call that is long enough to be put away.
struct WorkingArgument {
  std::string name;
  PartFacts facts;        // of its text as the client sent it
  bool replaced = false;  // as in WorkingPart
  bool kept = false;
  std::string text;
  std::string path;
  uint64_t original_tokens = 0;
};

struct WorkingPart {
  bool replaced = false;  // stands as a replacement, by an earlier decision or this call's
  bool kept = false;      // was tried: its replacement would not halve it; never planned again
  std::string text;       // that replacement, when it is not what the client sent
  std::string path;       // of the file in the tree
  uint64_t original_tokens = 0;            // by size rule
  uint64_t tokens = 0;                     // window count as it stands now, unscaled
  bool never = false;                      // settings say that it stays
  bool always = false;                     // settings say that it goes, whatever its size
  bool late = false;                       // of a result that the model has not read, though a
                                           // message of it stands behind (late_results())
  std::vector<WorkingArgument> arguments;  // of a call
  std::string medium;                      // of an image or document: ListMedium::id
};

struct WorkingMessage {
  const Message* message = nullptr;
  size_t index = 0;     // in the client's list
  uint64_t place = 0;   // in the whole conversation, from 0, leading system messages not counted
  Hash128 identity;     // with replacements resolved to originals
  Hash128 chain;        // of everything up to and with this message
  bool fresh = false;   // after the last model message
  bool pinned = false;  // stays as it is, in front of the summary
  bool first_task = false;  // what the user asked for first
  uint64_t tokens = 0;      // window count as it stands now, unscaled
  std::vector<WorkingPart> parts;
};

// Parts of the message as the client sent it that stand in front of those of the list: the
// summary's, where it is split.
inline size_t parts_in_front(const Conversation& conversation, const WorkingMessage& message) {
  return conversation.messages[message.index].parts.size() - message.message->parts.size();
}

// The model has not seen it yet.
inline bool is_fresh(const WorkingMessage& message, size_t part) {
  return message.fresh || message.parts[part].late;
}

// Messages that a known or new pass stands for are gone from `messages`. The client's list is
// [0, covered), for which `pins` and `summary` stand, and then `messages`.
struct WorkingList {
  const Conversation* conversation = nullptr;
  std::vector<WorkingMessage> pins;  // in front, as they are; leading system messages always
  std::string summary;               // of the pass applied; empty: none
  uint64_t summary_tokens = 0;       // unscaled
  uint64_t covered = 0;
  // The client's list itself begins with pins and summary; this message carries the latter.
  std::optional<size_t> carrier;
  std::vector<uint64_t> pinned;          // places that the pass applied keeps in front
  std::vector<WorkingMessage> messages;  // the rest
  double ratio = 1;                      // reported over counted tokens of this model
  // Tokens that the provider reported for a list that this one begins with, less what was counted
  // (ratio included) for it; 0 after a pass.
  int64_t correction = 0;
  // What is left of a message whose beginning carries the summary.
  std::vector<std::shared_ptr<const Message>> split;
  // Whether a result is of Ebla's own reading tools: exempt from item limits. Asked for what a plan
  // would take, which is little of a list; empty: none is.
  std::function<bool(const WorkingMessage& message, size_t part)> own_reader;

  bool is_reader(const WorkingMessage& message, size_t part) const {
    return own_reader && own_reader(message, part);
  }
  uint64_t counted() const;  // tokens of all, overhead included, scaled and corrected
};

// The replacement takes the part's place, or that of one argument of it. `tokens`: its window
// count.
void replace_part(WorkingMessage& message, size_t part, std::string text, std::string path,
                  uint64_t tokens);
void replace_argument(WorkingMessage& message, size_t part, std::string_view argument,
                      std::string text, std::string path, uint64_t tokens);
// The new count of a part, and with it of its message.
void count_part(WorkingMessage& message, WorkingPart& part, uint64_t tokens);
// It stays for good: planners pass it over. An argument by its name, "" the part.
void keep_part(WorkingMessage& message, size_t part, std::string_view argument);
// An item is replaced only if that at least halves it; both by size rule.
inline bool halves(uint64_t tokens_before, uint64_t tokens_after) {
  return tokens_after <= tokens_before / 2;
}

// What a pass over the first `cut` messages is found by, from now on and in any list.
struct PassKey {
  Hash128 prefix;
  uint64_t messages = 0;
  std::vector<uint64_t> pinned;  // places, ascending
};
PassKey pass_key(const WorkingList& list, size_t cut);
// The first `cut` messages give way to this summary; the pinned ones among them go in front.
void cover(WorkingList& list, size_t cut, std::string summary, uint64_t tokens);

}  // namespace ebla::context
