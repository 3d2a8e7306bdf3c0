#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "context/list/part_text.h"
#include "context/summary/calls.h"
#include "context/summary/carry.h"
#include "context/summary/files.h"
#include "context/summary/outline.h"
#include "context/summary/requests.h"
#include "context/summary/said.h"
#include "context/summary/sentences.h"
#include "context/summary/summary.h"
#include "context/text/frame_tags.h"
#include "context/text/quote.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr size_t kRequestChars = 600;
constexpr size_t kReportChars = 240;
constexpr size_t kShortestNote = 24;
constexpr size_t kFocusChars = 400;
constexpr size_t kLinesOfASection = 60;
constexpr size_t kIntents = 3;
// What one pass adds at most of a kind. More would only push out what is older and still holds.
constexpr size_t kReports = 16;
constexpr size_t kNotes = 8;
constexpr size_t kRuns = 12;
constexpr size_t kRunsAlike = 3;
constexpr size_t kOpenRuns = 10;
constexpr size_t kWishes = 12;
constexpr size_t kRulesOfAMessage = 20;
constexpr size_t kPutAwayShown = 8;

std::span<const WorkingMessage> removed_of(const SummaryInput& input) {
  const auto& all = input.list->messages;
  return {all.data(), std::min(input.removed, all.size())};
}

bool went_well(const RunFact& run) {
  return run.answered && !run.failed && !run.error;
}

class Extract {
 public:
  explicit Extract(const SummaryInput& input)
      : input_(input),
        facts_(call_facts(input)),
        said_(said_in(input)),
        earlier_(parse_outline(input.earlier)) {}

  std::string write() {
    goal();
    constraints();
    done();
    decisions();
    open_ends();
    files();
    next_steps();
    std::set<std::string, std::less<>> kinds;
    for (const RunFact& run : facts_.runs) {
      if (went_well(run) || !run.looks) kinds.insert(run.kind);
    }
    carry_over(earlier_, {!facts_.plan.empty(), !said_.empty(), std::move(kinds)}, out_);
    const uint64_t cap = input_.max_tokens == 0 ? limits::kSummaryTokens : input_.max_tokens;
    return fit_outline(out_, cap);
  }

