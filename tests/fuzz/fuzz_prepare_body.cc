// Any bytes as the body of a request: an error, or a conversation whose spans lie in the body,
// that may be edited and repaired at will and is read again as what was written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "context/formats/format.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace {

using namespace ebla;           // NOLINT(google-build-using-namespace)
using namespace ebla::context;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
  if (!condition) std::abort();
}

void check_span(Span span, Span within) {
  require(span.empty() || (span.begin >= within.begin && span.end <= within.end));
}

void check_conversation(std::string_view body, const Conversation& c) {
  check_span(c.list, {0, body.size()});
  size_t at = 0;
  for (const Message& message : c.messages) {
    check_span(message.span, c.list);
    require(message.span.begin >= at && !message.span.empty());
    at = message.span.end;
    for (const Part& part : message.parts) {
      for (Span span : {part.span, part.arguments, part.content, part.data}) {
        check_span(span, message.span);
      }
      for (Span text : part.texts) check_span(text, message.span);
      const bool said = part.kind == PartKind::text || part.kind == PartKind::tool_result;
      const std::string text = text_of(body, part);
      if (said) require(text.size() == part.facts.bytes && xxh3_128(text) == part.facts.hash);
      require(text_start(body, part, 7).size() <= 7);
      static_cast<void>(media_bytes(body, part));
    }
  }
  const std::vector<size_t> cuts = cut_points(c);
  require(cuts.front() == 0 && cuts.back() == c.messages.size() && std::ranges::is_sorted(cuts));
}

PartEdit random_edit(std::string_view body, const Message& message, size_t p) {
  const Part& part = message.parts[p];
  PartEdit edit{.part = p, .what = PartEdit::What::content, .argument = {}, .text = "put \"away\""};
  if (part.kind == PartKind::tool_call) {
    edit.what = PartEdit::What::argument;
    const auto arguments = string_arguments(body, part);
    if (!arguments.empty()) edit.argument = arguments.front().name;
  }
  return edit;
}

}  // namespace

// The first byte chooses the format and what is edited.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Format& format = *formats()[data[0] % formats().size()];
  const std::string body(data + 1, data + size);
  static_cast<void>(detect_format(body));
  const auto read = format.parse(body);
  if (!read) {
    require(!read.error().text.empty());
    return 0;
  }
  const Conversation& c = *read;
  require(parse_json(body).has_value());
  check_conversation(body, c);
  require(apply_splices(body, c, {}) == body);
  static_cast<void>(format.breaches(body, c));

  std::vector<Splice> splices;
  for (size_t m = 0; m < c.messages.size(); ++m) {
    std::vector<PartEdit> edits;
    for (size_t p = 0; p < c.messages[m].parts.size(); ++p) {
      if ((data[0] >> (p + m) % 8 & 1) != 0) edits.push_back(random_edit(body, c.messages[m], p));
    }
    if (!edits.empty()) splices.push_back({m, 1, {format.edit(body, c.messages[m], edits)}});
  }
  const std::string edited = apply_splices(body, c, splices);
  const auto again = format.parse(edited);
  require(again && again->messages.size() == c.messages.size());
  check_conversation(edited, *again);

  const auto on = parse_after(format, edited, common_prefix(edited, body), c);
  require(on && on->messages.size() == again->messages.size());
  for (size_t m = 0; m < on->messages.size(); ++m) {
    require(on->messages[m].identity == again->messages[m].identity);
    require(on->messages[m].span == again->messages[m].span);
  }

  const auto repairs = format.repairs(body, c);
  const std::string repaired = apply_splices(body, c, format.repair_splices(body, c, repairs));
  const auto valid = format.parse(repaired);
  require(valid.has_value());
  check_conversation(repaired, *valid);
  return 0;
}
