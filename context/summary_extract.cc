#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "context/part_text.h"
#include "context/quote.h"
#include "context/summary.h"
#include "context/summary_calls.h"
#include "context/summary_outline.h"
#include "context/summary_requests.h"
#include "context/summary_sentences.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr size_t kRequestChars = 600;
constexpr size_t kReportChars = 240;
constexpr size_t kFocusChars = 400;
constexpr size_t kLinesOfASection = 60;
constexpr size_t kStepsShown = 8;
constexpr size_t kIntents = 3;
// How items of the extract begin that others do not take the place of, or a newer plan does.
constexpr std::string_view kReportedLine = "- Reported: ";
constexpr std::string_view kPlanLine = "- In the plan, ";

std::span<const WorkingMessage> removed_of(const SummaryInput& input) {
  const auto& all = input.list->messages;
  return {all.data(), std::min(input.removed, all.size())};
}

std::string assistant_text(std::string_view body, const WorkingMessage& message) {
  std::string out;
  if (message.message->role != Role::assistant) return out;
  for (size_t i = 0; i < message.message->parts.size(); ++i) {
    if (message.message->parts[i].kind == PartKind::text) {
      out.append(out.empty() ? "" : "\n").append(standing_text(body, message, i));
    }
  }
  return out;
}

// What a line is about: equal ones of an earlier summary give way to newer ones.
std::string_view subject_of(std::string_view line) {
  if (line.starts_with(kReportedLine)) return line;
  if (!line.starts_with("- \"")) return line.substr(0, std::min(line.find(": "), line.size()));
  size_t end = 3;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? size_t{2} : size_t{1};
  return line.substr(0, std::min(end + 1, line.size()));
}

class Extract {
 public:
  explicit Extract(const SummaryInput& input)
      : input_(input), facts_(call_facts(input)), earlier_(parse_outline(input.earlier)) {}

  std::string write() {
    goal();
    constraints_and_decisions();
    work();
    open_ends();
    files();
    next_steps();
    for (size_t i = 0; i < Outline::kSections; ++i) carry_over(i);
    const uint64_t cap = input_.max_tokens == 0 ? limits::kSummaryTokens : input_.max_tokens;
    return fit_outline(out_, cap);
  }

 private:
  template <class... Args>
  void add(Outline::Section section, fmt::format_string<Args...> pattern, Args&&... args) {
    std::vector<std::string>& lines = out_[section];
    if (lines.size() == kLinesOfASection) return;
    std::string line = fmt::format(pattern, std::forward<Args>(args)...);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }

  // What stands whole elsewhere in the message is not said again.
  void goal() {
    const Requests requests = requests_of(input_);
    std::vector<std::string>& before = earlier_[Outline::goal];
    std::erase_if(before, [](const std::string& line) {
      return line == texts::kFirstStays || line == texts::kNewestBelow ||
             line == texts::kNewestFollows;
    });
    if (requests.first_stays) add(Outline::goal, texts::kFirstStays);
    if (!before.empty()) {
      out_[Outline::goal].push_back(before.front());
      before.erase(before.begin());
    } else if (!requests.first_stays && !requests.words.empty()) {
      add(Outline::goal, texts::kFirstRequest, one_line(requests.words.back().text, kRequestChars));
    }
    if (!requests.current.empty()) add(Outline::goal, texts::kNewestBelow);
    if (requests.newer_follows) add(Outline::goal, texts::kNewestFollows);
    if (!input_.focus.empty()) {
      add(Outline::goal, texts::kInView, one_line(input_.focus, kFocusChars));
    }
  }

  void constraints_and_decisions() {
    const std::span<const WorkingMessage> messages = removed_of(input_);
    for (auto at = messages.rbegin(); at != messages.rend(); ++at) {
      const bool user = user_speaks(input_.body, *at);
      const std::string text =
          user ? user_text(input_.body, *at) : assistant_text(input_.body, *at);
      for (const std::string& sentence : sentences_of(text)) {
        if (user && bears(sentence, Mark::constraint)) {
          add(Outline::constraints, texts::kQuote, quoted(sentence));
        }
        if (bears(sentence, Mark::decision)) {
          add(Outline::decisions, texts::kQuote, quoted(sentence));
        }
      }
    }
  }

