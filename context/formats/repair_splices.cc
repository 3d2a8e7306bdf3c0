// Repairs carried out: the same way for the same list, at the same place every time.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "context/formats/call_ids.h"
#include "context/formats/carried.h"
#include "context/formats/fill.h"
#include "context/formats/pairs.h"
#include "context/formats/placing.h"
#include "context/formats/table.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

using What = Repair::What;

// Carries repairs out, message by message.
class Fixer {
 public:
  Fixer(const FormatBase& format, std::string_view body, const Conversation& conversation,
        std::span<const Repair> repairs)
      : format_(format),
        body_(body),
        conversation_(conversation),
        placing_(format.result_place(), conversation),
        pairing_(conversation.pairing) {
    std::vector<PartAt> repeated;
    for (const Repair& repair : repairs) {
      if (repair.what == What::empty_content) {
        empty_[repair.message].push_back(repair.part);
        changed_.insert(repair.message);
      } else if (repair.what == What::wrong_type) {
        changed_.insert(repair.message);
      } else if (repair.what == What::no_user_first) {
        first_ = repair.message;
      } else if (repair.what == What::repeated_id) {
        const PartAt at{repair.message, repair.part};
        const auto& parts = conversation.messages[at.message].parts;
        if (parts[at.part].kind == PartKind::tool_call) repeated.push_back(at);
      } else if (repair.what == What::dangling_call) {
        dangling_.insert({repair.message, repair.part});
      } else {
        dropped_[repair.message].insert(repair.part);
        if (repair.what == What::outdated_result) continue;
        auto& to = repair.what == What::misplaced_result ? moved_ : carried_;
        to.insert({repair.message, repair.part});
      }
    }
    give_numbers(repeated);
    for (const Pair& pair : pairing_.second) {
      answered_[{pair.result.message, pair.result.part}] =
          &conversation.messages[pair.call.message].parts[pair.call.part];
    }
  }

  std::vector<Splice> splices() {
    place_results();
    const size_t count = conversation_.messages.size();
    std::vector<Splice> out;
    for (size_t m = 0; m <= count; ++m) {
      Splice splice{m, 0, {}};
      if (format_.result_place() == ResultPlace::blocks) {
        splice_blocks(m, splice);
      } else {
        splice_messages(m, splice);
      }
      if (first_ == m) {
        splice.insert.insert(splice.insert.begin(),
                             format_.user_message(conversation_, texts::kNoBeginning));
      }
      if (splice.remove > 0 || !splice.insert.empty()) out.push_back(std::move(splice));
    }
    return out;
  }

 private:
  using At = std::pair<size_t, size_t>;

  // A call and its result together.
  void give_numbers(const std::vector<PartAt>& calls) {
    const auto give = [this](PartAt at, uint32_t number) {
      numbers_[at.message].push_back({at.part, number});
      changed_.insert(at.message);
    };
    const std::vector<uint32_t> numbers = new_numbers(format_.result_place(), conversation_, calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      give(calls[i], numbers[i]);
      number_of_[{calls[i].message, calls[i].part}] = numbers[i];
    }
    for (const Pair& pair : pairing_.pairs) {
      const uint32_t number = number_at(pair.call);
      const Part& result = conversation_.messages[pair.result.message].parts[pair.result.part];
      if (!result.provider_side && result.number != number) give(pair.result, number);
    }
  }

  uint32_t number_at(PartAt call) const {
    const auto found = number_of_.find({call.message, call.part});
    if (found != number_of_.end()) return found->second;
    return conversation_.messages[call.message].parts[call.part].number;
  }

  // The call under the id that it will bear.
  Part call_at(PartAt at) const {
    Part call = conversation_.messages[at.message].parts[at.part];
    call.call_id = written_id(call.call_id, number_at(at));
    return call;
  }

  // Results that came late in the order that they came in, behind them those that say there is none
  // in the order of their calls.
  void place_results() {
    using Placed = std::pair<size_t, std::string>;  // where it goes, and what
    std::map<At, Placed> late;
    std::map<At, Placed> none;
    for (const PartAt call : pairing_.unanswered) {
      const At at{call.message, call.part};
      if (!dangling_.contains(at)) continue;
      none[at] = {placing_.target(call.message),
                  format_.result_of(body_, conversation_, call_at(call), texts::kInterrupted)};
    }
    for (const Pair& pair : pairing_.pairs) {
      const At result{pair.result.message, pair.result.part};
      if (!moved_.contains(result)) continue;
      const Part& part = conversation_.messages[pair.result.message].parts[pair.result.part];
      auto& place =
          says_interrupted(part) ? none[{pair.call.message, pair.call.part}] : late[result];
      place = {placing_.target(pair.call.message), moved_json(pair.result)};
    }
    for (std::map<At, Placed>* results : {&late, &none}) {
      for (auto& [key, placed] : *results) {
        placed_[placed.first].push_back(std::move(placed.second));
      }
    }
    if (format_.result_place() == ResultPlace::blocks) return place_carried_blocks();
    for (const auto& [m, p] : carried_) {
      placed_[placing_.behind_results(m)].push_back(carried_message(m, p));
    }
  }

