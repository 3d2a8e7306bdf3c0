#include "daemon/prepare/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "context/windows.h"
#include "daemon/prepare/facts.h"
#include "schema/base/number.h"

namespace ebla::daemon {
namespace {

constexpr std::string_view kRevisionPrefix = "r2-";
constexpr size_t kHashDigits = 32;
// Weight of the newest report in a model's ratio.
constexpr double kNewestWeight = 0.3;
// Of the window, at most, for an answer whose length only the model's row in the table tells.
constexpr double kReserveShare = 0.25;
constexpr double kRatioUnit = 1'000'000;  // a ratio is stored as a whole number of these parts

struct Revision {
  Hash128 chain;
  uint64_t raw = 0;   // tokens
  uint64_t pass = 0;  // id of the pass in front of it; 0: none
};

std::optional<Revision> parse_revision(std::string_view text) {
  if (!text.starts_with(kRevisionPrefix)) return std::nullopt;
  text.remove_prefix(kRevisionPrefix.size());
  if (text.size() < kHashDigits + 2 || text[kHashDigits] != '-') return std::nullopt;
  const auto chain = Hash128::from_hex(text.substr(0, kHashDigits));
  if (!chain) return std::nullopt;
  text.remove_prefix(kHashDigits + 1);
  const auto raw = take_number(text);
  if (!raw || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto pass = take_number(text);
  if (!pass || !text.empty()) return std::nullopt;
  return Revision{*chain, *raw, *pass};
}

std::string model_of(const Work& work) {
  const std::string& named = work.sent.conversation->model;
  return (named.empty() ? work.session().model : named).substr(0, limits::kToolNameBytes);
}

// Sessions that name no model have nothing in common.
std::string ratio_name(const Work& work) {
  const std::string model = model_of(work);
  return model.empty() ? fmt::format("ratio//{}", work.session().serial) : "ratio/" + model;
}
std::string usage_name(const Work& work) {
  return fmt::format("usage/{}", work.session().serial);
}
std::string session_window_name(const Work& work) {
  return fmt::format("window/{}/{}", work.session().serial, model_of(work));
}
std::string model_window_name(const Work& work) {
  return "window/" + model_of(work);
}

uint64_t tokens_of(const context::WorkingList& list) {
  uint64_t sum = list.conversation->overhead_tokens + list.summary_tokens;
  for (const context::WorkingMessage& message : list.pins) sum += message.tokens;
  for (const context::WorkingMessage& message : list.messages) sum += message.tokens;
  return sum;
}

Hash128 last_chain(const Work& work) {
  if (!work.list.messages.empty()) return work.list.messages.back().chain;
  return work.list.pins.empty() ? Hash128{} : work.list.pins.back().chain;
}

// A report that is far from what was counted is a mistake of the client's, who has left out what
// came from a cache, or has named the sum of many requests.
bool believable(const ReportedUsage& usage, const Revision& revision) {
  const auto input = static_cast<double>(usage.input);
  const auto counted = static_cast<double>(revision.raw);
  return input > 0 && input >= limits::kRatioLow * counted && input <= limits::kRatioHigh * counted;
}

struct Report {
  ReportedUsage usage;
  Revision revision;
};

// What this call reports; nothing when that is not believed.
std::optional<Report> new_report(const Work& work) {
  const auto& usage = work.request().usage;
  const auto revision = usage ? parse_revision(usage->revision) : std::nullopt;
  if (!revision || !believable(*usage, *revision)) return std::nullopt;
  return Report{*usage, *revision};
}

void note_ignored(Work& work) {
  const auto& usage = work.request().usage;
  const auto revision = usage ? parse_revision(usage->revision) : std::nullopt;
  if (!revision || believable(*usage, *revision)) return;
  work.actions.push_back(
      {.what = "usage_ignored",
       .reason = fmt::format("{} tokens reported, {} counted", usage->input, revision->raw)});
}

// The ratio of the model, with this report in it.
double learn_ratio(Work& work, double ratio, bool known) {
  const auto report = new_report(work);
  if (!report) return ratio;
  const ReportedUsage& usage = report->usage;
  const std::string name = usage_name(work);
  const auto before = read_fact(work.services, name);
  if (before && before->starts_with(usage.revision + " ")) return ratio;  // learnt before
  const double reported =
      static_cast<double>(usage.input) / static_cast<double>(report->revision.raw);
  ratio = known ? ratio + kNewestWeight * (reported - ratio) : reported;
  const auto parts = static_cast<uint64_t>(std::lround(ratio * kRatioUnit));
  ratio = static_cast<double>(parts) / kRatioUnit;  // as the next call will read it
  if (!work.keeps()) return ratio;
  write_fact(work.services, ratio_name(work), join_numbers({parts}));
  write_fact(work.services, name,
             fmt::format("{} {} {}", usage.revision, usage.input, usage.output));
  return ratio;
}

// The report of this call, else the last one of the session that was believed.
std::optional<Report> newest_report(const Work& work) {
  if (auto report = new_report(work)) return report;
  const auto stored = read_fact(work.services, usage_name(work));
  if (!stored) return std::nullopt;
  const ReportedUsage usage{stored->substr(0, stored->find(' ')), number_field(*stored, 1),
                            number_field(*stored, 2)};
  const auto revision = parse_revision(usage.revision);
  if (!revision || !believable(usage, *revision)) return std::nullopt;
  return Report{usage, *revision};
}

// With a report for a list that this one begins with, and the same pass in front: what was counted
// for it then was wrong by so many tokens. What has been put away since, and what came after, is as
// we count it.
void correct_count(Work& work) {
  const auto report = newest_report(work);
  if (!report || report->revision.pass != work.known_pass) return;
  const ReportedUsage& usage = report->usage;
  const auto& messages = work.list.messages;
  const auto last = std::ranges::find_if(messages, [&](const context::WorkingMessage& message) {
    return message.chain == report->revision.chain;
  });
  if (last == messages.end()) return;
  uint64_t counted = report->revision.raw;
  // What the model then said was reported too.
  for (auto at = last + 1; usage.output > 0 && at != messages.end(); ++at) {
    if (!context::is_model(*at->message)) break;
    counted += at->tokens;
  }
  const double ours = std::ceil(static_cast<double>(counted) * work.list.ratio);
  work.list.correction =
      static_cast<int64_t>(static_cast<double>(usage.input + usage.output) - ours);
}

struct Window {
  uint64_t tokens = 0;
  bool of_model = false;  // only the model's name told it
};

// For the answer: what the request says; else what the model may write, as far as that leaves the
// window for the list.
uint64_t reserve_of(const Work& work, const context::ModelWindow* row, uint64_t window) {
  const uint64_t stated = work.sent.conversation->max_output;
  if (stated > 0 || row == nullptr) return stated;
  if (window == 0) return row->max_output;
  const double share = kReserveShare * static_cast<double>(window);
  return std::min(row->max_output, static_cast<uint64_t>(share));
}

// A limit that leaves no room to work in is no window: a report with one changes nothing for long.
bool usable_limit(const Work& work, const context::ModelWindow* row, uint64_t limit) {
  const context::Room room = context::room_of(work.settings(), limit, reserve_of(work, row, limit));
  return context::check_room(work.settings(), room).has_value();
}

Window told_window(const Work& work, const context::ModelWindow* row) {
  if (work.request().window > 0) return {work.request().window, false};
  if (work.session().window > 0) return {work.session().window, false};
  const std::string model = model_of(work);
  if (model.empty()) return {};
  const auto found = read_fact(work.services, model_window_name(work));
  const uint64_t limit = found ? number_field(*found, 0) : 0;
  if (limit > 0 && usable_limit(work, row, limit)) return {limit, true};
  return {row == nullptr ? 0 : row->window, true};
}

uint64_t find_window(Work& work, const context::ModelWindow* row) {
  Window window = told_window(work, row);
  const uint64_t reported = work.request().overflow_limit;
  if (reported > 0 && usable_limit(work, row, reported)) {
    work.refused_limit = reported;
    if (work.keeps()) {
      write_fact(work.services,
                 window.of_model ? model_window_name(work) : session_window_name(work),
                 join_numbers({reported}));
    }
    return window.tokens == 0 ? reported : std::min(window.tokens, reported);
  }
  if (window.of_model) return window.tokens;
  const auto learnt = read_fact(work.services, session_window_name(work));
  const uint64_t limit = learnt ? number_field(*learnt, 0) : 0;
  if (limit == 0 || !usable_limit(work, row, limit)) return window.tokens;
  return window.tokens == 0 ? limit : std::min(window.tokens, limit);
}

}  // namespace

void find_room(Work& work) {
  const context::ModelWindow* row = work.services.options.windows.find(model_of(work));
  const uint64_t window = find_window(work, row);
  work.room = context::room_of(work.settings(), window, reserve_of(work, row, window));
}

void calibrate(Work& work) {
  note_ignored(work);
  const auto stored = read_fact(work.services, ratio_name(work));
  const double ratio = stored ? static_cast<double>(number_field(*stored, 0)) / kRatioUnit : 1.0;
  work.list.ratio = std::clamp(learn_ratio(work, ratio, stored.has_value()), limits::kRatioLow,
                               limits::kRatioHigh);
  correct_count(work);
}

void calibrate_again(Work& work, double ratio) {
  work.list.ratio = ratio;
  correct_count(work);
}

uint64_t raw_count(const context::WorkingList& list) {
  return tokens_of(list);
}

std::string revision_of(const Work& work) {
  return fmt::format("{}{}-{}-{}", kRevisionPrefix, last_chain(work).hex(), tokens_of(work.list),
                     work.known_pass);
}

}  // namespace ebla::daemon
