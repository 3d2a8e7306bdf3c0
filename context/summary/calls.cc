#include "context/summary/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "context/list/part_text.h"
#include "context/summary/outcome.h"
#include "context/summary/runs.h"
#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr size_t kStepChars = 160;
constexpr size_t kPathBytes = 400;
constexpr size_t kSteps = 100;
// Of a result that was put away, to see how it ended.
constexpr size_t kResultBytes = 16'384;
// An answer that begins like one of these says that nothing was changed; a longer one says more.
constexpr size_t kErrorBytes = 2'000;
constexpr size_t kErrorStartBytes = 16;
constexpr std::string_view kErrorStarts[] = {"error", "failed", "failure", "tool_use_error"};

constexpr std::string_view kPathNames[] = {
    "file_path", "path",     "filepath",      "filename",      "file",         "target_file",
    "file_name", "filePath", "notebook_path", "absolute_path", "relative_path"};
constexpr std::string_view kStepNames[] = {"content", "step",        "title", "text",
                                           "task",    "description", "name"};
constexpr std::string_view kLookingTools[] = {"grep", "glob", "search_file", "ls", "list", "find"};

bool any_in(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view w) { return text.find(w) != text.npos; });
}

std::string string_member(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value != nullptr && value->is(Json::Kind::string) ? value->text : "";
}

std::optional<FileAction> action_of(std::string_view word) {
  const std::string name = lowered(word);
  if (any_in(name, {"delete", "remove", "unlink"})) return FileAction::deleted;
  if (any_in(name, {"move", "rename"})) return FileAction::moved;
  if (any_in(name, {"edit", "replace", "patch", "update", "insert", "append", "modify"})) {
    return FileAction::edited;
  }
  if (any_in(name, {"write", "create", "save"})) return FileAction::written;
  if (any_in(name, {"read", "view", "open", "cat", "get", "fetch", "load"}))
    return FileAction::read;
  return std::nullopt;
}

bool looks_only(std::string_view tool) {
  const std::string name = lowered(tool);
  return std::any_of(std::begin(kLookingTools), std::end(kLookingTools),
                     [&name](std::string_view w) { return name.find(w) != name.npos; });
}

struct FileUse {
  std::string path;
  FileAction action;
};

// "*** Update File: PATH" lines of a patch text.
void add_patch(std::string_view text, std::vector<FileUse>& out) {
  if (text.find("*** Begin Patch") == text.npos) return;
  constexpr std::pair<std::string_view, FileAction> kLines[] = {
      {"*** Add File: ", FileAction::written},
      {"*** Update File: ", FileAction::edited},
      {"*** Delete File: ", FileAction::deleted}};
  for (const auto& [mark, action] : kLines) {
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
      at += mark.size();
      out.push_back({std::string(text.substr(at, text.find('\n', at) - at)), action});
    }
  }
}

std::vector<FileUse> file_uses(const Part& call, const Json& arguments) {
  std::vector<FileUse> out;
  if (arguments.is(Json::Kind::string)) add_patch(arguments.text, out);
  for (const auto& [name, value] : arguments.members) {
    if (value.is(Json::Kind::string)) add_patch(value.text, out);
    for (const Json& item : value.items) {
      if (item.is(Json::Kind::string)) add_patch(item.text, out);
    }
  }
  if (!out.empty()) return out;
  for (const std::string_view name : kPathNames) {
    std::string path = string_member(arguments, name);
    if (path.empty() || path.size() > kPathBytes) continue;
    std::optional<FileAction> action = action_of(string_member(arguments, "command"));
    if (!action) action = action_of(call.tool);
    if (action && !looks_only(call.tool)) out.push_back({std::move(path), *action});
    break;
  }
  return out;
}

bool is_done(std::string_view status) {
  const std::string s = lowered(status);
  return any_in(s, {"complete", "done", "finished", "cancel"});
}

// A plan is a list of objects that each have a status and a text, whatever the tool is called.
std::vector<PlanStep> plan_of(const Json& arguments) {
  for (const auto& [name, list] : arguments.members) {
    std::vector<PlanStep> steps;
    for (const Json& item : list.items) {
      std::string text;
      for (const std::string_view key : kStepNames) {
        if (text.empty()) text = string_member(item, key);
      }
      const std::string status = string_member(item, "status");
      if (text.empty() || status.empty() || steps.size() == kSteps) break;
      steps.push_back({one_line(text, kStepChars), one_line(status, kStepChars), is_done(status)});
    }
    if (!steps.empty() && steps.size() == std::min(list.items.size(), kSteps)) return steps;
  }
  return {};
}

// Short, and it begins like an error. What a file says may do so, too: only changes are judged by
// it.
bool says_failed(const Part& result, const std::vector<FileUse>& files, std::string_view text) {
  if (result.error) return true;
  const bool changes =
      std::ranges::any_of(files, [](const FileUse& use) { return use.action != FileAction::read; });
  if (!changes || text.size() > kErrorBytes) return false;
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n<"), text.size());
  const std::string start = lowered(text.substr(begin, kErrorStartBytes));
  return std::ranges::any_of(kErrorStarts,
                             [&](std::string_view s) { return start.starts_with(s); });
}

class Collector {
 public:
  explicit Collector(const SummaryInput& input) : input_(input) {}

  CallFacts collect() {
    const size_t removed = std::min(input_.removed, input_.list->messages.size());
    for (size_t i = 0; i < removed; ++i) {
      const WorkingMessage& message = input_.list->messages[i];
      for (size_t p = 0; p < message.message->parts.size(); ++p) part(message, i, p);
    }
    return finished();
  }

