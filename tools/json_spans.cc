#include "tools/json_spans.h"

#include <algorithm>
#include <optional>

#include "schema/base/json_text.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

class Spans {
 public:
  explicit Spans(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }
  bool ended() {
    skip_space();
    return at_ == text_.size();
  }
  size_t place() {
    skip_space();
    return at_;
  }
  std::string_view since(size_t start) const { return text_.substr(start, at_ - start); }

  std::optional<std::string> name() {
    if (!take('"')) {
      return std::nullopt;
    }
    std::string out;
    const json_text::StringEnd end = json_text::unescape(text_.substr(at_), out);
    if (end.fault != nullptr) {
      return std::nullopt;
    }
    at_ += end.taken;
    return out;
  }

  // Past one value; nullopt where there is none, or no end of it.
  std::optional<std::string_view> value() {
    const size_t start = place();
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) {
          return std::nullopt;
        }
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
        continue;
      } else if (c == '}' || c == ']') {
        if (depth == 0) {
          return std::nullopt;
        }
        --depth;
        ++at_;
      } else if (depth > 0) {
        at_ = std::min(text_.find_first_of("\"{}[]", at_), text_.size());
        continue;
      } else {
        const size_t end = text_.find_first_of(",]} \t\r\n\"{[:", at_);
        if (end == at_) {
          return std::nullopt;
        }
        at_ = std::min(end, text_.size());
      }
      if (depth == 0) {
        return since(start);
      }
    }
    return std::nullopt;
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  bool skip_string() {
    ++at_;
    for (;;) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) {
        at_ = text_.size();
        return false;
      }
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      at_ += 2;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<MemberSpan>> member_spans(std::string_view object) {
  const auto broken = [] { return fail(Code::parse_error, "not a JSON object"); };
  Spans spans(object);
  std::vector<MemberSpan> members;
  if (!spans.take('{')) {
    return broken();
  }
  bool more = !spans.take('}');
  while (more) {
    const size_t start = spans.place();
    auto name = spans.name();
    if (!name || !spans.take(':')) {
      return broken();
    }
    const auto value = spans.value();
    if (!value) {
      return broken();
    }
    members.push_back({std::move(*name), spans.since(start), *value});
    more = spans.take(',');
    if (!more && !spans.take('}')) {
      return broken();
    }
  }
  return spans.ended() ? Result<std::vector<MemberSpan>>(std::move(members)) : broken();
}

const MemberSpan* find_span(const std::vector<MemberSpan>& members, std::string_view name) {
  for (auto at = members.rbegin(); at != members.rend(); ++at) {
    if (at->name == name) {
      return &*at;
    }
  }
  return nullptr;
}

Result<std::vector<std::string_view>> item_spans(std::string_view array) {
  const auto broken = [] { return fail(Code::parse_error, "not a JSON array"); };
  Spans spans(array);
  std::vector<std::string_view> items;
  if (!spans.take('[')) {
    return broken();
  }
  bool more = !spans.take(']');
  while (more) {
    const auto item = spans.value();
    if (!item) {
      return broken();
    }
    items.push_back(*item);
    more = spans.take(',');
    if (!more && !spans.take(']')) {
      return broken();
    }
  }
  return spans.ended() ? Result<std::vector<std::string_view>>(std::move(items)) : broken();
}

std::string without_member(std::string_view object, const std::vector<MemberSpan>& members,
                           std::string_view name) {
  const auto begin = [&](const MemberSpan& member) {
    return static_cast<size_t>(member.whole.data() - object.data());
  };
  std::string out;
  size_t at = 0;          // up to here it is copied or left out
  bool kept_one = false;  // a member before stays
  for (size_t i = 0; i < members.size(); ++i) {
    const MemberSpan& member = members[i];
    if (member.name != name) {
      kept_one = true;
      continue;
    }
    // Behind one that stays the comma before it goes with it, else the comma behind it.
    const size_t from =
        kept_one ? begin(members[i - 1]) + members[i - 1].whole.size() : begin(member);
    const bool to_next = !kept_one && i + 1 < members.size();
    out += object.substr(at, from - at);
    at = to_next ? begin(members[i + 1]) : begin(member) + member.whole.size();
  }
  out += object.substr(at);
  return out;
}

}  // namespace ebla::tools
