#include "context/summary/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "context/summary/arguments.h"
#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr size_t kCommandChars = 160;
constexpr size_t kWords = 12;  // of a command that tell it from another
constexpr std::string_view kCommandNames[] = {"command", "cmd", "script", "code", "commands"};
// Programs that change nothing, however they end.
constexpr std::string_view kLookers[] = {
    "ls",   "cat",  "head",  "tail", "grep", "rg",       "egrep",  "fgrep", "ag",   "find", "fd",
    "wc",   "tree", "which", "type", "pwd",  "echo",     "stat",   "file",  "du",   "df",   "jq",
    "sort", "ps",   "env",   "date", "less", "more",     "bat",    "nl",    "od",   "xxd",  "diff",
    "cmp",  "test", "awk",   "uniq", "cut",  "printenv", "whoami", "id",    "uname"};
constexpr std::string_view kGitLookers[] = {"status", "log", "diff", "show", "branch", "blame"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\n;") + 1);
}

// "A=b make" sets a variable for make.
bool sets_variable(std::string_view word) {
  const size_t equals = word.find('=');
  return equals != word.npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(equals), [](char c) {
           return c == '_' || (lowered(c) >= 'a' && lowered(c) <= 'z') || (c >= '0' && c <= '9');
         });
}

// Without what only prepares: "cd x &&", "set -e;", variables, sudo, time.
std::string_view without_preface(std::string_view command) {
  while (true) {
    command = trimmed(command);
    const std::string_view word = command.substr(0, command.find_first_of(" \n"));
    const bool step = word == "cd" || word == "set" || word == "export" || word == "source";
    size_t end = word.size();
    if (step) {
      end = command.find_first_of(";\n");
      const size_t both = command.find("&&");
      end = both < end ? both + 1 : end;
      if (end == command.npos) return command;
      ++end;
    } else if (!sets_variable(word) && word != "sudo" && word != "time" && word != "env") {
      return command;
    }
    if (trimmed(command.substr(end)).empty()) return command;
    command = command.substr(end);
  }
}

// Without "2>&1 | tail -40" at its end.
std::string_view without_filter(std::string_view command) {
  for (const std::string_view filter : {"| tail", "| head"}) {
    const size_t at = command.rfind(filter);
    const bool last =
        at != command.npos && at > 0 &&
        command.find_first_not_of(" -n0123456789c", at + filter.size()) == command.npos;
    if (last) command = trimmed(command.substr(0, at));
  }
  if (command.ends_with("2>&1")) command = trimmed(command.substr(0, command.size() - 4));
  return command;
}

std::vector<std::string_view> words_of(std::string_view command) {
  std::vector<std::string_view> out;
  while (!command.empty() && out.size() < kWords) {
    const size_t begin = std::min(command.find_first_not_of(" \t\n"), command.size());
    command.remove_prefix(begin);
    const std::string_view word = command.substr(0, command.find_first_of(" \t\n"));
    if (!word.empty()) out.push_back(word);
    command.remove_prefix(word.size());
  }
  return out;
}

// "make test": the program and its words that are no flags, up to where another one begins.
std::string program_of(std::string_view command) {
  constexpr std::string_view kEnds[] = {"|", "&&", "||", ";", ">"};
  std::string out;
  for (const std::string_view word : words_of(command)) {
    if (is_one_of(word, kEnds)) break;
    if (!word.starts_with('-')) out.append(out.empty() ? "" : " ").append(word);
  }
  return out;
}

bool in_quotes(std::string_view before) {
  return std::count(before.begin(), before.end(), '"') % 2 == 1 ||
         std::count(before.begin(), before.end(), '\'') % 2 == 1;
}

