#include "context/summary/carry.h"

#include <algorithm>
#include <array>
#include <optional>

#include "context/summary/runs.h"
#include "context/text/frame_tags.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr size_t kLinesOfASection = 120;
constexpr size_t kRunsAlike = 4;

// Kinds of lines, and how many of one there may be after any number of passes.
struct Kind {
  std::string_view start;
  std::string_view end;
  size_t most;
};
constexpr std::array<Kind, 6> kKinds = {{{"- Reported: ", "", 24},
                                         {"- Noted: ", "", 10},
                                         {"- Done in the plan: ", "", 20},
                                         {"- In the plan, ", "", 40},
                                         {"- \"", " tokens)", 12},
                                         {"- \"", "", 14}}};
constexpr std::string_view kReportedLine = "- Reported: ";
constexpr std::string_view kPlanLine = "- In the plan, ";

const Kind* kind_of_line(std::string_view line) {
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [line](const Kind& each) {
    return line.starts_with(each.start) && line.ends_with(each.end);
  });
  return kind == kKinds.end() ? nullptr : kind;
}

bool limited(size_t section) {
  return section == Outline::done || section == Outline::open || section == Outline::files;
}

// What a line is about: equal ones of an earlier summary give way to newer ones.
std::string_view subject_of(std::string_view line) {
  if (line.starts_with(kReportedLine)) return line;
  if (!line.starts_with("- \"")) return line.substr(0, std::min(line.find(": "), line.size()));
  std::string_view rest = line.substr(2);
  if (!take_quoted(rest)) return line;
  return line.substr(0, line.size() - rest.size());
}

// Of a line that tells of a run, "" of others.
std::string group_of(std::string_view line) {
  std::string_view rest = line.substr(std::min<size_t>(2, line.size()));
  const std::optional<std::string> what = take_quoted(rest);
  return what && rest.find(" tokens)") == rest.npos ? group_of_run(*what) : "";
}

class Carrying {
 public:
  Carrying(const Outline& earlier, const SinceThen& since, Outline& out)
      : earlier_(earlier), since_(since), out_(out) {}

  void carry(size_t section) {
    std::vector<std::string>& to = out_.lines[section];
    std::set<std::string, std::less<>> subjects;
    for (const auto* lines : {&out_[Outline::done], &out_[Outline::open], &to}) {
      for (const std::string& line : *lines) subjects.emplace(subject_of(line));
    }
    out_.more[section] = out_.more[section] || earlier_.more[section];
    for (const std::string& line : earlier_.lines[section]) {
      if (over(section, line) || subjects.contains(subject_of(line))) continue;
      if (to.size() < kLinesOfASection && !full(section, line)) {
        to.push_back(line);
      } else {
        out_.more[section] = true;
      }
    }
  }

 private:
  // It was true then and is not any more.
  bool over(size_t section, std::string_view line) const {
    if (line == texts::kGoOn) return true;
    if (section == Outline::next_steps) return since_.plan || since_.said;
    if (section == Outline::constraints || section == Outline::decisions) {
      return is_said(out_.lines[section], line.substr(std::min<size_t>(2, line.size())));
    }
    if (section != Outline::open) return false;
    if (line.starts_with(kPlanLine)) return since_.plan;
    std::string_view rest = line.substr(std::min<size_t>(2, line.size()));
    const std::optional<std::string> what = take_quoted(rest);
    return what && since_.again.contains(kind_of_run(*what));
  }

  bool full(size_t section, std::string_view line) const {
    const Kind* kind = limited(section) ? kind_of_line(line) : nullptr;
    if (kind == nullptr) return false;
    const std::string group = group_of(line);
    size_t alike = 0;
    size_t count = 0;
    for (const std::string& each : out_.lines[section]) {
      if (kind_of_line(each) != kind) continue;
      ++count;
      if (!group.empty() && group_of(each) == group) ++alike;
    }
    return count >= kind->most || alike >= kRunsAlike;
  }

  const Outline& earlier_;
  const SinceThen& since_;
  Outline& out_;
};

}  // namespace

void carry_over(const Outline& earlier, const SinceThen& since, Outline& out) {
  Carrying carrying(earlier, since, out);
  for (size_t section = 0; section < Outline::kSections; ++section) carrying.carry(section);
}

bool is_said(const std::vector<std::string>& lines, std::string_view sentence) {
  std::string inner =
      sentence.starts_with('"') ? std::string(sentence) : without_frames(quoted(sentence));
  if (inner.ends_with('"')) inner = inner.substr(1, inner.size() - 2);
  return std::any_of(lines.begin(), lines.end(), [&inner](const std::string& line) {
    return line.find(inner) != std::string::npos;
  });
}

}  // namespace ebla::context