  // Words come behind the results of their turn: with those of a later message of the user they go
  // there.
  void place_carried_blocks() {
    if (carried_.empty()) return;
    std::vector<size_t> last(conversation_.messages.size());  // that brings results, from here on
    for (size_t m = last.size(); m-- > 0;) {
      const bool goes_on = m + 1 < last.size() && !is_model(conversation_.messages[m + 1]);
      last[m] = goes_on && keeps_results(last[m + 1]) ? last[m + 1] : m;
    }
    for (const auto& [m, p] : carried_) {
      if (last[m] == m) continue;
      leaving_.insert({m, p});
      std::ranges::move(carried(m, p), std::back_inserter(carried_to_[last[m]]));
    }
  }

  bool keeps_results(size_t m) const {
    const std::vector<Part>& parts = conversation_.messages[m].parts;
    const auto dropped = dropped_.find(m);
    for (size_t p = 0; p < parts.size(); ++p) {
      const bool stays = dropped == dropped_.end() || !dropped->second.contains(p);
      if (parts[p].kind == PartKind::tool_result && stays) return true;
    }
    return false;
  }

  // The call that a carried result would be the second one of.
  const Part* answered(size_t m, size_t p) const {
    const auto found = answered_.find({m, p});
    return found == answered_.end() ? nullptr : found->second;
  }

  std::vector<std::string> carried(size_t m, size_t p) const {
    return carried_blocks(format_, body_, conversation_.messages[m], p, answered(m, p));
  }

  std::string carried_message(size_t m, size_t p) const {
    const std::vector<std::string> blocks = carried(m, p);
    if (blocks.size() > 1) return format_.user_of(conversation_, list_of(blocks));
    const Part& result = conversation_.messages[m].parts[p];
    return format_.user_message(conversation_, carried_text(body_, result, answered(m, p)));
  }

  std::string moved_json(PartAt result) {
    if (format_.result_place() != ResultPlace::blocks) return message_json(result.message);
    const Part& part = conversation_.messages[result.message].parts[result.part];
    const Blocks& blocks = blocks_of(result.message);
    const auto at = std::ranges::lower_bound(blocks.begins, part.span.begin);
    return blocks.items[static_cast<size_t>(at - blocks.begins.begin())];
  }

  // A message taken apart: its blocks with their contents set right, and where they began.
  struct Blocks {
    std::string json;
    Span content;
    std::vector<std::string> items;
    std::vector<size_t> begins;
  };
  const Blocks& blocks_of(size_t m) {
    const auto [at, is_new] = blocks_.try_emplace(m);
    Blocks& blocks = at->second;
    if (!is_new) return blocks;
    const Message& message = conversation_.messages[m];
    blocks.json = message_json(m);
    const Result<JsonTree> now = JsonTree::read(blocks.json);
    const Result<JsonTree> before = JsonTree::read(message.span.of(body_));
    if (!now || !before) return blocks;
    const JsonValue content = format_.content_of(now->root());
    blocks.content = content.span();
    if (content.is_string()) {
      blocks.items.push_back(format_.text_block(is_model(message), content.raw()));
      blocks.begins.push_back(message.span.end);  // no part begins there
      return blocks;
    }
    for (const JsonValue& item : content) blocks.items.emplace_back(item.raw());
    const JsonValue list = format_.content_of(before->root());
    if (list.is_object()) blocks.begins.push_back(message.span.begin + list.span().begin);
    for (const JsonValue& item : list) {
      if (list.is_list()) blocks.begins.push_back(message.span.begin + item.span().begin);
    }
    return blocks;
  }

  // The message with its contents set right.
  std::string message_json(size_t m) const {
    const Message& message = conversation_.messages[m];
    if (!changed_.contains(m)) return std::string(message.span.of(body_));
    const auto found = empty_.find(m);
    const std::span<const size_t> none;
    std::string json =
        filled_message(format_, body_, message, found == empty_.end() ? none : found->second);
    const auto numbers = numbers_.find(m);
    if (numbers == numbers_.end()) return json;
    return with_new_ids(format_, std::move(json), message, numbers->second);
  }

  void splice_messages(size_t m, Splice& splice) {
    if (const auto placed = placed_.find(m); placed != placed_.end()) {
      splice.insert = std::move(placed->second);
    }
    if (m == conversation_.messages.size()) return;
    if (dropped_.contains(m)) {
      splice.remove = 1;
    } else if (changed_.contains(m)) {
      splice.remove = 1;
      splice.insert.push_back(message_json(m));
    }
  }

