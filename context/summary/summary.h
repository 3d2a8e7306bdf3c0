// Summaries: what a summariser is asked, what is accepted from it, the extract that needs none, and
// the message that stands for the removed part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/item/doors.h"
#include "context/list/part_text.h"
#include "context/list/working_list.h"
#include "schema/base/result.h"

namespace ebla::context {

struct SummaryInput {
  std::string_view body;
  const WorkingList* list = nullptr;
  size_t removed = 0;        // the first so many of list->messages go
  std::string earlier;       // summary proper of the pass that is in force, "" none
  std::string focus;         // what the caller wants kept in view, "" nothing
  uint64_t max_tokens = 0;   // of the summary proper
  std::string history_path;  // as the agent sees it
  Excerpt excerpt;
};

// What a model is asked. Stable to the byte for the same input.
struct SummaryRequest {
  std::string id;           // hex, hash of the removed prefix and of the prompts' version
  std::string instruction;  // appended as last user message to the request just sent
  std::string prompt;       // stand-alone form: instruction and transcript
  uint64_t max_tokens = 0;
};
std::string summary_id(Hash128 prefix);
SummaryRequest summary_request(const SummaryInput& input, Hash128 prefix);
// Whether prompt and answer have room in the summariser's window; 0 is a window without end.
bool fits_window(const SummaryRequest& request, uint64_t window_tokens);
// The same for a window that may have no room for all: then the answer is shorter, and of the
// transcript long texts are cut to one length, then entries of the middle are left out, and it says
// so. Error as summary_shares.
Result<SummaryRequest> summary_request_within(const SummaryInput& input, Hash128 prefix,
                                              uint64_t window_tokens);

// How a window that has no room for all is shared out, in tokens: the transcript gets half of it at
// least, what else there is in a prompt shrinks with it.
struct SummaryShares {
  uint64_t answer = 0;     // and the summary of what came before
  uint64_t reference = 0;  // at most, each: focus, the request before, the pinned messages
  uint64_t piece = 0;      // of the transcript
};
// too_large: the window is so small that this cannot be.
Result<SummaryShares> summary_shares(const SummaryInput& input, uint64_t window_tokens);
// Pieces of the transcript, one at least, which together cover everything; each becomes a prompt of
// its own, with the instruction and what came out of the pieces before.
std::vector<std::string> summary_chunks(const SummaryInput& input, const SummaryShares& shares);
std::string chunk_prompt(const SummaryInput& input, const SummaryShares& shares,
                         std::string_view chunk, size_t number, size_t of, std::string_view so_far);

// Refused with the reason: empty, boilerplate, not smaller than what it stands for, a required
// heading missing, invalid UTF-8, longer than 4 times its cap. What is accepted may still be cut to
// the cap.
Result<std::string> accept_summary(std::string_view text, uint64_t removed_tokens,
                                   uint64_t max_tokens);

// No model: goal, constraints, done, open, decisions, files and artifacts, next steps, from what
// stands in the messages.
std::string extract_summary(const SummaryInput& input);

// The one message that stands for the removed part.
struct SummaryMessageInput {
  SummaryInput input;
  std::string summary;                  // proper: accepted, or an extract
  uint64_t window = 0;                  // tokens; 0 unknown: fixed caps
  std::vector<uint64_t> message_lines;  // of the history: one line number per removed message
  std::string older;                    // "where to look" of the pass before, "" none
  Doors doors;                          // as they can be used: see usable_doors
};
// What the user said, and the current request, go on from input.list->summary where the removed
// part itself does not have them. However often passes are chained, the message stays within
// input.max_tokens (the summary), kUserWordsShare of the window, kWhereToLookTokens, the current
// request, and a few hundred tokens of our own words.
std::string summary_message(const SummaryMessageInput& input);

// A text of the user, as a summary message holds it.
struct UserWords {
  std::string text;
  std::string note;  // line below it: how much of it is shown; "" all
};
// Such a message taken apart: what a later pass goes on from. All empty when it is none.
struct SummaryParts {
  std::string summary;           // proper
  std::vector<UserWords> words;  // newest first
  std::string current_request;   // "" none
  std::string where_to_look;
};
SummaryParts parts_of_summary(std::string_view message);

}  // namespace ebla::context
