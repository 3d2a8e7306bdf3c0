#include "schema/path.h"

#include <fmt/format.h>

#include <filesystem>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla {
namespace {

constexpr size_t kShownBytes = 200;

// The caller's path as an error may show it: one line, strict UTF-8, bounded.
std::string shown(std::string_view path) {
  std::string text = printable(path.substr(0, kShownBytes + 1));
  if (text.size() <= kShownBytes) return text;
  text.resize(utf8::floor_boundary(text, kShownBytes));
  return text + "…";
}

// Nearly every path is: the library's way takes it apart and joins it again.
bool is_lexical(std::string_view path) {
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    std::string_view element = path.substr(at + 1);
    element = element.substr(0, element.find('/'));
    if (element == "." || element == ".." || (element.empty() && path.size() > 1)) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> split_path(std::string_view path) {
  if (path.empty())
    return fail(Code::invalid_path, "the path is empty: give one that starts with /");
  if (path.size() > limits::kPathBytes) {
    return fail(Code::invalid_path, fmt::format("a path has at most {} bytes, this one {}",
                                                limits::kPathBytes, path.size()));
  }
  if (path.find('\0') != std::string_view::npos) {
    return fail(Code::invalid_path, fmt::format("{}: a path holds no NUL byte", shown(path)));
  }
  if (path.front() != '/') {
    return fail(Code::invalid_path,
                fmt::format("{}: relative; give the path from the tree's root, starting with /",
                            shown(path)));
  }
  std::vector<std::string> elements;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view element = path.substr(0, path.find('/'));
    path.remove_prefix(element.size());
    if (element.empty() || element == ".") continue;
    if (element == "..") {
      return fail(Code::invalid_path, "\"..\" is not followed here: give the path without it");
    }
    if (element.size() > limits::kNameBytes) {
      return fail(Code::name_too_long,
                  fmt::format("{}: a name has at most {} bytes, this one {}", shown(element),
                              limits::kNameBytes, element.size()));
    }
    elements.emplace_back(element);
  }
  return elements;
}

std::string lexical_path(std::string_view absolute) {
  if (is_lexical(absolute)) return std::string(absolute);
  std::string path = std::filesystem::path(absolute).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string join_path(const std::vector<std::string>& elements) {
  if (elements.empty()) return "/";
  std::string path;
  for (const std::string& element : elements) {
    path += '/';
    path += element;
  }
  return path;
}

Result<Attr> resolve(Store& store, std::string_view path) {
  auto elements = split_path(path);
  if (!elements) return std::unexpected(std::move(elements.error()));
  auto attr = store.getattr(store.root());
  for (size_t i = 0; attr && i < elements->size(); ++i) {
    attr = store.lookup(attr->ino, (*elements)[i]);
    if (attr) continue;
    std::vector<std::string> walked(elements->begin(),
                                    elements->begin() + static_cast<ptrdiff_t>(i));
    if (attr.error().code == Code::not_directory) {
      return fail(Code::not_directory, shown(join_path(walked)) + " is not a folder");
    }
    if (attr.error().code == Code::file_not_found) {
      walked.push_back((*elements)[i]);
      return fail(Code::file_not_found, shown(join_path(walked)) + " does not exist");
    }
  }
  return attr;
}

}  // namespace ebla
