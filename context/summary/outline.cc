#include "context/summary/outline.h"

#include <algorithm>
#include <optional>

#include "context/text/quote.h"
#include "context/text/tokens.h"

namespace ebla::context {
namespace {

// Of the room, in percent, in the order of the headings.
constexpr std::array<uint64_t, Outline::kSections> kShares = {18, 15, 18, 12, 10, 17, 10};
// Of a section's share, in percent: what one item takes at most while others wait.
constexpr uint64_t kOneItemPercent = 60;
// Who is first to take what others leave.
constexpr std::array<Outline::Section, Outline::kSections> kTurns = {
    Outline::goal,  Outline::next_steps, Outline::open,     Outline::constraints,
    Outline::files, Outline::done,       Outline::decisions};
// An item that has to be cut is left out when fewer tokens of it would stay.
constexpr uint64_t kShortestCut = 8;
// A shorter one is not cut for the room that others leave.
constexpr uint64_t kLongItem = 48;
// What "…", the marks that are closed and a fence cost.
constexpr uint64_t kCutTokens = 4;

uint64_t cost_of(std::string_view item) {
  return estimate_tokens(item) + 1;
}

// The item in at most `tokens`; nullopt when too little of it would stay.
std::optional<std::string> cut_item(const std::string& item, uint64_t tokens) {
  if (tokens < kShortestCut + kCutTokens) return std::nullopt;
  const std::string_view start = first_tokens(item, tokens - kCutTokens);
  if (!item.starts_with("```")) return cut_off(item, start);
  const size_t info = std::min(item.find_first_not_of('`'), item.size());
  const size_t first = std::min(item.find('\n'), item.size());
  const size_t last = start.rfind('\n');
  if (last == std::string_view::npos || last <= first) return std::nullopt;
  std::string out;
  append_fenced(out, std::string_view(item).substr(info, first - info),
                std::string(start.substr(first + 1, last - first)) + texts::kCut);
  out.pop_back();
  return out;
}

// The items of one section that are kept, in the order in which they are chosen.
class Section {
 public:
  Section(const std::vector<std::string>& items, bool both_ends) : items_(items) {
    for (size_t i = 0; i < items.size(); ++i) {
      const bool from_end = both_ends && i % 2 == 1;
      order_.push_back(from_end ? items.size() - 1 - i / 2 : both_ends ? i / 2 : i);
    }
    shown_.resize(items.size());
  }

  // Takes further items while they fit; returns what is left of the room. A first item, or one
  // that is longer than `most`, is cut.
  uint64_t take(uint64_t room, uint64_t most) {
    for (; next_ < order_.size(); ++next_) {
      const size_t at = order_[next_];
      const uint64_t cost = cost_of(items_[at]);
      if (cost <= std::min(room, most)) {
        shown_[at] = items_[at];
        room -= cost;
        continue;
      }
      if (cost <= most && next_ > 0) return room;
      std::optional<std::string> cut = cut_item(items_[at], std::min(room, most));
      if (!cut) return room;
      room -= std::min(room, cost_of(*cut));
      shown_[at] = std::move(*cut);
    }
    return room;
  }

  // Shows whole what was cut, as far as the room allows.
  uint64_t extend(uint64_t room) {
    for (size_t i = 0; i < next_; ++i) {
      const size_t at = order_[i];
      if (shown_[at] == items_[at]) continue;
      const uint64_t have = cost_of(shown_[at]);
      const uint64_t want = cost_of(items_[at]);
      const uint64_t all = have + room;
      if (want > all) {
        if (std::optional<std::string> cut = cut_item(items_[at], all)) {
          if (cost_of(*cut) > have) shown_[at] = std::move(*cut);
        }
        return all - std::min(all, cost_of(shown_[at]));
      }
      shown_[at] = items_[at];
      room = all - want;
    }
    return room;
  }

  bool all() const { return next_ == order_.size(); }
  std::vector<std::string> result() const {
    std::vector<std::string> out;
    for (const std::string& item : shown_) {
      if (!item.empty()) out.push_back(item);
    }
    return out;
  }

 private:
  const std::vector<std::string>& items_;
  std::vector<size_t> order_;
  size_t next_ = 0;                 // in order_
  std::vector<std::string> shown_;  // by item; "" left out
};

Outline fitted(const Outline& outline, uint64_t room) {
  std::vector<Section> sections;
  uint64_t left = 0;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    const std::vector<std::string>& items = outline.lines[i];
    Section& section =
        sections.emplace_back(items, i == Outline::constraints || i == Outline::decisions);
    const uint64_t share = room * kShares[i] / 100;
    left += section.take(share, items.size() > 1 ? share * kOneItemPercent / 100 : share);
  }
  for (Outline::Section i : kTurns) {
    left = left - left / 2 + sections[i].extend(left / 2);
    left = sections[i].take(left, std::max(left, kLongItem));
  }
  Outline out;
  out.found = outline.found;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    out.lines[i] = sections[i].result();
    out.more[i] = outline.more[i] || !sections[i].all();
  }
  return out;
}

}  // namespace

std::string render_outline(const Outline& outline) {
  std::string out;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    out.append(out.empty() ? "## " : "\n## ").append(texts::kSummaryHeadings[i]).append("\n");
    for (const std::string& line : outline.lines[i]) out.append(line).append("\n");
    if (outline.more[i]) {
      out.append(texts::kMoreItems).append("\n");
    } else if (outline.lines[i].empty()) {
      out.append(texts::kNothing).append("\n");
    }
  }
  return out;
}

std::string fit_outline(const Outline& outline, uint64_t max_tokens) {
  std::string out = render_outline(outline);
  const uint64_t frame = estimate_tokens(render_outline(Outline()));
  uint64_t room = max_tokens > frame ? max_tokens - frame : 0;
  while (estimate_tokens(out) > max_tokens && room > 0) {
    out = render_outline(fitted(outline, room));
    room = room * 15 / 16;
  }
  return room == 0 ? render_outline(Outline()) : out;
}

}  // namespace ebla::context
