#include "context/summary/arguments.h"

#include <algorithm>
#include <vector>

#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

// Last words of the names of arguments that say what a call is about, and where that is. All others
// say how: a call that differs in those alone tries the same again.
constexpr std::string_view kSubjects[] = {
    "path",  "file",     "filename",  "dir",    "directory", "folder",   "url",    "uri",
    "link",  "query",    "q",         "search", "pattern",   "regex",    "glob",   "expression",
    "sql",   "question", "statement", "symbol", "selector",  "target",   "id",     "key",
    "name",  "title",    "number",    "issue",  "package",   "module",   "topic",  "subject",
    "paths", "files",    "urls",      "ids",    "names",     "patterns", "queries"};
constexpr std::string_view kPlaces[] = {"owner", "repo",     "repository", "project",
                                        "host",  "database", "table",      "branch"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// "documentId", "file_path": id, path.
std::string last_word(std::string_view name) {
  size_t begin = 0;
  for (size_t i = 1; i < name.size(); ++i) {
    const bool hump = name[i] >= 'A' && name[i] <= 'Z' && name[i - 1] >= 'a' && name[i - 1] <= 'z';
    if (hump) begin = i;
    if (name[i] == '_' || name[i] == '-' || name[i] == '.') begin = i + 1;
  }
  return lowered(name.substr(begin));
}
bool is_subject(std::string_view name) {
  return is_one_of(last_word(name), kSubjects);
}
bool is_main(std::string_view name) {
  return is_subject(name) || is_one_of(last_word(name), kPlaces);
}

// Quoted where it would pass for several arguments.
std::string shown_value(const Json& value, size_t characters) {
  const bool word = value.is(Json::Kind::string) || value.is(Json::Kind::number);
  const std::string out = one_line(word ? value.text : to_json(value), characters);
  const bool several = out.find(", ") != out.npos && out.find('=') != out.npos;
  return value.is(Json::Kind::string) && several ? quoted(out) : out;
}

// Of the name that a line of arguments, or the next argument in one, begins with.
size_t name_size(std::string_view line) {
  size_t size = 0;
  while (size < line.size()) {
    const auto c = static_cast<unsigned char>(line[size]);
    const bool letter = (lowered(line[size]) >= 'a' && lowered(line[size]) <= 'z') || c >= 0x80;
    const bool other = (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '$';
    if (!letter && (size == 0 || !other) && c != '_') break;
    ++size;
  }
  return size;
}

// Where the argument ends that the line begins with: at its end or at a comma.
size_t argument_size(std::string_view line) {
  std::string_view rest = line.substr(name_size(line) + 1);
  const std::string_view value = rest;
  const bool whole = take_quoted(rest) && (rest.empty() || rest.starts_with(','));
  if (!whole) rest = value;
  size_t at = line.size() - rest.size();
  for (at = line.find(',', at); at != line.npos; at = line.find(',', at + 1)) {
    const std::string_view behind = line.substr(at + 1);
    if (behind.starts_with(' ') && begins_argument(behind.substr(1))) return at;
  }
  return line.size();
}

}  // namespace

std::string arguments_line(const Json& arguments, size_t characters) {
  std::string out;
  for (const bool main : {true, false}) {
    for (const auto& [name, value] : arguments.members) {
      if (is_main(name) != main) continue;
      out.append(out.empty() ? "" : ", ")
          .append(name)
          .append("=")
          .append(shown_value(value, characters));
    }
  }
  return one_line(out, characters);
}

bool begins_argument(std::string_view line) {
  const size_t name = name_size(line);
  return name > 0 && line.substr(name).starts_with('=');
}

std::string main_arguments(std::string_view line) {
  const std::string_view all = line;
  const bool cut = line.ends_with(texts::kCut);
  if (cut) line.remove_suffix(std::string_view(texts::kCut).size());
  // A name that was cut off.
  const size_t comma = line.rfind(',');
  if (cut && comma != line.npos) {
    std::string_view behind = line.substr(comma + 1);
    behind.remove_prefix(behind.starts_with(' ') ? 1 : 0);
    if (name_size(behind) == behind.size()) line = line.substr(0, comma);
  }
  std::vector<std::string_view> kept;
  bool subject = false;
  while (!line.empty()) {
    const size_t size = argument_size(line);
    const std::string_view name = line.substr(0, name_size(line));
    subject = subject || is_subject(name);
    if (is_main(name)) kept.push_back(line.substr(0, size));
    line.remove_prefix(std::min(size + 2, line.size()));
  }
  if (!subject) return std::string(all);
  std::sort(kept.begin(), kept.end());
  std::string out;
  for (const std::string_view each : kept) out.append(out.empty() ? "" : ", ").append(each);
  return out;
}

}  // namespace ebla::context
