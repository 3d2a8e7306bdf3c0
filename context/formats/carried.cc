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

std::string fenced(std::string lead, std::string_view said) {
  append_fenced(lead, "", said);
  lead.pop_back();
  return lead;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// The way back from which_call().
bool read_call(std::string_view which, CarriedText& out) {
  take_suffix(which, texts::kCarriedFailed);
  if (!take_suffix(which, texts::kCarriedNoCall) && !take_suffix(which, texts::kCarriedSecond)) {
    return false;
  }
  const bool named = take_prefix(which, "call ");
  if (!named && (!take_prefix(which, "a call") || !take_suffix(which, " that"))) return false;
  if (const size_t open = which.rfind(" ("); which.ends_with(')') && open != which.npos) {
    out.tool = which.substr(open + 2, which.size() - open - 3);
    which = which.substr(0, open);
  }
  out.call_id = which;
  return named != which.empty();
}

bool holds(const Part& result, const Part& part) {
  return part.kind != PartKind::tool_result && stands_within(part, result);
}

}  // namespace

std::string carried_text(std::string_view body, const Part& result, const Part* answered) {
  std::string text = text_of(body, result);
  if (is_blank(text)) text = texts::kEmpty;
  return fenced(texts::kCarriedStart + which_call(result, answered) + texts::kCarriedLead, text);
}

std::optional<CarriedText> read_carried(std::string_view text) {
  if (!text.starts_with(texts::kCarriedStart)) return std::nullopt;
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  const size_t lead_end = line_end + 1;
  CarriedText out{text.substr(0, lead_end), {}, {}, {}};
  std::string_view which = out.lead.substr(std::string_view(texts::kCarriedStart).size());
  if (!take_suffix(which, texts::kCarriedLead) || !read_call(which, out)) return std::nullopt;
  out.said = text.substr(lead_end);
  const size_t fence = out.said.find_first_not_of('`');
  if (fence == std::string_view::npos || out.said.size() < 2 * fence + 2) return std::nullopt;
  out.said = out.said.substr(fence + 1, out.said.size() - 2 * fence - 2);
  if (fenced(std::string(out.lead), out.said) != text) return std::nullopt;
  return out;
}

std::string standing_form(const Part& part, std::string_view replacement) {
  return part.carried ? fenced(part.carried->lead, replacement) : std::string(replacement);
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
