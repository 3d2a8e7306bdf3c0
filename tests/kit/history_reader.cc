#include "tests/kit/history_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ebla::kit {
namespace {

struct Broken {
  uint64_t line;
  std::string expected;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::vector<HistorySection> read() {
    std::vector<HistorySection> sections;
    while (!rest_.empty()) sections.push_back(section());
    return sections;
  }

 private:
  [[noreturn]] void broken(std::string expected) const { throw Broken{line_, std::move(expected)}; }

  std::string_view peek() const { return rest_.substr(0, rest_.find('\n')); }
  std::string_view line() {
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) broken("a line feed");
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++line_;
    return out;
  }
  void exactly(std::string_view wanted) {
    if (line() != wanted) broken(fmt::format("before: '{}'", wanted));
  }

  // Takes words and numbers off the front of one line.
  class Line {
   public:
    Line(const Reader& reader, std::string_view text) : reader_(reader), text_(text) {}
    bool skip(std::string_view word) {
      if (!text_.starts_with(word)) return false;
      text_.remove_prefix(word.size());
      return true;
    }
    Line& word(std::string_view word) {
      if (!skip(word)) reader_.broken(fmt::format("'{}' before '{}'", word, text_));
      return *this;
    }
    Line& number(uint64_t& out) {
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
      if (error != std::errc()) reader_.broken("a number");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      return *this;
    }
    // Text in double quotes.
    std::string quoted() {
      word("\"");
      std::string out;
      while (!text_.starts_with('"')) {
        if (text_.empty()) reader_.broken("a closing quote");
        out += character();
      }
      text_.remove_prefix(1);
      return out;
    }
    std::string_view rest() const { return text_; }
    void end() const {
      if (!text_.empty()) reader_.broken(fmt::format("the end of the line, not '{}'", text_));
    }

   private:
    char take() {
      if (text_.empty()) reader_.broken("a character");
      const char c = text_.front();
      text_.remove_prefix(1);
      return c;
    }
    char character() {
      const char c = take();
      if (c != '\\') return c;
      const char kind = take();
      if (kind == 'n') return '\n';
      if (kind == '"' || kind == '\\') return kind;
      if (kind != 'x' || text_.size() < 2) reader_.broken("an escape");
      unsigned value = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + 2, value, 16);
      if (error != std::errc() || end != text_.data() + 2) reader_.broken("two hex digits");
      text_.remove_prefix(2);
      return static_cast<char>(value);
    }
    const Reader& reader_;
    std::string_view text_;
  };

  std::string block() {
    Line head(*this, line());
    const std::string_view fence = head.rest().substr(0, head.rest().find('b'));
    if (fence.size() < 3 || fence.find_first_not_of('`') != std::string_view::npos) {
      broken("a run of backticks");
    }
    uint64_t bytes = 0;
    head.word(fence).word("bytes=").number(bytes).end();
    if (bytes > rest_.size()) broken("more content");
    const std::string_view content = rest_.substr(0, bytes);
    if (content.find(fence) != std::string_view::npos) broken("a run longer than any inside");
    // The way without the length leads to the same place.
    const std::string closing = "\n" + std::string(fence) + "\n";
    if (!rest_.substr(bytes).starts_with(closing)) broken("the closing fence");
    line_ += static_cast<uint64_t>(std::count(content.begin(), content.end(), '\n')) + 2;
    rest_.remove_prefix(bytes + closing.size());
    return std::string(content);
  }

  HistorySection section() {
    HistorySection out;
    Line(*this, line())
        .word("## Section ")
        .number(out.ordinal)
        .word(": messages ")
        .number(out.first)
        .word(" to ")
        .number(out.last)
        .end();
    exactly("");
    const std::string_view when = line();
    out.time = when.substr(0, 19);
    Line rest(*this, when.substr(std::min<size_t>(19, when.size())));
    rest.word(" UTC");
    if (rest.skip(", after rewind to message ")) rest.number(out.rewind_to);
    rest.end();
    exactly("");
    if (peek() == "### Summary") {
      line();
      exactly("");
      out.summary = block();
      exactly("");
    }
    exactly("### Lines");
    exactly("");
    while (peek().starts_with("- message ")) {
      HistoryMessage& message = out.messages.emplace_back();
      Line row(*this, line());
      row.word("- message ").number(message.number).word(": line ").number(message.line).word(", ");
      message.role = row.rest();
    }
    for (HistoryMessage& message : out.messages) read_message(message);
    exactly("");
    return out;
  }

  void read_message(HistoryMessage& message) {
    exactly("");
    if (line_ != message.line) broken("the line that the list names");
    uint64_t number = 0;
    Line(*this, line()).word("### Message ").number(number).word(": ").word(message.role).end();
    if (number != message.number) broken("the number that the list names");
    // An empty line and a label; two empty lines, or one and a heading, end the message.
    while (rest_.starts_with("\n") && rest_.size() > 1 && rest_[1] != '#' && rest_[1] != '\n') {
      line();
      if (peek().starts_with("id ")) {
        Line id(*this, line());
        message.id = id.word("id ").quoted();
        id.end();
      } else {
        message.parts.push_back(part());
      }
    }
  }

  HistoryPart part() {
    HistoryPart out;
    out.label = line();
    Line label(*this, out.label);
    out.kind = out.label.substr(0, out.label.find_first_of(" ,"));
    std::string_view rest = label.rest();
    while (rest.find('"') != std::string_view::npos) {
      Line at(*this, rest.substr(rest.find('"')));
      out.quoted.push_back(at.quoted());
      rest = at.rest();
    }
    if (rest_.starts_with("\n```")) {
      line();
      out.block = block();
    }
    return out;
  }

  std::string_view rest_;
  uint64_t line_ = 1;
};

}  // namespace

Result<std::vector<HistorySection>> parse_history(std::string_view text) {
  try {
    return Reader(text).read();
  } catch (const Broken& fault) {
    return fail(Code::corrupt, fmt::format("line {}: expected {}", fault.line, fault.expected));
  }
}

}  // namespace ebla::kit
