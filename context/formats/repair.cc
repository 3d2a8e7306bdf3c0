// What a provider would refuse in a list, and how it is made valid.
#include <algorithm>
#include <tuple>

#include "context/formats/pairs.h"
#include "context/formats/placing.h"
#include "context/formats/table.h"
#include "schema/base/json_text.h"

namespace ebla::context {
namespace {

using What = Repair::What;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

class Finder {
 public:
  Finder(const FormatBase& format, std::string_view body, const Conversation& conversation)
      : format_(format), body_(body), conversation_(conversation) {}

  std::vector<Repair> find() {
    if (conversation_.partial) return {};
    find_pairs();
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
    const Pairing pairing = pair_calls(conversation_);
    const Placing placing(format_.result_place(), conversation_);
    const size_t live = placing.live_turn();
    for (PartAt call : pairing.unanswered) {
      const bool answerable = !format_.result_of(body_, conversation_, part(call), "").empty();
      if (call.message < live && answerable) add(call, What::dangling_call);
    }
    for (PartAt result : pairing.strays) add(result, What::stray_result);
    for (const Pair& pair : pairing.second) add(pair.result, What::stray_result);
    for (const Pair& pair : pairing.pairs) {
      if (!placing.in_place(pair)) add(pair.result, What::misplaced_result);
    }
  }

  bool refused(Span token) const {
    const std::string_view raw = token.of(body_);
    if (raw == R"("")") return true;
    if (!format_.refuses_blank() || !raw.starts_with('"')) return false;
    // White space is written as it is, as \n or \t, or by its number.
    if (raw.find_first_not_of("\" \\nrtfu0bBcCdDaA9") != std::string_view::npos) return false;
    std::string text;
    json_text::append_decoded(raw.substr(1, raw.size() - 2), text);
    return is_blank(text);
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
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      bool empty = false;
      if (part.kind == PartKind::text) {
        empty = refused(part.texts.front()) && (is_block(part) || parts.size() == 1);
      } else if (part.kind == PartKind::tool_result && !part.provider_side) {
        empty = std::ranges::any_of(part.texts, [this](Span text) { return refused(text); }) ||
                part.content.of(body_) == "[]";
      }
      if (empty) found_.push_back({m, What::empty_content, p});
    }
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