 private:
  struct Call {
    std::vector<FileUse> files;
    std::string run;
    size_t message = 0;
  };

  void part(const WorkingMessage& message, size_t i, size_t p) {
    const Part& source = message.message->parts[p];
    put_away(message, p);
    if (source.kind == PartKind::tool_call) return call(message, i, p);
    if (source.kind == PartKind::tool_result) return result(message, p);
    if (source.kind != PartKind::text || message.message->role != Role::assistant) return;
    std::vector<PlanStep> plan = checkboxes(standing_text(input_.body, message, p));
    if (!plan.empty()) plan_ = std::move(plan);
  }

  void put_away(const WorkingMessage& message, size_t p) {
    const Part& source = message.message->parts[p];
    const auto call = calls_.find(source.call_id);
    for (PutAway& put : put_away_of(message, p)) {
      std::string what = texts::tool_name(source.tool.empty() ? source.media_type : source.tool);
      const bool ran = source.kind == PartKind::tool_result && call != calls_.end();
      if (ran && !call->second.run.empty()) what = one_line(call->second.run, kStepChars / 2);
      if (!put.argument.empty()) what += " " + one_line(put.argument, kStepChars);
      if (what.empty()) what = "message";
      std::erase_if(put_away_, [&](const PutAwayFact& f) { return f.path == put.path; });
      put_away_.push_back({std::move(put.path), std::move(what), put.tokens});
    }
  }

  void call(const WorkingMessage& message, size_t i, size_t p) {
    const Part& source = message.message->parts[p];
    const Json arguments = given_arguments(input_.body, message, p, input_.excerpt);
    Call& call = calls_[source.call_id];
    call = {};
    call.message = i;
    std::vector<PlanStep> plan = plan_of(arguments);
    if (!plan.empty()) {
      plan_ = std::move(plan);
      return;
    }
    for (const FileUse& use : file_uses(source, arguments)) use_file(call, use, i);
    if (!call.files.empty() || looks_only(source.tool)) return;
    const RunName name = run_name(source, arguments);
    for (const std::string& path : name.written) use_file(call, {path, FileAction::written}, i);
    if (!name.folder.empty()) folder_ = name.folder;
    call.run = name.what;
    RunFact& run = runs_[call.run];
    run = {name.what, name.kind, name.group, "", run.times + 1};
    run.looks = name.looks;
    run.last = i;
  }

  void use_file(Call& call, const FileUse& use, size_t i) {
    FileFact& file = files_[use.path];
    ++file.counts[static_cast<size_t>(use.action)];
    file.last = i + 1;
    call.files.push_back(use);
  }

  static void failed(FileFact& file, FileAction action) {
    uint32_t& count = file.counts[static_cast<size_t>(action)];
    if (action != FileAction::read && count > 0) --count;
    ++file.failures;
  }

  void result(const WorkingMessage& message, size_t p) {
    const Part& source = message.message->parts[p];
    const auto found = calls_.find(source.call_id);
    if (found == calls_.end()) return;
    const Call& call = found->second;
    if (!call.files.empty() &&
        says_failed(source, call.files, standing_text(input_.body, message, p))) {
      for (const FileUse& use : call.files) failed(files_[use.path], use.action);
    }
    if (call.run.empty()) return;
    RunFact& run = runs_[call.run];
    if (run.last != call.message) return;
    std::string text = standing_text(input_.body, message, p);
    const bool stub = p < message.parts.size() && message.parts[p].replaced;
    if (stub && input_.excerpt) text = input_.excerpt(message, p, "", kResultBytes) + "\n" + text;
    const Outcome outcome = outcome_of(text);
    run.answered = true;
    run.failed = source.error || outcome.failed;
    run.error = outcome.error;
    run.telling = outcome.telling;
  }

  CallFacts finished() {
    CallFacts out;
    for (auto& [path, file] : files_) {
      file.path = path;
      out.files.push_back(std::move(file));
    }
    for (auto& [what, run] : runs_) {
      out.runs.push_back(std::move(run));
    }
    const auto newest = [](const auto& a, const auto& b) { return a.last > b.last; };
    std::stable_sort(out.files.begin(), out.files.end(), newest);
    std::stable_sort(out.runs.begin(), out.runs.end(), newest);
    out.plan = std::move(plan_);
    out.folder = std::move(folder_);
    std::reverse(put_away_.begin(), put_away_.end());
    out.put_away = std::move(put_away_);
    return out;
  }

  const SummaryInput& input_;
  std::map<std::string, Call> calls_;
  std::map<std::string, FileFact> files_;
  std::map<std::string, RunFact> runs_;
  std::vector<PlanStep> plan_;
  std::string folder_;
  std::vector<PutAwayFact> put_away_;
};

}  // namespace

CallFacts call_facts(const SummaryInput& input) {
  return Collector(input).collect();
}

std::vector<PlanStep> checkboxes(std::string_view text) {
  std::vector<PlanStep> steps;
  while (!text.empty() && steps.size() < kSteps) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t-*"), line.size()));
    if (line.size() < 5 || line[0] != '[' || line[2] != ']' || line[3] != ' ') continue;
    if (line[1] != ' ' && line[1] != 'x' && line[1] != 'X') continue;
    const bool done = line[1] != ' ';
    steps.push_back({one_line(line.substr(4), kStepChars), done ? "done" : "open", done});
  }
  return steps;
}

}  // namespace ebla::context