 private:
  template <class... Args>
  void add(Outline::Section section, fmt::format_string<Args...> pattern, Args&&... args) {
    std::vector<std::string>& lines = out_[section];
    std::string line = without_frames(fmt::format(pattern, std::forward<Args>(args)...));
    if (std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    if (lines.size() < kLinesOfASection) {
      lines.push_back(std::move(line));
    } else {
      out_.more[section] = true;
    }
  }

  // Unless it is said there already, alone or within something longer.
  void add_quote(Outline::Section section, std::string_view sentence) {
    if (!is_said(out_[section], sentence)) add(section, texts::kQuote, quoted(sentence));
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

  void constraints() {
    const std::span<const WorkingMessage> messages = removed_of(input_);
    size_t wishes = 0;
    for (auto at = messages.rbegin(); at != messages.rend(); ++at) {
      if (!user_speaks(input_.body, *at)) continue;
      const std::string text = user_text(input_.body, *at);
      std::vector<std::string> rules = listed_rules(text);
      for (std::string& sentence : sentences_of(text)) {
        if (asks(sentence)) continue;
        const bool rule = bears(sentence, Mark::constraint);
        if (!rule && (!bears(sentence, Mark::wish) || ++wishes > kWishes)) continue;
        rules.push_back(std::move(sentence));
      }
      if (rules.size() > kRulesOfAMessage) {
        rules.resize(kRulesOfAMessage);
        out_.more[Outline::constraints] = true;
      }
      for (const std::string& rule : rules) add_quote(Outline::constraints, rule);
    }
  }

  void decisions() {
    const std::span<const WorkingMessage> messages = removed_of(input_);
    for (auto at = messages.rbegin(); at != messages.rend(); ++at) {
      const bool user = user_speaks(input_.body, *at);
      const std::string text =
          user ? user_text(input_.body, *at) : assistant_text(input_.body, *at);
      for (const std::string& sentence : sentences_of(text)) {
        if (!bears(sentence, Mark::decision) || asks(sentence)) continue;
        if (!is_said(out_[Outline::done], sentence)) add_quote(Outline::decisions, sentence);
      }
    }
  }

  using Dated = std::pair<size_t, std::string>;  // message, line

  // What the model said when it was done or on its way, and what was run with success; newest
  // first.
  void done() {
    std::vector<Dated> lines;
    said_lines(lines);
    run_lines(lines);
    for (const PlanStep& step : facts_.plan) {
      if (step.done) lines.emplace_back(0, fmt::format(texts::kTodoDone, step.text));
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Dated& a, const Dated& b) { return a.first > b.first; });
    for (const auto& [at, line] : lines) add(Outline::done, "{}", line);
  }

  void said_lines(std::vector<Dated>& lines) {
    size_t reports = 0;
    size_t notes = 0;
    for (auto said = said_.rbegin(); said != said_.rend(); ++said) {
      if (said->ends) {
        if (++reports > kReports) continue;
        const std::string text = one_line(said->text, kReportChars);
        lines.emplace_back(said->at, fmt::format(texts::kReported, quoted(text)));
      } else if (said != said_.rbegin()) {
        const std::string text = findings_of(said->text);
        if (text.size() < kShortestNote || ++notes > kNotes) continue;
        lines.emplace_back(said->at, fmt::format(texts::kNoted, quoted(text)));
      }
    }
  }

  void run_lines(std::vector<Dated>& lines) {
    std::map<std::string_view, size_t> alike;
    for (const RunFact& run : facts_.runs) {
      if (went_well(run) && !run.looks) ++alike[run.group];
    }
    std::map<std::string_view, size_t> shown;
    size_t all = 0;
    for (const RunFact& run : facts_.runs) {
      if (!went_well(run) || run.looks || all == kRuns) continue;
      const size_t number = ++shown[run.group];
      if (number > kRunsAlike) continue;
      ++all;
      const size_t rest = alike[run.group] - number;
      std::string line = run_line(run);
      if (number == kRunsAlike && rest > 0) line += fmt::format(texts::kMoreRuns, rest);
      lines.emplace_back(run.last, std::move(line));
    }
    if (all > 0) return;
    // Of a session that only looked around, what it saw last.
    for (const RunFact& run : facts_.runs) {
      if (!went_well(run) || !run.looks || all >= kRunsAlike) continue;
      ++all;
      lines.emplace_back(run.last, run_line(run));
    }
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

  // What failed and was not run again since.
  void open_ends() {
    for (const PlanStep& step : facts_.plan) {
      if (!step.done) add(Outline::open, texts::kTodo, step.status, step.text);
    }
    std::set<std::string_view> again;
    std::map<std::string_view, size_t> alike;
    size_t shown = 0;
    for (const RunFact& run : facts_.runs) {
      const bool newest = (went_well(run) || !run.looks) && again.insert(run.kind).second;
      if (!newest || went_well(run)) continue;
      if (shown == kOpenRuns || ++alike[run.group] > kRunsAlike) {
        out_.more[Outline::open] = true;
        continue;
      }
      ++shown;
      add(Outline::open, "{}", run_line(run));
    }
  }

  void files() {
    if (!facts_.folder.empty()) add(Outline::files, texts::kRanIn, quoted(facts_.folder));
    const std::vector<FileFact> before = take_files(earlier_[Outline::files]);
    const std::vector<FileFact> all = merged_files(facts_.files, before);
    for (const std::string& line : file_lines(all)) add(Outline::files, "{}", line);
    size_t shown = 0;
    for (const PutAwayFact& put : facts_.put_away) {
      if (++shown > kPutAwayShown) {
        out_.more[Outline::files] = true;
        return;
      }
      add(Outline::files, texts::kPutAway, quoted(put.path), put.what, texts::grouped(put.tokens));
    }
  }

  void next_steps() {
    if (!said_.empty()) {
      const Said& last = said_.back();
      std::vector<std::string> intents = marked_sentences(last.text, Mark::intent);
      if (intents.size() > kIntents) intents.erase(intents.begin(), intents.end() - kIntents);
      for (const std::string& s : intents) add_quote(Outline::next_steps, s);
      if (intents.empty() && !last.ends && checkboxes(last.text).empty()) {
        add(Outline::next_steps, texts::kSaidLast, quoted(one_line(last.text, kReportChars)));
      }
    }
    const PlanStep* next = nullptr;
    for (const PlanStep& step : facts_.plan) {
      if (step.done) continue;
      const bool begun = step.status.find("progress") != std::string::npos;
      if (next == nullptr || begun) next = &step;
      if (begun) break;
    }
    if (next != nullptr) add(Outline::next_steps, texts::kStep, next->text);
    if (out_[Outline::next_steps].empty()) add(Outline::next_steps, "{}", texts::kGoOn);
  }

  const SummaryInput& input_;
  CallFacts facts_;
  std::vector<Said> said_;
  Outline earlier_;
  Outline out_;
};

}  // namespace

std::string extract_summary(const SummaryInput& input) {
  return Extract(input).write();
}

}  // namespace ebla::context
