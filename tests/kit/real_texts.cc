#include "tests/kit/real_texts.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <random>

namespace ebla::kit {
namespace {

std::string read_or_empty(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Repeats what `line(n)` gives until it is long enough, then cuts.
template <class F>
std::string filled(size_t bytes, F line) {
  std::string text;
  text.reserve(bytes + 256);
  for (size_t n = 1; text.size() < bytes; ++n) text += line(n);
  text.resize(bytes);
  return text;
}

std::string repeated_code_points(size_t characters, char32_t first, size_t distinct) {
  std::string text;
  for (size_t i = 0; i < characters; ++i) {
    const auto point = first + static_cast<char32_t>(i % distinct);
    if (point >= 0x10000) {
      text += static_cast<char>(0xF0 | (point >> 18));
      text += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
    } else {
      text += static_cast<char>(0xE0 | (point >> 12));
    }
    text += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
  return text;
}

}  // namespace

std::string prose(size_t characters) {
  static constexpr std::array<std::string_view, 6> kSentences = {
      "The build began at dawn and nobody had touched the cache since Friday. ",
      "Every object file was older than its source, so all of them were compiled again. ",
      "A single test failed; it had failed before, on another branch, for another reason.\n",
      "What the log says last is rarely what went wrong first. ",
      "We kept the whole output, since the line that matters is known only later. ",
      "Then the linker ran out of memory and the machine went quiet.\n\n"};
  return filled(characters,
                [](size_t n) { return std::string(kSentences[n * 7 % kSentences.size()]); });
}

std::string numbered_rows(size_t characters) {
  return filled(characters, [](size_t n) { return fmt::format("row {}\n", n); });
}

std::string one_line(size_t characters) {
  return filled(characters, [](size_t n) { return fmt::format("{:x}-", n * 2654435761U); });
}

std::string even_lines(size_t characters, size_t lines) {
  std::string text;
  text.reserve(characters);
  for (size_t n = 1; n <= lines; ++n) {
    const size_t end = characters / lines * n + characters % lines * n / lines;
    std::string line = fmt::format("line {} ", n);
    line.resize(end - text.size() - 1, '.');
    text += line;
    text += '\n';
  }
  return text;
}

std::string chinese(size_t characters) {
  return repeated_code_points(characters, 0x4E00, 5000);
}

std::string emoji(size_t characters) {
  return repeated_code_points(characters, 0x1F600, 64);
}

std::string ansi_log(size_t lines) {
  std::string text;
  for (size_t n = 1; n <= lines; ++n) {
    if (n % 10 == 0) {
      for (int percent = 0; percent <= 100; percent += 20) {
        text += fmt::format("\rDownloading crate {} {}%", n, percent);
      }
      text += '\n';
    } else if (n % 17 == 0) {
      text += fmt::format("\x1b[1m\x1b[31merror\x1b[0m\x1b[1m: test case_{} failed\x1b[0m\n", n);
    } else {
      text += fmt::format("\x1b[32m  ok\x1b[0m case_{} \x1b[2m({} ms)\x1b[0m\n", n, n % 40);
    }
  }
  return text;
}

std::string crlf_rows(size_t lines) {
  std::string text;
  for (size_t n = 1; n <= lines; ++n) text += fmt::format("row {}\r\n", n);
  return text;
}

std::string with_nul(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i % 3 == 0 ? 0 : i * 31 / 3);
  return text;
}

std::string invalid_utf8(size_t bytes) {
  static constexpr std::array<std::string_view, 8> kBad = {
      "\xC0\xAF", "\xED\xA0\x80", "\xFF",         "\xF4\x90\x80\x80",
      "\x80",     "\xE2\x82",     "\xF0\x9F\x98", "\xC3("};
  return filled(bytes, [](size_t n) {
    return fmt::format("text {} {} more\n", n, std::string(kBad[n % kBad.size()]));
  });
}

std::string minified_json(size_t bytes) {
  constexpr std::string_view kHead = R"({"items":[)";
  constexpr std::string_view kTail = R"(],"end":"")";
  std::string text(kHead);
  for (size_t n = 0;; ++n) {
    const std::string item = fmt::format(R"({}{{"id":{},"name":"n\u00e9{}","ok":{}}})",
                                         n == 0 ? "" : ",", n, n * 7, n % 2 == 0);
    if (text.size() + item.size() + kTail.size() + 1 > bytes) break;
    text += item;
  }
  text += kTail.substr(0, kTail.size() - 1);
  if (text.size() + 2 < bytes) text.append(bytes - text.size() - 2, 'x');
  return text + "\"}";
}

std::string random_bytes(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::vector<NamedText> real_outputs() {
  std::vector<NamedText> out;
  for (const char* path :
       {"/var/lib/dpkg/info/coreutils.list", "/var/lib/dpkg/info/libc6:amd64.list",
        "/var/lib/dpkg/status", "/usr/include/stdio.h", "/var/log/dpkg.log"}) {
    std::string text = read_or_empty(path);
    if (!text.empty()) out.push_back({path, std::move(text)});
  }
  return out;
}

std::vector<NamedText> all_shapes() {
  std::vector<NamedText> out = {
      {"empty", ""},
      {"prose", prose(81'000)},
      {"rows", numbered_rows(240'000)},
      {"one line", one_line(100'000)},
      {"even lines", even_lines(240'000, 3886)},
      {"chinese", chinese(26'667)},
      {"emoji", emoji(10'001)},
      {"ansi log", ansi_log(2'000)},
      {"crlf", crlf_rows(9'000)},
      {"byte order mark", "\xEF\xBB\xBF" + numbered_rows(5'000)},
      {"nul", with_nul(90'000)},
      {"invalid utf-8", invalid_utf8(90'000)},
      {"minified json", minified_json(200'000)},
      {"random", random_bytes(300'001, 7)},
  };
  for (NamedText& real : real_outputs()) out.push_back(std::move(real));
  return out;
}

}  // namespace ebla::kit
