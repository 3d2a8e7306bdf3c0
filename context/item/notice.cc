#include "context/item/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "context/texts.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Lines longer than this on average are read by bytes: a window of lines would be too much.
constexpr uint64_t kLongLineBytes = 2'000;
constexpr uint64_t kWindowBytes = 4'000;

// How much of the doors a notice spells out; later ones are for long paths.
enum class Detail { all, first_door, short_path, path_only };

struct Window {
  uint64_t first = 0;  // line from 1
  uint64_t last = 0;
};

// A window of lines in the middle that exists: the second page where there is one.
Window line_window(uint64_t lines, uint64_t page) {
  if (lines >= 2 * page) return {page + 1, 2 * page};
  const uint64_t first = std::min<uint64_t>(lines, limits::kPreviewLines + 1);
  return {first, std::max(first, std::min(lines, first + page - 1))};
}

bool plain_in_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./-+@%,:=").find(c) != std::string_view::npos;
}

std::string totals(const NoticeInput& in) {
  const SizeSums& s = in.sums;
  const std::string out =
      fmt::format(texts::kTotals, texts::grouped(s.characters),
                  texts::plural(s.characters, "character", "characters"), texts::grouped(s.lines),
                  texts::plural(s.lines, "line", "lines"), texts::grouped(in.tokens),
                  texts::plural(in.tokens, "token", "tokens"));
  return in.binary ? out + texts::kBinary : out;
}

std::string first_line(const NoticeInput& in, Detail detail) {
  if (in.kind == ArtifactKind::human) return fmt::format(texts::kMessage, totals(in));
  if (in.tool.empty() || detail == Detail::path_only)
    return fmt::format(texts::kResult, totals(in));
  return fmt::format(texts::kResultOf, texts::tool_name(in.tool), totals(in));
}

class DoorWriter {
 public:
  DoorWriter(const NoticeInput& in, Detail detail)
      : in_(in), detail_(detail), by_bytes_(in.sums.bytes > in.sums.lines * kLongLineBytes) {}

  NamedText write() {
    if (in_.doors.shell) shell();
    if (in_.doors.cli && !in_.doors.shell) cli();
    if (!in_.doors.read_tool.empty() && wanted()) read_tool();
    if (!in_.doors.grep_tool.empty() && wanted()) grep_tool();
    return out_;
  }

 private:
  // With less room only what the first door offers is kept.
  bool wanted() const { return detail_ == Detail::all || out_.parts() == NamedText().parts(); }

  void path() {
    if (detail_ == Detail::short_path) {
      out_.text(texts::kSame);
    } else {
      out_.text(shell_word(in_.folder + "/")).name();
    }
  }
  void end() { out_.text("\n"); }

  void shell() {
    if (by_bytes_) {
      out_.text(fmt::format(texts::kTailBytes, kWindowBytes + 1));
      path();
      out_.text(fmt::format(texts::kHeadBytes, kWindowBytes));
      end();
      out_.text(in_.binary ? texts::kGrepBytesBinary : texts::kGrepBytes);
    } else {
      const Window window = line_window(in_.sums.lines, in_.read_limit);
      out_.text(fmt::format(texts::kSed, window.first, window.last));
      path();
      end();
      out_.text(in_.binary ? texts::kGrepBinary : texts::kGrep);
    }
    path();
    end();
  }

  void cli() {
    out_.text(texts::kCliRead);
    path();
    if (by_bytes_) {
      out_.text(fmt::format(texts::kCliColumn, kWindowBytes));
    } else {
      out_.text(
          fmt::format(texts::kCliOffset, line_window(in_.sums.lines, in_.read_limit).first - 1));
    }
    end();
  }

  void read_tool() {
    const std::string name = texts::tool_name(in_.doors.read_tool);
    if (by_bytes_) {
      out_.text(fmt::format(texts::kReadToolColumn, name, kWindowBytes));
    } else {
      const Window window = line_window(in_.sums.lines, in_.read_limit);
      out_.text(fmt::format(texts::kReadTool, name, window.first - 1, in_.read_limit));
    }
    end();
  }

  void grep_tool() {
    out_.text(fmt::format(texts::kGrepTool, texts::tool_name(in_.doors.grep_tool)));
    end();
  }

  const NoticeInput& in_;
  Detail detail_;
  bool by_bytes_;
  NamedText out_;
};

NamedText compose(const NoticeInput& in, Detail detail) {
  NamedText out;
  out.text(first_line(in, detail)).text(texts::kPath).text(printable(in.folder)).text("/").name();
  out.text("\n");
  if (in.doors.none()) return out.text(texts::kClosed);
  if (detail == Detail::path_only) return out;
  return out.text(texts::kReadParts).append(DoorWriter(in, detail).write());
}

size_t characters_of(const NamedText& text, size_t name_chars, std::string_view heading) {
  return utf8::count(text.joined("")) + (text.parts().size() - 1) * name_chars +
         utf8::count(heading);
}

}  // namespace

NamedText& NamedText::append(const NamedText& other) {
  parts_.back() += other.parts_.front();
  parts_.insert(parts_.end(), other.parts_.begin() + 1, other.parts_.end());
  return *this;
}

std::string NamedText::joined(std::string_view name) const {
  std::string out = parts_.front();
  for (size_t i = 1; i < parts_.size(); ++i) out.append(name).append(parts_[i]);
  return out;
}

NamedText notice(const NoticeInput& input) {
  NamedText out;
  for (const Detail detail :
       {Detail::all, Detail::first_door, Detail::short_path, Detail::path_only}) {
    out = compose(input, detail);
    if (characters_of(out, input.name_chars, preview_heading(input.kind)) <= limits::kNoticeChars) {
      break;
    }
  }
  return out;
}

std::string_view preview_heading(ArtifactKind kind) {
  return kind == ArtifactKind::human ? texts::kMessagePreview : texts::kPreview;
}

Doors usable_doors(const Doors& declared, bool mounted) {
  Doors doors = declared;
  if (mounted || !declared.shell) return doors;
  doors.shell = false;
  if (doors.none()) doors.cli = true;
  return doors;
}

std::string shell_word(std::string_view path) {
  if (std::all_of(path.begin(), path.end(), plain_in_shell)) return std::string(path);
  const bool printable_text =
      utf8::is_valid(path) && std::none_of(path.begin(), path.end(), [](char c) {
        return static_cast<uint8_t>(c) < 0x20 || c == 0x7F;
      });
  std::string out = printable_text ? "'" : "$'";
  for (char c : path) {
    if (printable_text) {
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (plain_in_shell(c) || c == ' ') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return out + "'";
}

}  // namespace ebla::context