  // What the model said last before the user spoke again, and what was run; newest first.
  void work() {
    std::vector<std::pair<size_t, std::string>> lines;
    const std::span<const WorkingMessage> messages = removed_of(input_);
    std::string said;
    for (size_t i = 0; i < messages.size(); ++i) {
      const std::string text = assistant_text(input_.body, messages[i]);
      if (!text.empty()) said = text;
      const bool turn_ends = i + 1 < messages.size() && user_speaks(input_.body, messages[i + 1]);
      if (!turn_ends || said.empty()) continue;
      lines.emplace_back(i, fmt::format(texts::kReported, quoted(one_line(said, kReportChars))));
      said.clear();
    }
    for (const RunFact& run : facts_.runs) {
      if (run.answered) lines.emplace_back(run.last, run_line(run));
    }
    for (const PlanStep& step : facts_.plan) {
      if (step.done) lines.emplace_back(0, fmt::format(texts::kTodoDone, step.text));
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [at, line] : lines) add(Outline::done, "{}", line);
  }

  static std::string run_line(const RunFact& run) {
    std::string outcome = !run.answered ? texts::kNotSeen
                          : run.failed  ? texts::kFailed
                          : run.error   ? texts::kShowsError
                                        : texts::kOk;
    if (!run.telling.empty()) outcome += ", " + quoted(run.telling);
    const std::string times = run.times > 1 ? fmt::format(texts::kTimes, run.times) : "";
    return fmt::format(texts::kRun, quoted(run.what), times, outcome);
  }

  void open_ends() {
    for (const PlanStep& step : facts_.plan) {
      if (!step.done) add(Outline::open, texts::kTodo, step.status, step.text);
    }
    for (const RunFact& run : facts_.runs) {
      if (!run.answered || run.failed || run.error) add(Outline::open, "{}", run_line(run));
    }
  }

  void files() {
    for (const FileFact& file : facts_.files) {
      add(Outline::files, texts::kFile, quoted(file.path), actions_of(file));
    }
    for (const PutAwayFact& put : facts_.put_away) {
      add(Outline::files, texts::kPutAway, quoted(put.path), put.what, texts::grouped(put.tokens));
    }
  }

  static std::string actions_of(const FileFact& file) {
    static constexpr std::string_view kWords[] = {"read", "written", "edited", "deleted", "moved"};
    std::string out;
    for (size_t i = 0; i < std::size(kWords); ++i) {
      if (file.counts[i] == 0) continue;
      out.append(out.empty() ? "" : ", ").append(kWords[i]);
      if (file.counts[i] > 1) out += fmt::format(texts::kTimes, file.counts[i]);
    }
    if (file.failures > 0) {
      out.append(", ").append(fmt::format(texts::kFileFailed, file.failures));
    }
    return out;
  }

  void next_steps() {
    size_t shown = 0;
    for (const PlanStep& step : facts_.plan) {
      if (!step.done && shown++ < kStepsShown) add(Outline::next_steps, texts::kStep, step.text);
    }
    const std::span<const WorkingMessage> messages = removed_of(input_);
    for (auto at = messages.rbegin(); at != messages.rend(); ++at) {
      const std::string text = assistant_text(input_.body, *at);
      if (text.empty()) continue;
      std::vector<std::string> said = marked_sentences(text, Mark::intent);
      if (said.size() > kIntents) said.erase(said.begin(), said.end() - kIntents);
      for (const std::string& s : said) add(Outline::next_steps, texts::kQuote, quoted(s));
      break;
    }
    if (out_[Outline::next_steps].empty()) add(Outline::next_steps, "{}", texts::kGoOn);
  }

  // Lines of the summary before, unless something newer is said of the same. A newer plan takes the
  // place of the old one.
  void carry_over(size_t section) {
    if (section == Outline::next_steps && !facts_.plan.empty()) return;
    std::set<std::string, std::less<>> subjects;
    for (const auto* lines : {&out_[Outline::done], &out_.lines[section]}) {
      for (const std::string& line : *lines) subjects.emplace(subject_of(line));
    }
    const bool steps = section == Outline::open && !facts_.plan.empty();
    for (const std::string& line : earlier_.lines[section]) {
      if (out_.lines[section].size() >= 2 * kLinesOfASection) return;
      if (steps && line.starts_with(kPlanLine)) continue;
      if (line == texts::kGoOn || subjects.contains(subject_of(line))) continue;
      out_.lines[section].push_back(line);
    }
  }

  const SummaryInput& input_;
  CallFacts facts_;
  Outline earlier_;
  Outline out_;
};

}  // namespace

std::string extract_summary(const SummaryInput& input) {
  return Extract(input).write();
}

}  // namespace ebla::context