// Files that output is redirected to; nothing in quotes or in a text that follows the command.
std::vector<std::string> files_written(std::string_view command) {
  if (command.find("<<") != command.npos) command = command.substr(0, command.find('\n'));
  std::vector<std::string> out;
  for (size_t at = command.find('>'); at != command.npos; at = command.find('>', at)) {
    const std::string_view before = command.substr(0, at);
    const size_t end = std::min(command.find_first_not_of("> ", at), command.size());
    at = end;
    const bool other =
        !before.empty() && std::string_view("0123456789&-=<").find(before.back()) != before.npos;
    if (other || in_quotes(before)) continue;
    std::string_view path = command.substr(end);
    path = path.substr(0, path.find_first_of(" \t\n;&|<>)"));
    if (path.size() > 1 && (path.front() == '"' || path.front() == '\'')) {
      path.remove_prefix(1);
      path.remove_suffix(1);
    }
    const bool name = std::any_of(path.begin(), path.end(),
                                  [](char c) { return lowered(c) >= 'a' && lowered(c) <= 'z'; });
    if (name && path.find('$') == path.npos && !path.starts_with("/dev/")) out.emplace_back(path);
  }
  return out;
}

// Where a command is run, as it or its other arguments say; "" unknown.
std::string folder_of(std::string_view command, const Json& arguments) {
  for (const std::string_view name : {"workdir", "cwd", "working_directory"}) {
    const Json* folder = arguments.find(name);
    if (folder != nullptr && folder->is(Json::Kind::string)) return folder->text;
  }
  command = trimmed(command);
  if (!command.starts_with("cd ")) return "";
  const std::string_view folder = trimmed(command.substr(3, command.find_first_of("&;|\n") - 3));
  const bool absolute = folder.starts_with('/') || folder.starts_with("~/");
  return absolute && folder.find(' ') == folder.npos ? std::string(folder) : "";
}

bool only_looks(std::string_view command) {
  const std::vector<std::string_view> words = words_of(command);
  if (words.empty() || !files_written(command).empty()) return false;
  const std::string_view program = words[0].substr(words[0].rfind('/') + 1);
  if (program == "git" && words.size() > 1) return is_one_of(words[1], kGitLookers);
  if (program == "sed") return command.find(" -i") == command.npos;
  return is_one_of(program, kLookers) && command.find("-delete") == command.npos &&
         command.find("&&") == command.npos;
}

}  // namespace

std::string command_text(const Json& arguments) {
  for (const std::string_view name : kCommandNames) {
    const Json* value = arguments.find(name);
    if (value == nullptr) continue;
    if (value->is(Json::Kind::string)) return value->text;
    if (!value->is(Json::Kind::array)) continue;
    // ["bash", "-lc", "make"] is "make".
    const bool shell = value->items.size() == 3 && value->items[1].text.starts_with("-") &&
                       value->items[1].text.ends_with("c");
    if (shell) return value->items[2].text;
    std::string joined;
    for (const Json& item : value->items)
      joined.append(joined.empty() ? "" : " ").append(item.text);
    return joined;
  }
  return "";
}

RunName run_name(const Part& call, const Json& arguments) {
  RunName out;
  const std::string tool = texts::tool_name(call.tool);
  const std::string command = command_text(arguments);
  if (command.empty()) {
    const std::string text = arguments.is(Json::Kind::string)
                                 ? one_line(arguments.text, kCommandChars)
                                 : arguments_line(arguments, kCommandChars);
    out.what = text.empty() ? tool : fmt::format("{}: {}", tool, text);
    out.kind = kind_of_run(out.what);
    out.group = tool;
    return out;
  }
  const bool code = arguments.find("code") != nullptr;
  out.folder = folder_of(command, arguments);
  const std::string_view shown = code ? trimmed(command) : without_filter(without_preface(command));
  out.what = fmt::format("{}: {}", tool, one_line(shown, kCommandChars));
  out.kind = kind_of_run(out.what);
  out.group = code ? tool : group_of_run(out.what);
  out.looks = !code && only_looks(shown);
  if (!code) out.written = files_written(shown);
  return out;
}

std::string group_of_run(std::string_view what) {
  const size_t colon = what.find(": ");
  if (colon == what.npos) return std::string(what);
  const std::vector<std::string_view> words = words_of(what.substr(colon + 2));
  if (words.empty() || begins_argument(words[0])) return std::string(what.substr(0, colon));
  return std::string(what.substr(0, colon + 2)).append(words[0]);
}

std::string kind_of_run(std::string_view what) {
  const size_t colon = what.find(": ");
  if (colon == what.npos) return std::string(what);
  const std::string_view line = what.substr(colon + 2);
  return std::string(what.substr(0, colon + 2)) +
         (begins_argument(line) ? main_arguments(line) : program_of(line));
}

}  // namespace ebla::context
