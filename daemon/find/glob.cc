#include "daemon/find/glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

constexpr size_t npos = std::string_view::npos;
constexpr size_t kAlternatives = 64;
constexpr std::string_view kAnyFolders = "**";

std::unexpected<Error> refuse(std::string_view pattern, std::string_view why) {
  return fail(Code::invalid_params,
              fmt::format("glob pattern {}: {}", printable(pattern.substr(0, 80)), why));
}

// Where the brace at `open` closes, and the commas of its own level.
struct Braces {
  size_t close = npos;
  std::vector<size_t> commas;
};

Braces braces_at(std::string_view pattern, size_t open) {
  Braces found;
  size_t depth = 0;
  for (size_t i = open; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (c == '{') {
      ++depth;
    } else if (c == ',' && depth == 1) {
      found.commas.push_back(i);
    } else if (c == '}' && --depth == 0) {
      found.close = i;
      return found;
    }
  }
  return found;
}

// Adds the pattern with each of its alternatives written out; false when they are too many.
bool expand(const std::string& pattern, std::vector<std::string>& out) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    if (pattern[i] != '{') continue;
    const Braces braces = braces_at(pattern, i);
    if (braces.close == npos || braces.commas.empty()) continue;  // braces of the name itself
    size_t from = i + 1;
    for (size_t part = 0; part <= braces.commas.size(); ++part) {
      const size_t to = part < braces.commas.size() ? braces.commas[part] : braces.close;
      std::string form = pattern.substr(0, i);
      form += pattern.substr(from, to - from);
      form += pattern.substr(braces.close + 1);
      if (!expand(form, out)) return false;
      from = to + 1;
    }
    return true;
  }
  if (out.size() == kAlternatives) return false;
  out.push_back(pattern);
  return true;
}

// Length of the bracket expression at the start of `pattern`; 0 where it does not close.
size_t bracket_length(std::string_view pattern) {
  size_t at = 1;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']')
    at += pattern[at] == '\\' ? size_t{2} : size_t{1};
  return at < pattern.size() ? at + 1 : 0;
}

// `inside` is what stands between the brackets.
bool in_bracket(std::string_view inside, char32_t c) {
  const bool inverted = inside.starts_with('!') || inside.starts_with('^');
  if (inverted) inside.remove_prefix(1);
  const auto take = [&inside] {
    if (inside.front() == '\\' && inside.size() > 1) inside.remove_prefix(1);
    const utf8::Decoded decoded = utf8::decode(inside);
    inside.remove_prefix(decoded.length);
    return decoded.code_point;
  };
  bool found = false;
  while (!inside.empty()) {
    const char32_t low = take();
    char32_t high = low;
    if (inside.size() > 1 && inside.front() == '-') {
      inside.remove_prefix(1);
      high = take();
    }
    found = found || (c >= low && c <= high);
  }
  return found != inverted;
}

// Takes one element of `pattern` (not a star) and what it matches off both.
bool take_one(std::string_view& pattern, std::string_view& name) {
  if (name.empty()) return false;
  const utf8::Decoded c = utf8::decode(name);
  if (pattern.front() == '?') {
    pattern.remove_prefix(1);
    name.remove_prefix(c.length);
    return true;
  }
  if (pattern.front() == '[') {
    const size_t length = bracket_length(pattern);
    if (!in_bracket(pattern.substr(1, length - 2), c.code_point)) return false;
    pattern.remove_prefix(length);
    name.remove_prefix(c.length);
    return true;
  }
  if (pattern.front() == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  if (pattern.front() != name.front()) return false;
  pattern.remove_prefix(1);
  name.remove_prefix(1);
  return true;
}

// One name against one element. Only the last star ever has to take more.
bool name_matches(std::string_view pattern, std::string_view name) {
  std::optional<std::pair<std::string_view, std::string_view>> star;
  while (!name.empty() || !pattern.empty()) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      star = {pattern, name};
      continue;
    }
    if (!pattern.empty() && take_one(pattern, name)) continue;
    if (!star || star->second.empty()) return false;
    star->second.remove_prefix(1);
    pattern = star->first;
    name = star->second;
  }
  return true;
}

bool element_matches(std::string_view element, std::string_view name) {
  if (name.starts_with('.') && !element.starts_with('.') && !element.starts_with("\\.")) {
    return false;
  }
  return name_matches(element, name);
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) names.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

// As name_matches, with names for characters.
bool path_matches(const std::vector<std::string>& elements,
                  const std::vector<std::string_view>& names) {
  size_t element = 0;
  size_t name = 0;
  std::optional<std::pair<size_t, size_t>> any;
  while (name < names.size() || element < elements.size()) {
    if (element < elements.size() && elements[element] == kAnyFolders) {
      // At the end of a pattern it means what lies below, not the folder itself.
      if (element + 1 == elements.size() && name == names.size()) return false;
      any = {++element, name};
      continue;
    }
    if (element < elements.size() && name < names.size() &&
        element_matches(elements[element], names[name])) {
      ++element;
      ++name;
      continue;
    }
    if (!any || any->second == names.size() || names[any->second].starts_with('.')) return false;
    element = any->first;
    name = ++any->second;
  }
  return true;
}

}  // namespace

Result<Glob> Glob::compile(std::string_view pattern) {
  if (pattern.empty()) return refuse(pattern, "empty; * stands for every name");
  if (pattern.size() > limits::kPathBytes) {
    return refuse(
        pattern, fmt::format("{} bytes, at most {} are taken", pattern.size(), limits::kPathBytes));
  }
  std::vector<std::string> expanded;
  if (!expand(std::string(pattern), expanded)) {
    return refuse(pattern, fmt::format("more than {} alternatives in braces", kAlternatives));
  }
  Glob glob;
  for (const std::string& text : expanded) {
    Form form;
    form.folders_only = text.ends_with('/');
    const std::vector<std::string_view> elements = split(text);
    if (elements.empty()) continue;
    if (text.find('/') >= text.size() - (form.folders_only ? 1 : 0)) {
      form.elements.emplace_back(kAnyFolders);
    }
    for (const std::string_view element : elements) {
      for (size_t i = 0; i < element.size(); ++i) {
        if (element[i] == '\\') {
          ++i;
        } else if (element[i] == '[') {
          const size_t length = bracket_length(element.substr(i));
          if (length == 0) return refuse(pattern, "[ is not closed; \\[ means the bracket itself");
          i += length - 1;
        }
      }
      form.elements.emplace_back(element);
    }
    glob.forms_.push_back(std::move(form));
  }
  if (glob.forms_.empty()) return refuse(pattern, "names nothing; * stands for every name");
  return glob;
}

bool Glob::matches(std::string_view path, bool folder) const {
  const std::vector<std::string_view> names = split(path);
  return std::ranges::any_of(forms_, [&](const Form& form) {
    return (folder || !form.folders_only) && path_matches(form.elements, names);
  });
}

}  // namespace ebla::daemon
