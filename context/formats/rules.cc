// What a provider would refuse in a list. Written apart from the repairs, so that one finds the
// faults of the other.
#include <algorithm>
#include <map>
#include <set>

#include "context/formats/call_ids.h"
#include "context/formats/table.h"

namespace ebla::context {
namespace {

class Rules {
 public:
  Rules(const FormatBase& format, std::string_view body, const Conversation& conversation)
      : format_(format), body_(body), messages_(conversation.messages), live_(turn_at_end()) {}

  std::vector<std::string> check() {
    if (messages_.empty()) report("the list is empty");
    for (size_t m = 0; m < messages_.size(); ++m) {
      check_order(m);
      check_texts(messages_[m]);
      for (const Part& part : messages_[m].parts) {
        if (!part.provider_side) check_pair(m, part);
        if (part.provider_side && part.kind == PartKind::tool_call) others_.insert(id_of(part));
      }
    }
    close_calls(messages_.size());
    return std::move(breaches_);
  }

 private:
  void report(std::string text) { breaches_.push_back(std::move(text)); }

  // Calls of the turn that the list ends in may be about to run, when the last that it says is one.
  size_t turn_at_end() const {
    size_t begin = messages_.size();
    const bool asks =
        begin > 0 && std::ranges::any_of(messages_.back().parts, [](const Part& part) {
          return part.kind == PartKind::tool_call;
        });
    if (!asks) return begin;
    const bool one = format_.result_place() == ResultPlace::messages;
    while (begin > 0 && is_model(messages_[begin - 1])) {
      --begin;
      if (one) break;
    }
    return begin;
  }

  static std::string id_of(const Part& part) {
    return part.call_id.empty() ? part.tool : written_id(part);
  }

  bool leads(size_t m) const {  // system and developer messages stand in front
    return messages_[m].role == Role::system || messages_[m].role == Role::developer;
  }

  void check_order(size_t m) {
    const bool first = m == 0 || leads(m - 1);
    if (m > 0 && leads(m) && !leads(m - 1)) report("a message of the system behind others");
    if (first && (is_model(messages_[m]) || messages_[m].role == Role::tool)) {
      report("the list does not begin with a message of the user");
    }
    if (!format_.needs_alternation() || m == 0) return;
    // Of the user there may be several: they are read as one.
    if (is_model(messages_[m]) && is_model(messages_[m - 1])) {
      report("two messages of the model in a row");
    }
  }

  void check_texts(const Message& message) {
    if (message.parts.empty()) report("a message without content");
    const bool odd = !message.parts.empty() && !format_.takes(message.shape, body_, nullptr);
    if (odd) report("a content that is neither text nor blocks");
    for (const Part& part : message.parts) {
      if (part.kind != PartKind::tool_result || part.provider_side) continue;
      if (!format_.takes(part.shape, body_, &part))
        report("a result that is neither text nor blocks");
    }
    for (const Part& part : message.parts) {
      if (part.kind != PartKind::text) continue;
      const bool block = !part.span.of(body_).starts_with('"');
      if (format_.refuses(part.showing) && (block || message.parts.size() == 1))
        report("an empty text");
    }
  }

  // Calls wait for their results: until the model's next turn or the first other word, or for
  // ever.
  void check_pair(size_t m, const Part& part) {
    const ResultPlace place = format_.result_place();
    if (part.kind == PartKind::tool_call) {
      if (place != ResultPlace::anywhere && m != calls_at_ && !same_turn(m)) close_calls(m);
      calls_at_ = m;
      open_.insert({id_of(part), m});
      ++ids_[id_of(part)];
      return;
    }
    if (part.kind == PartKind::tool_result) {
      if (ids_[id_of(part)] > 1) report("two calls of one id: " + id_of(part));
      if (open_.erase(id_of(part)) == 0 && !others_.contains(id_of(part))) {
        report("a result without its call: " + id_of(part));
      }
      result_end_ = part.span.end;
      return;
    }
    const bool within_result = part.span.end <= result_end_ && part.kind != PartKind::text;
    if (place == ResultPlace::anywhere || within_result || is_model(messages_[m])) return;
    close_calls(m);
  }

  // Several messages of the model in a row are one turn where results are blocks.
  bool same_turn(size_t m) const {
    if (format_.result_place() != ResultPlace::blocks) return false;
    for (size_t i = calls_at_; i < m; ++i) {
      if (!is_model(messages_[i])) return false;
    }
    return true;
  }

  // No result may follow for what is open now.
  void close_calls(size_t end) {
    for (const auto& [id, m] : open_) {
      if (m < live_ || end < messages_.size()) report("a call without its result: " + id);
    }
    open_.clear();
    // An id may come again where results stand right behind their calls.
    if (format_.result_place() == ResultPlace::messages) ids_.clear();
  }

  const FormatBase& format_;
  std::string_view body_;
  const std::vector<Message>& messages_;
  size_t live_;
  std::map<std::string, size_t> open_;  // by id, the message that asked
  std::map<std::string, size_t> ids_;   // how many calls bear it, of all or of this turn
  std::set<std::string> others_;        // ids of calls that may go without a result
  size_t calls_at_ = 0;
  size_t result_end_ = 0;
  std::vector<std::string> breaches_;
};

}  // namespace

std::vector<std::string> FormatBase::breaches(std::string_view body,
                                              const Conversation& conversation) const {
  std::vector<std::string> found = Rules(*this, body, conversation).check();
  const Result<JsonTree> tree = JsonTree::read(body);
  if (!tree) {
    found.push_back(tree.error().text);
  } else {
    own_rules(*tree, conversation, found);
  }
  return found;
}

}  // namespace ebla::context
