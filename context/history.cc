#include "context/history.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "context/formats/format.h"
#include "context/list/part_text.h"
#include "context/list/roles.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr size_t kBeginningChars = 120;
constexpr size_t kBeginningBytes = 4'096;

std::string utc(int64_t now_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> at{std::chrono::nanoseconds(now_ns)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", seconds);
}

void add_block(std::string& out, std::string_view text) {
  append_fenced(out, fmt::format(texts::kBlockBytes, text.size()), text);
}

class MessageWriter {
 public:
  MessageWriter(const SectionInput& input, const WorkingMessage& message, std::string& out)
      : input_(input), message_(message), out_(out) {}

  void write(uint64_t number) {
    const Message& source = *message_.message;
    out_ += fmt::format(texts::kSectionMessage, number, role_name(source.role));
    if (!source.id.empty()) out_ += fmt::format(texts::kMessageId, quoted(source.id));
    for (size_t i = 0; i < source.parts.size(); ++i) part(i);
  }

 private:
  const Part& source(size_t i) const { return message_.message->parts[i]; }

  void part(size_t i) {
    switch (source(i).kind) {
      case PartKind::text:
        return text(i, "text");
      case PartKind::tool_call:
        return call(i);
      case PartKind::tool_result:
        return text(i, "result of " + names(i) + (source(i).error ? ", failed" : ""));
      case PartKind::image:
        return medium(i, "image");
      case PartKind::document:
        return medium(i, "document");
      case PartKind::reasoning:
        return source(i).texts.empty() ? whole(i, "reasoning")
                                       : block("reasoning", text_of(input_.body, source(i)));
      case PartKind::unknown:
        return whole(i, "other");
    }
  }

  std::string names(size_t i) const {
    return quoted(source(i).tool) + ", id " + quoted(source(i).call_id);
  }

  void block(const std::string& label, std::string_view content) {
    out_.append("\n").append(label).append("\n\n");
    add_block(out_, content);
  }
  void whole(size_t i, const std::string& label) { block(label, source(i).span.of(input_.body)); }

  static std::string where(const PutAway& put) {
    return fmt::format("put away in {}, {} tokens", quoted(put.path), put.tokens);
  }

  // What was put away is told by its file, its size, and how it begins.
  void text(size_t i, const std::string& label) {
    const std::vector<PutAway> put = put_away_of(message_, i);
    if (put.empty()) return block(label, text_of(input_.body, source(i)));
    out_.append("\n").append(label).append(", ").append(where(put.front()));
    if (input_.excerpt) {
      const std::string start = input_.excerpt(message_, i, "", kBeginningBytes);
      const std::string_view line = std::string_view(start).substr(0, start.find('\n'));
      if (!start.empty()) {
        out_.append(", begins ").append(quoted(one_line(line, kBeginningChars)));
      }
    }
    out_ += "\n";
  }

  void call(size_t i) {
    std::string label = source(i).provider_side ? "provider call of " : "call of ";
    label += names(i);
    for (const PutAway& put : put_away_of(message_, i)) {
      label += ", argument " + quoted(put.argument) + " " + where(put);
    }
    block(label, standing_text(input_.body, message_, i));
  }

  void medium(size_t i, const std::string& kind) {
    std::string path = input_.media_link ? input_.media_link(message_, i) : "";
    const std::vector<PutAway> put = put_away_of(message_, i);
    if (path.empty() && !put.empty()) path = put.front().path;
    const std::string label = kind + " " + quoted(source(i).media_type);
    if (path.empty()) return whole(i, label);
    out_.append("\n").append(label).append(", in ").append(quoted(path)).append("\n");
  }

  const SectionInput& input_;
  const WorkingMessage& message_;
  std::string& out_;
};

uint64_t line_count(std::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string heading(const SectionInput& input) {
  const uint64_t last =
      input.messages.empty() ? input.last_message : input.first_message + input.messages.size() - 1;
  const std::string rewind =
      input.rewind_to == 0 ? "" : fmt::format(texts::kAfterRewind, input.rewind_to);
  std::string out = fmt::format(texts::kSection, input.ordinal, input.first_message, last,
                                utc(input.now_ns), rewind);
  if (!input.summary.empty()) {
    out += texts::kSectionSummary;
    add_block(out, input.summary);
  }
  return out += texts::kSectionLines;
}

}  // namespace

Section render_section(const SectionInput& input) {
  Section section;
  section.text = heading(input);
  // The list of lines stands before the messages: its length is known, what it says not yet.
  uint64_t line = input.lines_before + line_count(section.text) + input.messages.size();
  std::string messages;
  for (size_t i = 0; i < input.messages.size(); ++i) {
    const size_t begin = messages.size();
    MessageWriter(input, *input.messages[i], messages).write(input.first_message + i);
    // Its heading is the second line: an empty one comes first.
    section.message_lines.push_back(line + 2);
    line += line_count(std::string_view(messages).substr(begin));
  }
  for (size_t i = 0; i < input.messages.size(); ++i) {
    section.text +=
        fmt::format(texts::kSectionLine, input.first_message + i, section.message_lines[i],
                    role_name(input.messages[i]->message->role));
  }
  section.text.append(messages).append("\n");
  section.lines = line + 1 - input.lines_before;
  return section;
}

}  // namespace ebla::context
