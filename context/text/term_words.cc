#include "context/text/term_words.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "context/text/ascii.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr size_t kShortest = 4;        // but for "#12"
constexpr size_t kWordBytes = 120;     // a longer word is data
constexpr size_t kAddressBytes = 400;  // of a URL or a path
constexpr size_t kNameBytes = 120;  // of a file in Chinese: what runs on for longer is a sentence

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (lowered(c) >= 'a' && lowered(c) <= 'z');
}

bool in_word(char c) {
  return is_alphanumeric(c) || std::string_view("_-./:#@%+~?=&").find(c) != std::string_view::npos;
}

// Letters and digits of other scripts; not their spaces, punctuation, arrows, boxes and emoji.
bool is_letter(char32_t c) {
  if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
  return !(c >= 0x2000 && c <= 0x2BFF) && !(c >= 0x3000 && c <= 0x303F && c != 0x3005) &&
         !(c >= 0xE000 && c <= 0xF8FF) && !(c >= 0xFE10 && c <= 0xFE6F) &&
         !(c >= 0xFF01 && c <= 0xFF0F) && !(c >= 0xFF1A && c <= 0xFF20) &&
         !(c >= 0xFF3B && c <= 0xFF40) && !(c >= 0xFF5B && c <= 0xFF65) && c != 0xFFFD &&
         c != 0xFEFF && c < 0x1F000 && c != 0xD7 && c != 0xF7;
}

// Scripts that put no space between words: a byte of a letter from U+2E80 on.
bool is_wide(char lead) {
  return static_cast<uint8_t>(lead) >= 0xE2;
}

bool is_drive(std::string_view word) {
  return word.size() >= 2 && word[1] == ':' && !is_alphanumeric(word[1]) &&
         is_alphanumeric(word[0]) && (word.size() == 2 || word[2] == '\\' || word[2] == '/');
}

// Of "name=value".
std::string_view value_of(std::string_view word) {
  return word.substr(word.rfind('=') + 1);
}

std::string_view trimmed(std::string_view word) {
  constexpr std::string_view kEdges = "-.:#@%+?=&~";
  while (!word.empty() && kEdges.find(word.back()) != word.npos && !word.ends_with("++")) {
    word.remove_suffix(1);
  }
  while (!word.empty() && kEdges.find(word.front()) != word.npos && !word.starts_with("./") &&
         !word.starts_with("../") && !word.starts_with("~/")) {
    const bool number = word.front() == '#' && word.size() > 1 && word[1] >= '0' && word[1] <= '9';
    if (number) break;
    word.remove_prefix(1);
  }
  return word;
}

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return lowered(c) >= 'a' && lowered(c) <= 'z'; });
}

// "a.cc:12:5" is a.cc.
std::string_view without_line(std::string_view word) {
  for (int i = 0; i < 2; ++i) {
    const size_t colon = word.rfind(':');
    const bool digits = colon != word.npos && colon + 1 < word.size() &&
                        word.find_first_not_of("0123456789", colon + 1) == word.npos;
    const bool name = digits && word.substr(0, colon).find_first_of("./") != word.npos &&
                      has_letters(word.substr(0, colon));
    if (!name) return word;
    word = word.substr(0, colon);
  }
  return word;
}

class Finder {
 public:
  Finder(std::string_view text, const UseTerm& use) : text_(text), use_(use) {}