  void splice_blocks(size_t m, Splice& splice) {
    const auto placed = placed_.find(m);
    const bool receives = placed != placed_.end();
    if (m == conversation_.messages.size()) {
      if (receives) {
        splice.insert.push_back(format_.user_of(conversation_, list_of(placed->second)));
      }
      return;
    }
    if (!receives && !dropped_.contains(m) && !carried_to_.contains(m)) {
      if (!changed_.contains(m)) return;
      splice.remove = 1;
      splice.insert.push_back(message_json(m));
      return;
    }
    splice.remove = 1;
    std::string json = with_blocks(m);
    if (json.empty() && !turn_stays(m)) {
      json = placeholder_message(format_, body_, conversation_.messages[m]);
    }
    if (!json.empty()) splice.insert.push_back(std::move(json));
  }

  // Whether the user's turn that this message belongs to has another one that stays.
  bool turn_stays(size_t m) {
    const size_t end = placing_.next_model(m);
    const auto [known, is_new] = turn_stays_.try_emplace(end, false);
    if (!is_new) return known->second;
    // The first message of the turn that asks is the first that loses all its blocks.
    const auto stays = [this](size_t i) {
      return (!dropped_.contains(i) && !carried_to_.contains(i)) || !with_blocks(i).empty();
    };
    size_t begin = m;
    while (begin > 0 && !is_model(conversation_.messages[begin - 1])) --begin;
    for (size_t i = begin; i < end && !known->second; ++i) known->second = stays(i);
    return known->second;
  }

  static std::string list_of(const std::vector<std::string>& blocks) {
    std::string out;
    char separator = '[';
    for (const std::string& block : blocks) {
      out.push_back(separator);
      out += block;
      separator = ',';
    }
    return out + "]";
  }

  // The message without its dropped blocks: results, then those that it receives, then the rest.
  // "" when nothing is left.
  std::string with_blocks(size_t m) {
    const Blocks& blocks = blocks_of(m);
    std::map<size_t, size_t> gone;  // the part by where its block begins
    if (const auto dropped = dropped_.find(m); dropped != dropped_.end()) {
      for (const size_t p : dropped->second) {
        gone[conversation_.messages[m].parts[p].span.begin] = p;
      }
    }
    std::vector<std::string> results;
    std::vector<std::string> rest;
    for (size_t i = 0; i < blocks.items.size(); ++i) {
      if (const auto part = gone.find(blocks.begins[i]); part != gone.end()) {
        const At at{m, part->second};
        if (!carried_.contains(at) || leaving_.contains(at)) continue;
        std::ranges::move(carried(m, part->second), std::back_inserter(rest));
        continue;
      }
      const Result<JsonTree> item = JsonTree::read(blocks.items[i]);
      const bool result = item && item->root()["type"].equals("tool_result");
      (result ? results : rest).push_back(blocks.items[i]);
    }
    if (const auto placed = placed_.find(m); placed != placed_.end()) {
      results.insert(results.end(), placed->second.begin(), placed->second.end());
    }
    if (const auto come = carried_to_.find(m); come != carried_to_.end()) {
      results.insert(results.end(), come->second.begin(), come->second.end());
    }
    results.insert(results.end(), rest.begin(), rest.end());
    if (results.empty()) return {};
    std::string json = blocks.json;
    if (blocks.content.empty()) return json;
    return json.replace(blocks.content.begin, blocks.content.size(), list_of(results));
  }

  const FormatBase& format_;
  std::string_view body_;
  const Conversation& conversation_;
  Placing placing_;
  const Pairing& pairing_;
  std::map<size_t, std::vector<size_t>> empty_;
  std::set<size_t> changed_;     // messages whose contents are set right
  std::optional<size_t> first_;  // the model's, where the user's is wanted
  std::map<size_t, std::set<size_t>> dropped_;
  std::map<size_t, std::vector<NewNumber>> numbers_;  // by message
  std::map<At, uint32_t> number_of_;                  // the same, of calls
  std::set<At> dangling_;
  std::set<At> moved_;
  std::set<At> carried_;
  std::set<At> leaving_;  // of those that are carried on: to another message
  std::map<size_t, std::vector<std::string>> carried_to_;  // their blocks, by that message
  std::map<At, const Part*> answered_;  // results of a call that has one already: the call
  std::map<size_t, std::vector<std::string>> placed_;
  std::map<size_t, Blocks> blocks_;    // by message
  std::map<size_t, bool> turn_stays_;  // by the end of the turn
};

}  // namespace

std::vector<Splice> FormatBase::repair_splices(std::string_view body,
                                               const Conversation& conversation,
                                               std::span<const Repair> repairs) const {
  if (repairs.empty()) return {};
  return Fixer(*this, body, conversation, repairs).splices();
}

}  // namespace ebla::context
