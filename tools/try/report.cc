#include "tools/try/report.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "schema/base/utf8.h"
#include "tools/text.h"
#include "tools/verbs/common.h"

namespace ebla::tools {
namespace {

using enum Table::Align;

// Widest cells of what others have named, so that a line has at most 80 columns.
constexpr size_t kDecidedCharacters = 28;
constexpr size_t kToolCharacters = 18;
constexpr size_t kNameCharacters = 26;

std::string cut(std::string_view text, size_t characters) {
  if (utf8::count(text) <= characters) {
    return std::string(text);
  }
  size_t bytes = 0;
  for (size_t i = 0; i + 1 < characters; ++i) {
    bytes += utf8::decode(text.substr(bytes)).length;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string share(uint64_t tokens, uint64_t window) {
  return window == 0 ? "-" : fmt::format("{}%", (tokens * 100 + window / 2) / window);
}

// "2 tool_result, 1 summary"
std::string decided(const Turn& turn) {
  std::map<std::string, size_t> counts;
  for (const Json& action : turn.actions) {
    ++counts[text_at(action, "what")];
  }
  std::string text = turn.degraded ? "degraded" : "";
  for (const auto& [what, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return cut(text, kDecidedCharacters);
}

std::string calls_table(const Replay& replay, const Bill& bill) {
  Table table({right, right, right, right, right, right, left});
  table.row({"CALL", "MESSAGES", "WITHOUT", "FILL", "WITH", "FILL", "DECIDED"});
  for (size_t i = 0; i < replay.turns.size(); ++i) {
    const Turn& turn = replay.turns[i];
    const uint64_t alone = bill.fill_without[i];
    table.row({fmt::to_string(i + 1), fmt::to_string(turn.messages), fmt::to_string(alone),
               share(alone, replay.window), fmt::to_string(turn.with),
               share(turn.with, replay.window), decided(turn)});
  }
  return table.text() + "\n";
}

std::string files_table(const Replay& replay) {
  if (replay.files.empty()) {
    return "Nothing is put away: every item is below its limit.\n\n";
  }
  Table table({right, left, right, right, right, left});
  const std::string head =
      fmt::format("Put away, in {} of the temporary store:\n", printable(replay.folder));
  table.row({"CALL", "TOOL", "TOKENS", "BECOME", "BYTES", "FILE"});
  for (const KeptFile& file : replay.files) {
    const size_t slash = file.path.rfind('/');
    table.row({fmt::to_string(file.call),
               cut(printable(file.tool.empty() ? file.what : file.tool), kToolCharacters),
               fmt::to_string(file.tokens_before), fmt::to_string(file.tokens_after),
               fmt::to_string(file.bytes),
               cut(printable(file.path.substr(slash + 1)), kNameCharacters)});
  }
  return head + table.text() + "\n";
}

std::string less(double before, double after) {
  return before <= 0 ? "" : fmt::format("{:+.0f}%", (after - before) / before * 100);
}

std::string total_table(const Replay& replay, const Bill& bill) {
  const Side& a = bill.without;
  const Side& b = bill.with;
  Table table({left, right, right, right});
  table.row({"TOTAL", "WITHOUT", "WITH", ""});
  const auto number = [&](const char* name, uint64_t before, uint64_t after, bool compare) {
    table.row({name, fmt::to_string(before), fmt::to_string(after),
               compare ? less(static_cast<double>(before), static_cast<double>(after)) : ""});
  };
  number("tokens sent to the model", a.sent, b.sent, true);
  number("of these from a prompt cache", a.cached, b.cached, false);
  number("tokens of the longest list", a.fullest, b.fullest, true);
  if (replay.window > 0) {
    table.row({"of the window", share(a.fullest, replay.window), share(b.fullest, replay.window)});
    number("calls that do not fit", a.too_long, b.too_long, false);
  }
  table.row({"passes (summaries)", fmt::to_string(a.passes), fmt::to_string(b.passes),
             a.passes > b.passes ? fmt::format("{} avoided", a.passes - b.passes) : ""});
  number("tokens of output", a.output, b.output, false);
  const auto money = [&](const char* name, double before, double after) {
    table.row(
        {name, fmt::format("{:.4f}", before), fmt::format("{:.4f}", after), less(before, after)});
  };
  money("price with a prompt cache", a.cost_cached, b.cost_cached);
  money("price without one", a.cost_plain, b.cost_plain);
  return table.text();
}

std::string findable(const Replay& replay) {
  uint64_t bytes = replay.history_bytes;
  for (const KeptFile& file : replay.files) {
    bytes += file.bytes;
  }
  std::string text =
      fmt::format("Findable: {} files{}, {} bytes.\n", replay.files.size(),
                  replay.history_bytes > 0 ? " and the history" : "", format_bytes(bytes));
  return text;
}

// What the numbers are worth.
std::string caveats(const Replay& replay, const Bill& bill, const Prices& prices) {
  std::string text =
      "Token counts are estimates of the recorded messages; a system prompt and tool\n"
      "definitions count only where the transcript holds them. A recorded output that\n"
      "the agent had cut is counted as it was cut.\n";
  text += bill.recorded
              ? "WITHOUT has the summaries that the transcript records.\n"
              : "WITHOUT has an agent that summarises at the same trigger and keeps 10 %.\n";
  if (bill.with.sent > bill.without.sent && bill.with.passes < bill.without.passes) {
    text +=
        "Fewer summaries keep more of the conversation in the window: that costs tokens\n"
        "and saves what a summary loses.\n";
  }
  text += fmt::format(
      "Prices for a million tokens, examples unless given: input {:.2f}, cache read\n"
      "{:.2f}, cache write {:.2f}, output {:.2f}; the cache is taken to keep every prefix.\n",
      prices.input, prices.cache_read, prices.cache_write, prices.output);
  if (replay.window == 0) {
    text += "The window is not known: --window N or --model M tells it.\n";
  }
  return text;
}

void write_side(JsonWriter& out, std::string_view name, const Side& side) {
  out.key(name)
      .begin_object()
      .member("tokens_sent", side.sent)
      .member("tokens_cached", side.cached)
      .member("tokens_longest", side.fullest)
      .member("passes", uint64_t{side.passes})
      .member("calls_too_long", uint64_t{side.too_long})
      .member("tokens_output", side.output)
      .member("price_cached", side.cost_cached)
      .member("price_uncached", side.cost_plain)
      .end_object();
}

void write_calls(JsonWriter& out, const Replay& replay, const Bill& bill) {
  out.key("calls").begin_array();
  for (size_t i = 0; i < replay.turns.size(); ++i) {
    const Turn& turn = replay.turns[i];
    out.begin_object()
        .member("call", uint64_t{i + 1})
        .member("messages", uint64_t{turn.messages})
        .member("tokens_without", bill.fill_without[i])
        .member("tokens_with", turn.with)
        .member("tokens_cached", turn.cached)
        .member("tokens_output", turn.output)
        .member("fits", turn.fits)
        .member("degraded", turn.degraded)
        .key("actions")
        .begin_array();
    for (const Json& action : turn.actions) {
      out.raw(to_json(action));
    }
    out.end_array().end_object();
  }
  out.end_array();
}

void write_files(JsonWriter& out, const Replay& replay) {
  out.key("files").begin_array();
  for (const KeptFile& file : replay.files) {
    out.begin_object()
        .member("call", uint64_t{file.call})
        .member("what", file.what)
        .member("tool", file.tool)
        .member("path", file.path)
        .member("size", file.bytes)
        .member("tokens_before", file.tokens_before)
        .member("tokens_after", file.tokens_after)
        .end_object();
  }
  out.end_array();
}

}  // namespace

std::string report_text(const Transcript& transcript, const Replay& replay, const Bill& bill,
                        const Prices& prices, bool brief) {
  std::string text =
      fmt::format("{}, {} messages, {} calls{}\n", transcript.kind, transcript.messages.size(),
                  replay.turns.size(),
                  replay.model.empty() ? "" : fmt::format(" of {}", printable(replay.model)));
  text +=
      replay.window == 0
          ? fmt::format("window unknown, late passes from {} tokens\n\n", replay.trigger)
          : fmt::format("window {} tokens, late passes from {}\n\n", replay.window, replay.trigger);
  if (!brief) {
    text += calls_table(replay, bill);
    text += files_table(replay);
  }
  return text + total_table(replay, bill) + "\n" + findable(replay) + caveats(replay, bill, prices);
}

std::string report_json(const Transcript& transcript, const Replay& replay, const Bill& bill,
                        const Prices& prices) {
  JsonWriter out;
  out.begin_object().key("transcript").begin_object();
  out.member("kind", transcript.kind)
      .member("format", replay.format)
      .member("messages", uint64_t{transcript.messages.size()})
      .member("summaries", uint64_t{transcript.compactions.size()})
      .member("unread", uint64_t{transcript.broken_lines})
      .member("sidechain_lines", uint64_t{transcript.sidechain_lines})
      .member("abandoned_lines", uint64_t{transcript.abandoned_lines})
      .end_object();
  out.member("model", replay.model)
      .member("window", replay.window)
      .member("trigger", replay.trigger)
      .key("prices")
      .begin_object()
      .member("input", prices.input)
      .member("cache_read", prices.cache_read)
      .member("cache_write", prices.cache_write)
      .member("output", prices.output)
      .end_object();
  write_calls(out, replay, bill);
  write_files(out, replay);
  out.member("history_bytes", replay.history_bytes)
      .member("summaries_recorded", bill.recorded)
      .member("passes_avoided",
              static_cast<int64_t>(bill.without.passes) - static_cast<int64_t>(bill.with.passes))
      .key("total")
      .begin_object();
  write_side(out, "without", bill.without);
  write_side(out, "with", bill.with);
  return out.end_object().end_object().take();
}

std::string left_out(const Transcript& transcript) {
  std::string text;
  if (transcript.broken_lines > 0) {
    text += fmt::format(
        "ebla: {} lines or entries are no message and are left out, the first is "
        "number {}\n",
        transcript.broken_lines, transcript.first_broken);
  }
  if (transcript.sidechain_lines > 0) {
    text += fmt::format("ebla: {} lines of sub-agents are left out: they have lists of their own\n",
                        transcript.sidechain_lines);
  }
  if (transcript.abandoned_lines > 0) {
    text += fmt::format("ebla: {} lines of branches that were rewound are left out\n",
                        transcript.abandoned_lines);
  }
  return text;
}

}  // namespace ebla::tools
