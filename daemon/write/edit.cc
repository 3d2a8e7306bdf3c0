#include "daemon/write/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/find/find_bytes.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kSlice = limits::kMiB;
constexpr size_t kShownLines = 5;
constexpr std::string_view kBlanks = " \t\r\n";

// A piece of a file that moves on: what was not looked at yet is in it.
class Window {
 public:
  Window(const ReadAt& read, uint64_t size) : read_(read), size_(size) {}

  std::string_view text() const { return std::string_view(bytes_).substr(start_); }
  uint64_t offset() const { return offset_; }  // of the text in the file
  bool at_end() const { return offset_ + text().size() >= size_; }
  void skip(size_t count) {
    start_ += count;
    offset_ += count;
  }
  // Up to a slice more, behind what is there.
  Result<void> fill() {
    bytes_.erase(0, start_);
    start_ = 0;
    const size_t held = bytes_.size();
    const uint64_t at = offset_ + held;
    bytes_.resize(held + std::min<uint64_t>(kSlice, size_ - at));
    for (size_t done = held; done < bytes_.size();) {
      auto got = read_(offset_ + done, std::span(bytes_).subspan(done));
      if (!got) return std::unexpected(std::move(got.error()));
      // Shorter than it was said to be: it has changed.
      if (*got == 0) return fail(Code::conflict, "the file has been cut meanwhile");
      done += *got;
    }
    return {};
  }
  // Where `needle` begins in the text; skips what it can not begin in. nullopt: not in the file.
  Result<std::optional<size_t>> find(std::string_view needle,
                                     const std::function<void(std::string_view)>& passed) {
    for (;;) {
      const size_t at = find_bytes(text(), needle, 0);
      if (at != std::string_view::npos) return at;
      if (at_end()) return std::nullopt;
      const size_t kept = std::min(text().size(), needle.size() - 1);
      const size_t gone = text().size() - kept;
      passed(text().substr(0, gone));
      skip(gone);
      if (auto filled = fill(); !filled) return std::unexpected(std::move(filled.error()));
    }
  }

 private:
  const ReadAt& read_;
  const uint64_t size_;
  std::string bytes_;
  size_t start_ = 0;
  uint64_t offset_ = 0;
};

uint64_t line_ends(std::string_view text) {
  return static_cast<uint64_t>(std::ranges::count(text, '\n'));
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) out += '\r';
    out += text[i];
  }
  return out;
}

std::string lines_of(const Places& places) {
  std::string out = places.lines.size() == 1 ? "line " : "lines ";
  out += fmt::format("{}", fmt::join(places.lines, ", "));
  return places.count > places.lines.size() ? out + ", …" : out;
}

Error ambiguous(const Places& places) {
  if (places.count == 1) {
    return {Code::ambiguous,
            fmt::format("old is there in two places that overlap ({}): give more of the text "
                        "around it",
                        lines_of(places))};
  }
  return {Code::ambiguous,
          fmt::format("old is there {} times ({}): give more of the text around the one that is "
                      "meant, or \"all\":true for every one",
                      places.count, lines_of(places))};
}

// What a caller who is nearly right has wrong; empty when nothing of it fits.
Result<std::string> near_miss(const ReadAt& read, uint64_t size, std::string_view old_text) {
  const auto none = [] { return Result<std::string>(std::string()); };
  if (old_text.size() > 1 && old_text.ends_with('\n')) {
    std::string_view body = old_text.substr(0, old_text.size() - 1);
    if (body.ends_with('\r')) body.remove_suffix(1);
    if (body.size() <= size && !body.empty()) {
      std::string tail(body.size(), '\0');
      auto got = read(size - body.size(), tail);
      if (!got) return std::unexpected(std::move(got.error()));
      if (*got == tail.size() && tail == body) {
        return "the file ends without a line's end: leave it off at the end of old";
      }
    }
  }
  const size_t first = old_text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return none();
  const size_t last = old_text.find_last_not_of(kBlanks);
  const std::string_view trimmed = old_text.substr(first, last - first + 1);
  if (trimmed.size() == old_text.size()) return none();
  auto places = find_places(read, size, trimmed);
  if (!places) return std::unexpected(std::move(places.error()));
  if (places->count == 0) return none();
  return fmt::format("without the blanks and line ends around it, it is there {} ({})",
                     places->count == 1 ? "once" : fmt::format("{} times", places->count),
                     lines_of(*places));
}

