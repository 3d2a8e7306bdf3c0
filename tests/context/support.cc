#include "tests/context/support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ebla::context::test {

std::string rows(size_t total, size_t width) {
  std::string out;
  for (size_t n = 1; out.size() < total; ++n) {
    std::string row = "row " + std::to_string(n) + " ";
    row.resize(std::max(width, row.size()), 'x');
    out += row + "\n";
  }
  out.resize(total);
  return out;
}

std::string prose(size_t total, size_t width) {
  constexpr std::string_view kText =
      "The harbour master counted the boats twice, wrote both sums into the same book and went "
      "home before the fog came in from the west, as it did on most evenings of that month. ";
  std::string out;
  for (size_t at = 0, column = 0; out.size() < total; ++at, ++column) {
    if (column == width) {
      out += '\n';
      column = 0;
    }
    out += kText[at % kText.size()];
  }
  out.resize(total);
  return out;
}

std::string repeat(std::string_view piece, size_t times) {
  std::string out;
  out.reserve(piece.size() * times);
  for (size_t i = 0; i < times; ++i) out += piece;
  return out;
}

std::string messy(std::mt19937& random, size_t size) {
  static const std::vector<std::string> kPieces = {"\n",
                                                   "\n",
                                                   "\n",
                                                   "\r\n",
                                                   "\r",
                                                   "\b",
                                                   "\t",
                                                   "\x1b[31m",
                                                   "\x1b[K",
                                                   "\x1b[2K",
                                                   "\x1b[5D",
                                                   "\x1b[9G",
                                                   "\x1b]0;title\x07",
                                                   "\x1b]8;;x\x1b\\",
                                                   "\x1b",
                                                   "\x1b[",
                                                   "\x1b(B",
                                                   "error: it ",
                                                   "FAILED",
                                                   "fatal",
                                                   "Traceback (most recent call last):",
                                                   "panic",
                                                   "0 errors",
                                                   " ",
                                                   "  7| ",
                                                   "\xe4\xb8\xad",
                                                   "\xf0\x9f\x98\x80",
                                                   "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
                                                   "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa",
                                                   "e\xcc\x81",
                                                   "\xc3\xa9",
                                                   "\xed\xa0\x80",
                                                   "\xc2\x9b",
                                                   "\xc2\x85",
                                                   "\xe2\x80\xa8",
                                                   "\xf0\x9f",
                                                   "\xe4",
                                                   "\xff",
                                                   "\xc0\xaf",
                                                   "word ",
                                                   "words of a line",
                                                   "[Ebla] Result of",
                                                   "... [9 lines truncated] ..."};
  std::string out;
  while (out.size() < size) {
    if (random() % 4 == 0) {
      out.append(random() % 90, static_cast<char>('a' + random() % 26));
    } else if (random() % 16 == 0) {
      out += static_cast<char>(random());
    } else {
      out += kPieces[random() % kPieces.size()];
    }
  }
  return out;
}

ContentScan scan_of(std::string_view content, ScanOptions options) {
  ContentScan scan(options);
  scan.feed(content);
  scan.finish();
  return scan;
}

ContentScan scan_sliced(std::string_view content, ScanOptions options, std::mt19937& random) {
  ContentScan scan(options);
  const size_t largest = size_t{1} << (random() % 13);
  while (!content.empty()) {
    const size_t size = std::min<size_t>(content.size(), random() % (largest + 1));
    scan.feed(content.substr(0, size));
    content.remove_prefix(size);
  }
  scan.finish();
  return scan;
}

EvictContext default_context() {
  EvictContext context;
  context.session = 1;
  context.session_id = "default";
  context.doors.shell = true;
  context.location = {"/mnt/ebla", "/"};
  return context;
}

EvictDecision decide(std::string_view content, const EvictRequest& request,
                     const EvictContext& context) {
  const ContentScan scan = scan_of(content, scan_options(request.kind, context.settings));
  return plan_eviction(scan, request, context);
}

std::string replacement_of(const EvictDecision& decision) {
  std::string out;
  const auto& parts = decision.plan.replacement_parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += decision.plan.stem + decision.plan.extension;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

namespace {

bool has_gutter(const std::string& line) {
  const size_t digits = line.find_first_not_of(' ');
  if (digits == std::string::npos) return false;
  const size_t end = line.find_first_not_of("0123456789", digits);
  return end != std::string::npos && end > digits && line.compare(end, 2, "| ") == 0;
}

}  // namespace

std::vector<std::string> gutter_lines(std::string_view text) {
  std::vector<std::string> lines = lines_of(text);
  std::erase_if(lines, [](const std::string& line) { return !has_gutter(line); });
  return lines;
}

std::string frame_of(std::string_view text) {
  std::string out;
  for (const std::string& line : lines_of(text)) {
    if (!has_gutter(line)) out += line + "\n";
  }
  return out;
}

void compare_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(EBLA_GOLDEN_DIR) / name;
  if (std::getenv("EBLA_GOLDEN_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "no golden file " << name << ": see the head of golden_test.cc";
  const std::string want((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, want) << name;
}

}  // namespace ebla::context::test
