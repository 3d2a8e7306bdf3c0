#include "context/summary/transcript.h"

#include <fmt/format.h>

#include <algorithm>

#include "context/list/part_text.h"
#include "context/list/roles.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

// How much of a text that was put away a summariser sees beside its replacement, in bytes.
constexpr size_t kExcerptBytes = 2'000;

class Writer {
 public:
  Writer(std::string_view body, const Excerpt& excerpt) : body_(body), excerpt_(excerpt) {}

  void message(const WorkingMessage& message, size_t number) {
    for (size_t i = 0; i < message.message->parts.size(); ++i) part(message, i, number);
  }
  std::vector<TranscriptEntry> take() { return std::move(out_); }

 private:
  void part(const WorkingMessage& message, size_t i, size_t number) {
    const Part& source = message.message->parts[i];
    const std::string role(role_name(message.message->role));
    std::string label;
    switch (source.kind) {
      case PartKind::text:
      case PartKind::unknown:
        label = fmt::format(texts::kTranscriptMessage, number, role);
        break;
      case PartKind::tool_call:
        label = fmt::format(texts::kTranscriptCall, number, role, texts::tool_name(source.tool));
        break;
      case PartKind::tool_result:
        label = fmt::format(texts::kTranscriptResult, number, texts::tool_name(source.tool));
        if (source.error) label += texts::kTranscriptFailed;
        break;
      case PartKind::image:
      case PartKind::document:
        return medium(message, i, number);
      case PartKind::reasoning:
        return;  // no provider lets another model read it
    }
    text(label, standing_text(body_, message, i));
    begins(label, message, i);
  }

  void medium(const WorkingMessage& message, size_t i, size_t number) {
    const Part& source = message.message->parts[i];
    const WorkingPart* working = i < message.parts.size() ? &message.parts[i] : nullptr;
    std::string what = texts::tool_name(source.media_type);
    if (working != nullptr && !working->path.empty()) what += ", " + quoted(working->path);
    out_.push_back({fmt::format(texts::kTranscriptMedia, number,
                                source.kind == PartKind::image ? "image" : "document", what),
                    ""});
  }

  void text(const std::string& label, std::string_view raw) {
    std::string clean = clean_text(raw);
    if (!clean.empty()) out_.push_back({label, std::move(clean)});
  }

  // What was put away may be a line that says little: the summariser sees how it began.
  void begins(const std::string& label, const WorkingMessage& message, size_t i) {
    if (i >= message.parts.size() || !excerpt_) return;
    const WorkingPart& part = message.parts[i];
    if (part.replaced) {
      text(label + texts::kTranscriptBegins, excerpt_(message, i, "", kExcerptBytes));
    }
    for (const WorkingArgument& each : part.arguments) {
      if (!each.replaced) continue;
      text(label + fmt::format(texts::kTranscriptArgument, quoted(each.name)) +
               texts::kTranscriptBegins,
           excerpt_(message, i, each.name, kExcerptBytes));
    }
  }

  std::string_view body_;
  const Excerpt& excerpt_;
  std::vector<TranscriptEntry> out_;
};

}  // namespace

std::vector<TranscriptEntry> transcript_of(std::string_view body,
                                           const std::vector<WorkingMessage>& messages,
                                           const Excerpt& excerpt) {
  Writer writer(body, excerpt);
  for (const WorkingMessage& message : messages) writer.message(message, message.place + 1);
  return writer.take();
}

std::vector<TranscriptEntry> transcript(const SummaryInput& input) {
  Writer writer(input.body, input.excerpt);
  const size_t removed = std::min(input.removed, input.list->messages.size());
  for (size_t i = 0; i < removed; ++i) {
    const WorkingMessage& message = input.list->messages[i];
    if (!message.pinned) writer.message(message, message.place + 1);
  }
  return writer.take();
}

void append_entry(std::string& out, const TranscriptEntry& entry) {
  out += entry.label;
  if (entry.text.empty()) return;
  out += "\n";
  // The fence's own line feed stands for the text's last one.
  std::string_view text = entry.text;
  if (text.ends_with('\n')) text.remove_suffix(1);
  append_fenced(out, "", text);
}

}  // namespace ebla::context