Error no_match(std::string_view old_text, const std::string& hint) {
  if (!hint.empty()) return {Code::no_match, fmt::format("old is not in the file: {}", hint)};
  std::string text = "old is not in the file";
  const size_t end = old_text.find('\n');
  if (end != std::string_view::npos && end + 1 < old_text.size()) {
    text += ": it has several lines, of which each must be there, in this order, blanks included";
  } else {
    text += ": capitals and blanks count";
  }
  return {Code::no_match, text + ". Read the place again (fs.read) and copy it"};
}

}  // namespace

Result<Places> find_places(const ReadAt& read, uint64_t size, std::string_view text) {
  Places places;
  Window window(read, size);
  uint64_t line = 1;
  const auto passed = [&line](std::string_view gone) { line += line_ends(gone); };
  for (;;) {
    auto found = window.find(text, passed);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return places;
    passed(window.text().substr(0, **found));
    window.skip(**found);
    if (places.lines.size() < kShownLines) places.lines.push_back(line);
    if (++places.count == 1) {
      // As much as a second one that overlaps it would take.
      while (window.text().size() < 2 * text.size() && !window.at_end()) {
        if (auto filled = window.fill(); !filled) {
          return std::unexpected(std::move(filled.error()));
        }
      }
      const size_t next = find_bytes(window.text().substr(0, 2 * text.size() - 1), text, 1);
      places.overlapping = next != std::string_view::npos && next < text.size();
    }
    passed(text);
    window.skip(text.size());
  }
}

Result<EditPlan> plan_edit(const ReadAt& read, uint64_t size, Edit edit) {
  EditPlan plan;
  auto places = find_places(read, size, edit.old_text);
  if (!places) return std::unexpected(std::move(places.error()));
  if (places->count == 0 && edit.old_text.find('\n') != std::string::npos) {
    // A page shows lines without their CR.
    std::string converted = with_crlf(edit.old_text);
    if (converted != edit.old_text) {
      places = find_places(read, size, converted);
      if (!places) return std::unexpected(std::move(places.error()));
      plan.crlf = places->count > 0;
      if (plan.crlf) {
        edit.old_text = std::move(converted);
        edit.new_text = with_crlf(edit.new_text);
      }
    }
  }
  if (places->count == 0) {
    auto hint = near_miss(read, size, edit.old_text);
    if (!hint) return std::unexpected(std::move(hint.error()));
    return std::unexpected(no_match(edit.old_text, *hint));
  }
  if (!edit.all && (places->count > 1 || places->overlapping)) {
    return std::unexpected(ambiguous(*places));
  }
  plan.edit = std::move(edit);
  plan.places = *std::move(places);
  return plan;
}

ContentSource edited(const ReadAt& read, uint64_t size, const Edit& edit) {
  struct State {
    Window window;
    Edit edit;
    std::string ready;  // bytes that are due
    size_t given = 0;
    bool done = false;
  };
  auto state = std::make_shared<State>(State{Window(read, size), edit, {}, 0, false});
  // At most up to the next place: what is ready stays small whatever is put in.
  const auto refill = [state]() -> Result<void> {
    state->ready.clear();
    state->given = 0;
    auto found = state->window.find(state->edit.old_text,
                                    [&](std::string_view gone) { state->ready += gone; });
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) {
      state->ready += state->window.text();
      state->window.skip(state->window.text().size());
      state->done = true;
      return {};
    }
    state->ready += state->window.text().substr(0, **found);
    state->ready += state->edit.new_text;
    state->window.skip(**found + state->edit.old_text.size());
    return {};
  };
  ContentSource source;
  source.pull = [state, refill](std::span<char> out) -> Result<size_t> {
    while (state->given == state->ready.size()) {
      if (state->done) return size_t{0};
      if (auto filled = refill(); !filled) return std::unexpected(std::move(filled.error()));
    }
    const size_t count = state->ready.copy(out.data(), out.size(), state->given);
    state->given += count;
    return count;
  };
  return source;
}

}  // namespace ebla::daemon
