#include "context/summary/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "context/text/quote.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr size_t kLinesOfFiles = 30;
constexpr size_t kNamesOfALine = 24;
constexpr std::array<std::string_view, 5> kWords = {"read", "written", "edited", "deleted",
                                                    "moved"};

// Or tried in vain.
bool changed(const FileFact& file) {
  const bool read = file.counts[static_cast<size_t>(FileAction::read)] > 0;
  if (!read && file.failures > 0) return true;
  return std::any_of(file.counts + 1, file.counts + std::size(file.counts),
                     [](uint32_t count) { return count > 0; });
}

std::string actions_of(const FileFact& file) {
  std::string out;
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (file.counts[i] == 0) continue;
    out.append(out.empty() ? "" : ", ").append(kWords[i]);
    if (file.counts[i] > 1) out += fmt::format(texts::kTimes, file.counts[i]);
  }
  if (file.failures > 0) {
    if (out.empty()) out = texts::kNotChanged;
    out.append(", ").append(fmt::format(texts::kFileFailed, file.failures));
  }
  return out;
}

uint32_t number_in(std::string_view text, uint32_t otherwise) {
  uint32_t value = 0;
  const size_t at = std::min(text.find_first_of("0123456789"), text.size());
  const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return read.ec == std::errc() ? value : otherwise;
}

// "read, edited (2 times), 1 failed".
bool read_actions(std::string_view text, FileFact& file) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(", "));
    text.remove_prefix(std::min(piece.size() + 2, text.size()));
    const auto* word = std::find(kWords.begin(), kWords.end(), piece.substr(0, piece.find(' ')));
    if (word != kWords.end()) {
      file.counts[word - kWords.begin()] = number_in(piece, 1);
    } else if (piece.ends_with(" failed")) {
      file.failures = number_in(piece, 1);
    } else if (piece != texts::kNotChanged) {
      return false;
    }
  }
  return true;
}

// The names behind `start`, in a line that lists them.
bool read_names(std::string_view line, std::string_view start, FileAction action,
                std::vector<FileFact>& out) {
  if (!line.starts_with(start)) return false;
  line.remove_prefix(start.size());
  while (!line.empty()) {
    const std::optional<std::string> path = take_quoted(line);
    // A mark where names were left out; and what is left of a cut one is no name.
    if (!path) line.remove_prefix(std::min(line.find(", "), line.size()));
    line.remove_prefix(std::min<size_t>(2, line.size()));
    if (!path || path->ends_with(texts::kCut)) continue;
    FileFact& file = out.emplace_back();
    file.path = *path;
    file.counts[static_cast<size_t>(action)] = 1;
  }
  return true;
}

bool read_line(std::string_view line, std::vector<FileFact>& out) {
  if (read_names(line, texts::kOnlyRead, FileAction::read, out)) return true;
  if (read_names(line, texts::kAlsoChanged, FileAction::edited, out)) return true;
  if (!line.starts_with("- ")) return false;
  line.remove_prefix(2);
  FileFact file;
  std::optional<std::string> path = take_quoted(line);
  if (!path || !line.starts_with(": ") || !read_actions(line.substr(2), file)) return false;
  file.path = *std::move(path);
  out.push_back(std::move(file));
  return true;
}

void add_names(std::vector<std::string>& out, std::string_view start,
               const std::vector<const FileFact*>& files) {
  if (files.empty()) return;
  std::string line(start);
  const size_t half = kNamesOfALine / 2;
  for (size_t i = 0; i < files.size(); ++i) {
    const bool shown = files.size() <= kNamesOfALine || i < half || i + half >= files.size();
    if (shown) line.append(i == 0 ? "" : ", ").append(quoted(files[i]->path));
    if (!shown && i == half) line.append(", ").append(texts::kCut);
  }
  out.push_back(std::move(line));
}

}  // namespace

std::vector<FileFact> take_files(std::vector<std::string>& lines) {
  std::vector<FileFact> out;
  std::erase_if(lines, [&out](const std::string& line) { return read_line(line, out); });
  return out;
}

std::vector<FileFact> merged_files(std::vector<FileFact> newer,
                                   const std::vector<FileFact>& older) {
  for (const FileFact& file : older) {
    const auto same = std::find_if(newer.begin(), newer.end(), [&file](const FileFact& known) {
      return known.path == file.path;
    });
    if (same == newer.end()) {
      newer.push_back(file);
      newer.back().last = 0;
      continue;
    }
    for (size_t i = 0; i < std::size(file.counts); ++i) same->counts[i] += file.counts[i];
    same->failures += file.failures;
  }
  return newer;
}

std::vector<std::string> file_lines(const std::vector<FileFact>& files) {
  std::vector<std::string> out;
  std::vector<const FileFact*> older;
  std::vector<const FileFact*> read;
  for (const FileFact& file : files) {
    if (!changed(file)) {
      read.push_back(&file);
    } else if (out.size() < kLinesOfFiles) {
      out.push_back(fmt::format(texts::kFile, quoted(file.path), actions_of(file)));
    } else {
      older.push_back(&file);
    }
  }
  add_names(out, texts::kAlsoChanged, older);
  add_names(out, texts::kOnlyRead, read);
  return out;
}

}  // namespace ebla::context
