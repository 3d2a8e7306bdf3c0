// Sentences that say what is wanted, ruled out, decided or next, found by the words that mark them
// in the languages that users write. They are quoted, never interpreted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ebla::context {

enum class Mark : uint8_t {
  constraint,  // must, never, always, do not, only, …
  wish,        // should, prefer, without, …: it often is one
  decision,    // decided, instead of, going with, …
  intent,      // next, let me, I will, …
};

// Clean one-line sentences of `text`, in order; of a long text those of its start and end. Code
// blocks are left out.
std::vector<std::string> sentences_of(std::string_view text);
// Items of lists below a line like "Rules:", whatever words are in them.
std::vector<std::string> listed_rules(std::string_view text);
bool asks(std::string_view sentence);  // it is a question
bool bears(std::string_view sentence, Mark mark);
// Both at once.
std::vector<std::string> marked_sentences(std::string_view text, Mark mark);

}  // namespace ebla::context
