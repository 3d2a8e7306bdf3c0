// What a provider would refuse in a list, and how it is made valid.
#include <algorithm>
#include <map>
#include <tuple>

#include "context/formats/call_ids.h"
#include "context/formats/pairs.h"
#include "context/formats/placing.h"
#include "context/formats/table.h"

namespace ebla::context {
namespace {

using What = Repair::What;

bool leads(const Message& message) {
  return message.role == Role::system || message.role == Role::developer;
}

class Finder {
 public:
  Finder(const FormatBase& format, std::string_view body, const Conversation& conversation)
      : format_(format), body_(body), conversation_(conversation) {}

  std::vector<Repair> find() {
    if (conversation_.partial) return {};
    find_pairs();
    find_beginning();
    for (size_t m = 0; m < conversation_.messages.size(); ++m) find_empty(m);
    std::ranges::sort(found_, {},
                      [](const Repair& r) { return std::tuple(r.message, r.part, r.what); });
    return std::move(found_);
  }

 private:
  const Part& part(PartAt at) const { return conversation_.messages[at.message].parts[at.part]; }
  void add(PartAt at, What what) {
    if (!part(at).provider_side) found_.push_back({at.message, what, at.part});
  }

  void find_pairs() {
    const Pairing& pairing = conversation_.pairing;
    const Placing placing(format_.result_place(), conversation_);
    const size_t live = live_turn(pairing, placing);
    const std::vector<PartAt> repeated = repeated_calls(format_.result_place(), conversation_);
    const auto answered = newest_answered(pairing, repeated);
    for (const PartAt call : pairing.unanswered) {
      const bool answerable = !format_.result_of(body_, conversation_, part(call), "").empty();
      const auto later = answered.find(part(call).call_id);
      const bool over =
          call.message < live || (later != answered.end() && later->second > call.message);
      if (over && answerable) add(call, What::dangling_call);
    }
    for (const PartAt call : repeated) add(call, What::repeated_id);
    for (const PartAt result : pairing.strays) add(result, What::stray_result);
    for (const Pair& pair : pairing.second) add(pair.result, What::stray_result);
    for (const PartAt result : pairing.outdated) add(result, What::outdated_result);
    for (const Pair& pair : pairing.pairs) {
      if (!placing.in_place(pair)) add(pair.result, What::misplaced_result);
      if (part(pair.call).number != part(pair.result).number) add(pair.result, What::repeated_id);
    }
  }

  // Of ids that several calls bear, the message of the newest call with a result: none comes any
  // more for those before it.
  std::map<std::string_view, size_t> newest_answered(const Pairing& pairing,
                                                     const std::vector<PartAt>& repeated) const {
    std::map<std::string_view, size_t> newest;
    if (format_.result_place() == ResultPlace::messages) return newest;
    for (const PartAt call : repeated) newest.try_emplace(part(call).call_id, 0);
    for (const Pair& pair : pairing.pairs) {
      const auto found = newest.find(part(pair.call).call_id);
      if (found != newest.end()) found->second = std::max(found->second, pair.call.message);
    }
    return newest;
  }

  // A stray is no answer: a turn that it is carried on behind has moved on.
  size_t live_turn(const Pairing& pairing, const Placing& placing) const {
    const size_t live = placing.live_turn();
    const bool blocks = format_.result_place() == ResultPlace::blocks;
    const auto behind = [&](PartAt result) {
      if (part(result).provider_side) return false;
      return blocks ? result.message >= live : placing.behind_results(result.message) > live;
    };
    const bool stray = std::ranges::any_of(pairing.strays, behind) ||
                       std::ranges::any_of(pairing.second, behind, &Pair::result);
    return stray ? conversation_.messages.size() : live;
  }

  void find_beginning() {
    if (!format_.begins_with_user()) return;
    const auto& messages = conversation_.messages;
    const auto first = std::ranges::find_if_not(messages, leads);
    if (first == messages.end() || !is_model(*first)) return;
    found_.push_back({static_cast<size_t>(first - messages.begin()), What::no_user_first, 0});
  }

  // Whether the text is a block of a list, which may never be empty.
  bool is_block(const Part& part) const { return !part.span.of(body_).starts_with('"'); }

  void find_empty(size_t m) {
    const Message& message = conversation_.messages[m];
    const std::vector<Part>& parts = message.parts;
    if (parts.empty()) {
      found_.push_back({m, What::empty_content, 0});
      return;
    }
    if (!format_.takes(message.shape, body_, nullptr)) {
      found_.push_back({m, What::wrong_type, parts.size()});
    }
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      bool empty = false;
      if (part.kind == PartKind::text) {
        empty = format_.refuses(part.showing) && (is_block(part) || parts.size() == 1);
      } else if (part.kind == PartKind::tool_result && !part.provider_side) {
        empty = format_.refuses(part.showing) || is_empty_list(part);
        find_shape({m, p});
      }
      if (empty) found_.push_back({m, What::empty_content, p});
    }
  }

  bool is_empty_list(const Part& result) const {
    return result.shape == ContentShape::blocks && result.texts.empty() &&
           result.content.of(body_).find_first_not_of("[] \t\r\n") == std::string_view::npos;
  }

  void find_shape(PartAt at) {
    const Part& result = part(at);
    if (format_.takes(result.shape, body_, &result)) return;
    const bool nothing = result.shape == ContentShape::null || result.shape == ContentShape::absent;
    add(at, nothing ? What::empty_content : What::wrong_type);
  }

  const FormatBase& format_;
  std::string_view body_;
  const Conversation& conversation_;
  std::vector<Repair> found_;
};

}  // namespace

std::vector<Repair> FormatBase::repairs(std::string_view body,
                                        const Conversation& conversation) const {
  return Finder(*this, body, conversation).find();
}

}  // namespace ebla::context
