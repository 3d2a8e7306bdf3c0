// Conversations by hand, sizes in tokens: a text of n tokens has 4 n ASCII characters. No JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/list/known.h"
#include "context/plan/plan.h"

namespace ebla::context {

class ListBuilder {
 public:
  // Every text is another one, but where `text` names it: equal names are equal texts.
  ListBuilder& rules(uint64_t tokens, std::string_view text = "");
  ListBuilder& developer(uint64_t tokens, std::string_view text = "");
  ListBuilder& user(uint64_t tokens, std::string_view text = "");
  ListBuilder& model(uint64_t tokens, std::string_view text = "");
  ListBuilder& reasoning(uint64_t tokens);
  // One model message that calls a tool under each id.
  ListBuilder& calls(const std::vector<std::string>& ids, std::string_view tool = "bash",
                     uint64_t tokens = 20);
  // One message for one result, or one for all.
  ListBuilder& result(std::string_view id, uint64_t tokens, std::string_view tool = "bash");
  ListBuilder& results(const std::vector<std::pair<std::string, uint64_t>>& results,
                       std::string_view tool = "bash");
  // A user's message with this many bytes of base64.
  ListBuilder& image(uint64_t bytes, PartKind kind = PartKind::image);
  // Another part of the last message.
  ListBuilder& also_text(uint64_t tokens, std::string_view text = "");
  ListBuilder& also_image(uint64_t bytes);

  Part& last_part() { return conversation.messages.back().parts.back(); }
  Conversation done();  // identities and counts as parsing gives them

  Conversation conversation;

 private:
  ListBuilder& add(Role role, PartKind kind, uint64_t tokens, std::string_view text);
  Part part(PartKind kind, uint64_t tokens, std::string_view text);
  uint64_t next_ = 0;
};

PartFacts facts_of(std::string_view text, uint64_t tokens);

// A WorkingList's own_reader: the first part of the client's message `index` is one.
inline std::function<bool(const WorkingMessage&, size_t)> is_at(size_t index) {
  return [index](const WorkingMessage& message, size_t part) {
    return message.index == index && part == 0;
  };
}

// The list with nothing known of it.
WorkingList list_of(const Conversation& conversation, const Settings& settings = {},
                    const std::vector<uint64_t>& pinned = {});

// "message.part" of each plan, in order.
std::vector<std::string> places(const std::vector<ItemPlan>& plans);

}  // namespace ebla::context