  void find() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if ((c == '"' || c == '\'' || c == '`') && quoted_path(c)) continue;
      const size_t begin = at_;
      std::string word;
      while (at_ < text_.size() && take(word)) {
      }
      if (at_ == begin) ++at_;
      if (!word.empty()) use(word, begin);
    }
  }

 private:
  // A path with spaces is one only between quotes.
  bool quoted_path(char quote) {
    const std::string_view rest = text_.substr(at_ + 1, kAddressBytes);
    const size_t end = std::min(rest.find(quote), rest.find('\n'));
    if (end == rest.npos || rest[end] != quote) return false;
    std::string path(rest.substr(0, end));
    if (path.ends_with('\\')) path.pop_back();
    for (size_t at = 0; (at = path.find("\\\\", at)) != path.npos; ++at) path.erase(at, 1);
    if (path.find(' ') == path.npos || path.find_first_of("/\\") == path.npos) return false;
    if (!is_path(path)) return false;
    use_(path, 4);
    at_ += 1 + end + 1;
    return true;
  }

  // Adds what stands at the place to the word, unless the word ends there. An escape that is no
  // letter is passed over.
  bool take(std::string& word) {
    const char c = text_[at_];
    if (c == '\\') return escape(word);
    if (c == ',' && groups_digits(word)) {
      word += c;
      ++at_;
      return true;
    }
    if (in_word(c)) {
      word += c;
      ++at_;
      return true;
    }
    if (static_cast<uint8_t>(c) < 0x80) return false;
    const utf8::Decoded d = utf8::decode(text_.substr(at_));
    if (!d.valid || !is_letter(d.code_point)) {
      if (word.empty()) at_ += d.length;
      return false;
    }
    word += text_.substr(at_, d.length);
    at_ += d.length;
    return true;
  }

  // "1,234,567".
  bool groups_digits(std::string_view word) const {
    word = value_of(word);
    if (word.empty() || word.find_first_not_of("0123456789,") != word.npos) return false;
    const std::string_view next = text_.substr(at_ + 1, 3);
    const bool three = next.size() == 3 && next.find_first_not_of("0123456789") == next.npos;
    return three && (at_ + 4 >= text_.size() || !is_alphanumeric(text_[at_ + 4]));
  }

  bool escape(std::string& word) {
    size_t end = std::min(text_.find_first_not_of('\\', at_), text_.size());
    const size_t slashes = end - at_;
    if (is_drive(value_of(word))) {  // "C:\a", and as JSON has it, "C:\\a"
      const bool goes_on = end < text_.size() && slashes <= 2 && in_word(text_[end]);
      if (goes_on || (slashes <= 2 && end < text_.size() && is_wide(text_[end]))) {
        word += '\\';
        at_ = end;
        return true;
      }
    }
    if (end == text_.size()) {
      at_ = end;
      return false;
    }
    const char c = text_[end];
    if (c == ' ' && slashes == 1 && word.find('/') != word.npos) {  // a\ b
      word += "\\ ";
      at_ = end + 1;
      return true;
    }
    if (c == 'u') {
      const std::string_view digits = text_.substr(end + 1, 4);
      uint32_t value = 0;
      const auto [last, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (error == std::errc() && last == digits.data() + 4 && digits.size() == 4) {
        at_ = end + 5;
        if (!is_letter(value) && !(value < 0x80 && in_word(static_cast<char>(value)))) return false;
        utf8::append(word, value);
        return true;
      }
    }
    at_ = end + std::min(escape_bytes(text_.substr(end)), text_.size() - end);
    return false;
  }

  // Of what stands behind a backslash: "n", "x1b[31m", "033[0m"; 0 where it escapes nothing.
  static size_t escape_bytes(std::string_view text) {
    const char c = text.front();
    if (std::string_view("ntrbfav\"'`/").find(c) != std::string_view::npos) return 1;
    size_t bytes = 0;
    if (c == 'e') bytes = 1;
    if (c == 'x') bytes = 3;
    if (c == '0') bytes = std::min(text.find_first_not_of("01234567"), text.size());
    if (bytes == 0 || text.size() <= bytes || text[bytes] != '[') return bytes;
    return std::min(text.find_first_of("mKHJ", bytes) + 1, text.size());
  }

  // A name of JSON, `"name":`, says nothing.
  bool is_key(size_t begin) const {
    const bool quoted = begin > 0 && text_[begin - 1] == '"';
    const std::string_view rest = text_.substr(at_, 4);
    return quoted &&
           (rest.starts_with("\":") || rest.starts_with("\\\":") || rest.starts_with("\" :"));
  }

  void use(std::string_view word, size_t begin) {
    if (word.find("://") != word.npos) return address(word);
    if (is_key(begin)) return;
    for (size_t end = 0; !word.empty(); word.remove_prefix(std::min(end + 1, word.size()))) {
      end = std::min(word.find_first_of("=?&"), word.size());
      const std::string_view value = word.substr(0, end);
      if (is_drive(value) && value.size() > 3) {
        emit(value);
      } else {
        mixed(value);
      }
    }
  }

  void address(std::string_view word) {
    size_t begin = word.find("://");
    while (begin > 0 && is_alphanumeric(word[begin - 1])) --begin;
    word.remove_prefix(begin);
    // Where no space is written, the sentence goes on right behind it.
    for (size_t i = 1; i < word.size(); ++i) {
      const char before = word[i - 1];
      if (is_wide(word[i]) && is_alphanumeric(before)) word = word.substr(0, i);
    }
    if (word.size() > word.find("://") + 3) emit(word);
  }

  void emit(std::string_view word) {
    word = trimmed(word);
    if (word.size() <= kAddressBytes) {
      use_(word, 4);
    } else {
      use_(std::string(word.substr(0, utf8::floor_boundary(word, kAddressBytes))) + "\u2026", 4);
    }
  }

  // Words of ASCII in a sentence of wide letters, and files named in both.
  void mixed(std::string_view word) {
    std::vector<std::string_view> runs;
    for (size_t i = 0, begin = 0; i <= word.size(); ++i) {
      const bool starts = i < word.size() && (static_cast<uint8_t>(word[i]) & 0xC0) != 0x80;
      if (i < word.size() && (!starts || is_wide(word[i]) == is_wide(word[begin]))) continue;
      if (i > begin) runs.push_back(word.substr(begin, i - begin));
      begin = i;
    }
    for (size_t end = runs.size(); end > 0;) {
      const size_t first = file_begins(runs, end - 1);
      const std::string_view last = runs[end - 1];
      if (first + 1 == end) {
        if (!is_wide(last.front())) plain(last);
      } else {
        const char* begin = runs[first].data();
        const std::string_view name(begin, static_cast<size_t>(last.data() + last.size() - begin));
        if (name.size() <= kNameBytes) use_(without_line(name), 4);
      }
      end = first;
    }
  }

  // Of the file whose name ends with run `last`, ".csv" or "2024.csv" behind wide letters: its
  // first run; `last` none.
  static size_t file_begins(const std::vector<std::string_view>& runs, size_t last) {
    if (last == 0 || is_wide(runs[last].front())) return last;
    const std::string_view name = without_line(runs[last]);
    const size_t dot = name.rfind('.');
    if (dot == name.npos || has_letters(name.substr(0, dot))) return last;
    const std::string_view extension = name.substr(dot + 1);
    if (extension.size() > 5 || !has_letters(extension)) return last;
    size_t first = last - 1;
    while (first > 0) {
      const std::string_view before = runs[first - 1];
      const bool folder = before.find('/') != before.npos;
      const bool joined = before.ends_with('_') || before.ends_with('-') || !has_letters(before);
      if (!folder && !joined) return first;
      --first;
      if (folder && (before.front() != '/' || has_letters(before))) return first;
      if (first > 0) --first;
    }
    return first;
  }

  void plain(std::string_view word) {
    word = without_line(trimmed(word));
    if (word.size() < kShortest && !word.starts_with('#')) return;
    const uint32_t found = telling(word);
    const bool path = word.find('/') != word.npos;
    if (found > 0 && path && word.size() > kWordBytes) return emit(word);
    if (found > 0 && word.size() <= kWordBytes) use_(word, found);
  }

  std::string_view text_;
  const UseTerm& use_;
  size_t at_ = 0;
};

}  // namespace

void each_term(std::string_view text, const UseTerm& use) {
  Finder(text, use).find();
}

}  // namespace ebla::context
