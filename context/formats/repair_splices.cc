// Repairs carried out: the same way for the same list, at the same place every time.
#include <algorithm>
#include <map>
#include <set>

#include "context/formats/pairs.h"
#include "context/formats/placing.h"
#include "context/formats/table.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

using What = Repair::What;

constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

// Carries repairs out, message by message.
class Fixer {
 public:
  Fixer(const FormatBase& format, std::string_view body, const Conversation& conversation,
        std::span<const Repair> repairs)
      : format_(format),
        body_(body),
        conversation_(conversation),
        placing_(format.result_place(), conversation) {
    for (const Repair& repair : repairs) {
      if (repair.what == What::empty_content) {
        empty_[repair.message].push_back(repair.part);
      } else if (repair.what == What::dangling_call) {
        dangling_.insert({repair.message, repair.part});
      } else {
        dropped_[repair.message].insert(repair.part);
        if (repair.what == What::misplaced_result) moved_.insert({repair.message, repair.part});
      }
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
      if (splice.remove > 0 || !splice.insert.empty()) out.push_back(std::move(splice));
    }
    return out;
  }

 private:
  using At = std::pair<size_t, size_t>;

  // New and moved results, in the order of their calls.
  void place_results() {
    const Pairing pairing = pair_calls(conversation_);
    std::map<At, std::string> by_call;
    for (PartAt call : pairing.unanswered) {
      if (!dangling_.contains({call.message, call.part})) continue;
      const Part& part = conversation_.messages[call.message].parts[call.part];
      by_call[{call.message, call.part}] =
          format_.result_of(body_, conversation_, part, texts::kInterrupted);
    }
    for (const Pair& pair : pairing.pairs) {
      if (!moved_.contains({pair.result.message, pair.result.part})) continue;
      by_call[{pair.call.message, pair.call.part}] = moved_json(pair.result);
    }
    for (auto& [call, json] : by_call) {
      placed_[placing_.target(call.first)].push_back(std::move(json));
    }
  }

  std::string moved_json(PartAt result) {
    if (format_.result_place() != ResultPlace::blocks) return message_json(result.message);
    const Part& part = conversation_.messages[result.message].parts[result.part];
    const Blocks& blocks = blocks_of(result.message);
    const auto at = std::ranges::lower_bound(blocks.begins, part.span.begin);
    return blocks.items[static_cast<size_t>(at - blocks.begins.begin())];
  }

  // A message taken apart: its blocks with their empty texts filled, and where they began.
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
    for (const JsonValue& item : format_.content_of(before->root())) {
      blocks.begins.push_back(message.span.begin + item.span().begin);
    }
    return blocks;
  }

  // The message with its empty texts filled.
  std::string message_json(size_t m) const {
    const Message& message = conversation_.messages[m];
    const auto found = empty_.find(m);
    if (found == empty_.end()) return std::string(message.span.of(body_));
    if (message.parts.empty()) return filled(message);
    std::vector<PartEdit> edits;
    for (size_t p : found->second) {
      std::string text = text_of(body_, message.parts[p]);
      if (text.find_first_not_of(kWhiteSpace) == std::string::npos) text = texts::kEmpty;
      edits.push_back({.part = p, .what = PartEdit::What::content, .argument = {}, .text = text});
    }
    return format_.edit(body_, message, edits);
  }

  std::string filled(const Message& message) const {
    std::string json(message.span.of(body_));
    const Result<JsonTree> tree = JsonTree::read(json);
    if (!tree) return json;
    const Span content = format_.content_of(tree->root()).span();
    const std::string token = json_string(texts::kEmpty);
    if (!content.empty()) return json.replace(content.begin, content.size(), token);
    const JsonValue fields = format_.fields_of(tree->root());
    const std::string comma = fields.first() ? "," : "";
    return json.insert(fields.span().end - 1, comma + R"("content":)" + token);
  }

  void splice_messages(size_t m, Splice& splice) {
    if (const auto placed = placed_.find(m); placed != placed_.end()) {
      splice.insert = std::move(placed->second);
    }
    if (m == conversation_.messages.size()) return;
    if (dropped_.contains(m)) {
      splice.remove = 1;
    } else if (empty_.contains(m)) {
      splice.remove = 1;
      splice.insert.push_back(message_json(m));
    }
  }

  void splice_blocks(size_t m, Splice& splice) {
    const auto placed = placed_.find(m);
    const bool receives = placed != placed_.end();
    if (m == conversation_.messages.size()) {
      if (receives) splice.insert.push_back(user_of_blocks(placed->second));
      return;
    }
    if (!receives && !dropped_.contains(m)) {
      if (!empty_.contains(m)) return;
      splice.remove = 1;
      splice.insert.push_back(message_json(m));
      return;
    }
    splice.remove = 1;
    std::string json = with_blocks(m);
    if (json.empty() && !turn_stays(m)) json = filled(conversation_.messages[m]);
    if (!json.empty()) splice.insert.push_back(std::move(json));
  }

  // Whether the user's turn that this message belongs to has another one that stays.
  bool turn_stays(size_t m) {
    const size_t end = placing_.next_model(m);
    const auto [known, is_new] = turn_stays_.try_emplace(end, false);
    if (!is_new) return known->second;
    // The first message of the turn that asks is the first that loses all its blocks.
    const auto stays = [this](size_t i) {
      return !dropped_.contains(i) || !with_blocks(i).empty();
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

  static std::string user_of_blocks(const std::vector<std::string>& blocks) {
    return json_object({{"role", R"("user")"}, {"content", list_of(blocks)}});
  }

  // The message without its dropped blocks: results, then those that it receives, then the rest.
  // "" when nothing is left.
  std::string with_blocks(size_t m) {
    const Blocks& blocks = blocks_of(m);
    std::set<size_t> gone;
    if (const auto dropped = dropped_.find(m); dropped != dropped_.end()) {
      for (size_t p : dropped->second) {
        gone.insert(conversation_.messages[m].parts[p].span.begin);
      }
    }
    std::vector<std::string> results;
    std::vector<std::string> rest;
    for (size_t i = 0; i < blocks.items.size(); ++i) {
      if (gone.contains(blocks.begins[i])) continue;
      const Result<JsonTree> item = JsonTree::read(blocks.items[i]);
      const bool result = item && item->root()["type"].equals("tool_result");
      (result ? results : rest).push_back(blocks.items[i]);
    }
    if (const auto placed = placed_.find(m); placed != placed_.end()) {
      results.insert(results.end(), placed->second.begin(), placed->second.end());
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
  std::map<size_t, std::vector<size_t>> empty_;
  std::map<size_t, std::set<size_t>> dropped_;
  std::set<At> dangling_;
  std::set<At> moved_;
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
