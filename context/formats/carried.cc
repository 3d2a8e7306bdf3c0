#include "context/formats/carried.h"

#include <fmt/format.h>

#include "context/formats/pairs.h"
#include "context/text/blank.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

// "call 1 (bash) is not in this list".
std::string which_call(const Part& result, const Part* answered) {
  std::string out = result.call_id.empty() ? "a call" : "call " + texts::tool_name(result.call_id);
  const std::string& tool =
      result.tool.empty() && answered != nullptr ? answered->tool : result.tool;
  if (!tool.empty()) out += fmt::format(" ({})", texts::tool_name(tool));
  if (result.call_id.empty()) out += " that";
  out += answered == nullptr ? texts::kCarriedNoCall : texts::kCarriedSecond;
  if (result.error) out += texts::kCarriedFailed;
  return out;
}

bool holds(const Part& result, const Part& part) {
  return part.kind != PartKind::tool_result && stands_within(part, result);
}

}  // namespace

std::string carried_text(std::string_view body, const Part& result, const Part* answered) {
  std::string text = text_of(body, result);
  if (is_blank(text)) text = texts::kEmpty;
  std::string out = texts::kCarriedStart + which_call(result, answered) + texts::kCarriedLead;
  append_fenced(out, "", text);
  out.pop_back();
  return out;
}

std::vector<std::string> carried_blocks(const FormatBase& format, std::string_view body,
                                        const Message& message, size_t result,
                                        const Part* answered) {
  const Part& part = message.parts[result];
  std::vector<std::string> blocks = {
      format.text_block(false, json_string(carried_text(body, part, answered)))};
  for (size_t p = result + 1; p < message.parts.size() && holds(part, message.parts[p]); ++p) {
    blocks.push_back(format.user_media(message.parts[p].span.of(body)));
  }
  return blocks;
}

bool is_stand_in(std::string_view text) {
  return text.starts_with(texts::kCarriedStart) || text == texts::kNoBeginning;
}

}  // namespace ebla::context
