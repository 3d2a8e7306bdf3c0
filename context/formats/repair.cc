// What a provider would refuse in a list, and how it is made valid.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "context/formats/call_ids.h"
#include "context/formats/pairs.h"
#include "context/formats/placing.h"
#include "context/formats/table.h"

namespace ebla::context {
namespace {

using What = Repair::What;

constexpr std::pair<size_t, size_t> kEnd{SIZE_MAX, SIZE_MAX};  // behind all that is there

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
    const size_t live = placing.live_turn();
    for (const PartAt call : pairing.unanswered) {
      const bool answerable = !format_.result_of(body_, conversation_, part(call), "").empty();
      if (call.message < live && answerable) add(call, What::dangling_call);
    }
    const std::vector<PartAt> repeated = repeated_calls(format_.result_place(), conversation_);
    for (const PartAt call : repeated) add(call, What::repeated_id);
    for (const PartAt result : pairing.strays) add(result, What::stray_result);
    for (const Pair& pair : pairing.second) add(pair.result, What::stray_result);
    for (const PartAt result : pairing.outdated) add(result, What::outdated_result);
    for (const Pair& pair : pairing.pairs) {
      if (!placing.in_place(pair)) add(pair.result, What::misplaced_result);
      if (part(pair.call).number != part(pair.result).number) add(pair.result, What::repeated_id);
    }
    find_order(placing);
  }

  // What says that there is no result stands behind those that there are, wherever they come in: so
  // it does for a client that keeps its own list.
  void find_order(const Placing& placing) {
    const std::vector<Pair>& pairs = conversation_.pairing.pairs;
    const auto ours = [this](const Pair& pair) { return says_interrupted(part(pair.result)); };
    if (std::ranges::none_of(pairs, ours)) return;
    std::map<size_t, std::pair<size_t, size_t>> last;  // result, by the run that it will stand in
    for (const Pair& pair : pairs) {
      if (ours(pair) || part(pair.result).provider_side) continue;
      const bool stays = placing.in_place(pair);
      auto& place =
          last[stays ? placing.run(pair.result.message) : placing.target(pair.call.message)];
      place = std::max(place, stays ? std::pair(pair.result.message, pair.result.part) : kEnd);
    }
    for (const Pair& pair : pairs) {
      if (!ours(pair) || !placing.in_place(pair)) continue;
      const auto behind = last.find(placing.run(pair.result.message));
      const std::pair at(pair.result.message, pair.result.part);
      if (behind != last.end() && at < behind->second) add(pair.result, What::misplaced_result);
    }
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
