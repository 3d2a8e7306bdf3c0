// How telling a word is, from its shape alone.
#include <algorithm>
#include <array>

#include "context/text/ascii.h"
#include "context/text/term_words.h"

namespace ebla::context {
namespace {

constexpr size_t kPathBytes = 400;
constexpr std::string_view kExtensions[] = {
    "c",     "cc",     "cpp",     "h",    "hpp", "py",    "ipynb", "js",     "ts",    "tsx", "jsx",
    "go",    "rs",     "java",    "kt",   "rb",  "php",   "sh",    "sql",    "md",    "txt", "json",
    "jsonl", "yaml",   "yml",     "toml", "ini", "cfg",   "conf",  "csv",    "tsv",   "xml", "html",
    "css",   "pdf",    "doc",     "docx", "xls", "xlsx",  "ppt",   "pptx",   "png",   "jpg", "jpeg",
    "gif",   "svg",    "zip",     "tar",  "gz",  "log",   "lock",  "env",    "exe",   "dll", "so",
    "db",    "sqlite", "parquet", "in",   "am",  "cmake", "proto", "lua",    "swift", "cs",  "vue",
    "com",   "org",    "net",     "io",   "dev", "cn",    "de",    "eu",     "mp3",   "mp4", "bat",
    "ps1",   "patch",  "diff",    "tmp",  "bak", "pem",   "key",   "service"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

struct Shape {
  size_t digits = 0;
  size_t letters = 0;  // of any script
  size_t capitals = 0;
  size_t hex = 0;
  size_t humps = 0;  // changes from lower to upper case
  size_t joints = 0;
  size_t slashes = 0;
  size_t dots = 0;
  size_t colons = 0;
};

Shape shape_of(std::string_view word) {
  Shape shape;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    shape.digits += is_digit(c);
    shape.letters += is_lower(c) || is_upper(c) || static_cast<uint8_t>(c) >= 0xC0;
    shape.capitals += is_upper(c);
    shape.hex += is_digit(c) || (lowered(c) >= 'a' && lowered(c) <= 'f');
    shape.humps += i > 0 && is_lower(word[i - 1]) && is_upper(c);
    shape.joints += c == '_' || c == '-';
    shape.slashes += c == '/' || c == '\\';
    shape.dots += c == '.';
    shape.colons += c == ':';
  }
  return shape;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view extension_of(std::string_view word) {
  const size_t dot = word.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : word.substr(dot + 1);
}

bool known_extension(std::string_view word) {
  const std::string extension = lowered(extension_of(word));
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

// "main.cc", "v1.2.3"; not "etc." or "e.g".
bool any_extension(std::string_view word, const Shape& shape) {
  const size_t size = extension_of(word).size();
  return shape.letters > 0 && size >= 1 && size <= 5 && word.rfind('.') > 1;
}

// Numbers with dots between: "10.0.0.12:8080", "1.24.0".
uint32_t dotted(std::string_view word, const Shape& s) {
  if (s.letters > 0 || s.dots < 2 || s.digits + s.dots + s.colons != word.size()) return 0;
  if (word.find("..") != std::string_view::npos) return 0;
  return s.dots == 3 ? 3 : s.dots == 2 && s.colons == 0 ? 2 : 0;
}

uint32_t number(std::string_view word, const Shape& s) {
  const size_t commas = static_cast<size_t>(std::count(word.begin(), word.end(), ','));
  const bool date = word.size() == 10 && s.digits == 8 && word[4] == '-' && word[7] == '-';
  if (date) return 1;
  return s.digits >= 5 && s.dots <= 1 && s.digits + s.dots + commas == word.size() ? 1 : 0;
}

// "2024-05-01T12:00:00Z": a log has one a line.
bool is_time(std::string_view word, const Shape& s) {
  return word.size() >= 13 && s.digits >= 8 && s.letters <= 2 && all_digits(word.substr(0, 4)) &&
         word[4] == '-' && word[7] == '-' && word[10] == 'T';
}

// "FMT-2291", "#4711", "CVE-2024-3094", "ORA-00942".
bool is_ticket(std::string_view word) {
  if (word.starts_with('#')) return word.size() >= 3 && all_digits(word.substr(1));
  const auto letters = std::find_if_not(word.begin(), word.end(), is_upper);
  const auto count = static_cast<size_t>(letters - word.begin());
  return count >= 2 && count <= 10 && word.size() > count + 1 && *letters == '-' &&
         std::all_of(letters, word.end(), [](char c) { return c == '-' || is_digit(c); }) &&
         is_digit(word.back());
}

// "ENOENT", "SIGSEGV".
bool is_code(std::string_view word, const Shape& s) {
  if (s.capitals != word.size()) return false;
  return (word.starts_with("SIG") && word.size() >= 6) ||
         (word.starts_with('E') && word.size() >= 5 && word.size() <= 15 && word != "ERROR" &&
          word != "ERRORS" && word != "EVERY" && word != "EXACTLY" && word != "EXAMPLE");
}

}  // namespace

uint32_t telling(std::string_view word) {
  const Shape s = shape_of(word);
  if (is_ticket(word)) return 4;
  if (is_time(word, s)) return 0;
  if (const uint32_t found = dotted(word, s)) return found;
  if (s.hex + s.joints == word.size() && s.hex == 32 && s.joints == 4) return 4;  // a UUID
  if (s.letters == 0) return s.slashes > 0 ? 0 : number(word, s);
  if (s.slashes > 0) return s.slashes > 1 || any_extension(word, s) ? 4 : 0;
  if (s.hex + s.joints == word.size() && s.digits >= 2 && s.hex >= 7) return 4;
  if (s.hex + s.colons == word.size() && s.colons >= 2 && s.digits > 0) return 2;
  if (s.letters > 1 && known_extension(word)) return 3;
  if (is_code(word, s)) return 3;
  // "3.41s", "180MB": a measure.
  const bool measure = is_digit(word.front()) && s.letters <= 2 && s.joints == 0;
  if (measure && s.digits + s.dots + s.letters == word.size()) return 1;
  if (s.digits > 0 && word.size() >= 4 && word.find('@') == word.npos) return 3;
  if (word.find('@') != word.npos && s.dots > 0) return 4;
  if (word.find('_') != word.npos && s.letters >= 4) return 2;
  if (s.humps > 0 && s.letters >= 6) return 2;
  return any_extension(word, s) && word.size() >= 6 ? 1 : 0;
}

bool is_path(std::string_view value) {
  if (value.size() < 3 || value.size() > kPathBytes) return false;
  if (value.find_first_of("\n\t\"*<>|") != value.npos) return false;
  if (value.find("://") != value.npos) return false;
  const bool drive = value[1] == ':' && (value[2] == '\\' || value[2] == '/');
  if (drive || value.starts_with("\\\\")) return true;
  const bool rooted = value.starts_with('/') || value.starts_with("~/") ||
                      value.starts_with("./") || value.starts_with("../");
  const std::string_view name = value.substr(value.find_last_of("/\\") + 1);
  const bool named = name.rfind('.') != 0 && known_extension(name);
  // A sentence may end in a name; a path has no colon or comma, and no space before its folders.
  const size_t space = value.find(' ');
  if (space != value.npos) {
    const bool folder = rooted || value.find('/') < space;
    return named && folder && value.find_first_of(",;:=") == value.npos;
  }
  return named || (rooted && value.find('/', 1) != value.npos);
}

}  // namespace ebla::context
