#include "context/summary/sentences.h"

#include <algorithm>
#include <array>
#include <span>

#include "context/text/clusters.h"
#include "context/text/quote.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr size_t kSentenceChars = 280;
// Of one message; a longer one is data with a request before or behind it.
constexpr size_t kHeadBytes = 16'384;
constexpr size_t kTailBytes = 8'192;

// Lower case. A word that begins and ends with a letter of an alphabet stands alone; others
// (Chinese, Japanese, Korean, Thai) are found anywhere.
constexpr std::string_view kConstraints[] = {
    "must", "must not", "mustn't", "never", "always", "don't", "do not", "dont", "required",
    "requirement", "make sure", "avoid", "not allowed", "forbidden", "should not", "shouldn't",
    "at most", "at least", "no more than", "under no circumstances", "no longer than",
    // German
    "muss", "müssen", "darf nicht", "dürfen nicht", "nie", "niemals", "immer", "unbedingt",
    "mindestens", "höchstens",
    // French, Spanish, Portuguese, Italian
    "doit", "doivent", "jamais", "toujours", "ne pas", "interdit", "debe", "deben", "nunca",
    "siempre", "no debes", "prohibido", "deve", "devem", "sempre", "vietato",
    // Russian
    "должен", "должна", "должно", "должны", "нельзя", "никогда", "всегда", "обязательно", "не надо",
    // Chinese
    "必须", "必須", "不要", "不能", "不得", "不可", "禁止", "务必", "務必", "只能", "切勿", "请勿",
    "一定要", "始终", "永远不", "至少", "最多", "一律", "统一", "統一", "以后都",
    // Japanese, Korean
    "必ず", "してはいけ", "しないで", "ないでください", "べき", "だけ", "絶対", "なければならな",
    "반드시", "절대", "하지 마", "하지마", "안 됩니다", "금지", "항상", "해야"};

constexpr std::string_view kWishes[] = {
    // Often a rule, and often not.
    "should",
    "keep",
    "keeps",
    "leave",
    "prefer",
    "important",
    "ensure",
    "without",
    "cannot",
    "can't",
    "does not have to",
    "only",
    ", not",
    "before you",
    "darf",
    "ohne",
    "kein",
    "keine",
    "keinen",
    "nicht",
    "sans",
    "sin",
    "não",
    "sem",
    "mai",
    "senza",
    "без",
    "只要",
    "别",
    "仅"};

constexpr std::string_view kDecisions[] = {
    "decided",     "decide",      "decision",   "chose",       "choose",      "chosen",
    "instead of",  "rather than", "going with", "go with",     "settled on",  "we will use",
    "we'll use",   "i'll use",    "let's use",  "switch to",   "switched to", "agreed",
    "entschieden", "stattdessen", "statt",      "nehmen wir",  "décidé",      "choisi",
    "plutôt que",  "decidido",    "elegido",    "en lugar de", "решил",       "решили",
    "выбрал",      "вместо",      "决定",       "決定",        "选择",        "選擇",
    "采用",        "採用",        "改用",       "改为",        "而不是",      "ことにし",
    "代わりに",    "結論",        "결정",       "선택",        "대신"};

constexpr std::string_view kRuleLists[] = {
    "rules",   "rule",       "requirements",  "constraints", "conditions", "guidelines",
    "notes",   "regeln",     "anforderungen", "règles",      "reglas",     "requisitos",
    "правила", "требования", "要求",          "规则",        "規則",       "注意",
    "约束",    "条件",       "ルール",        "規則"};

constexpr std::string_view kIntents[] = {
    "next",  "now i",    "i will",       "i'll",   "let me",  "going to",   "remaining",
    "todo",  "then i",   "als nächstes", "jetzt",  "ensuite", "maintenant", "a continuación",
    "ahora", "дальше",   "теперь",       "接下来", "下一步",  "现在",       "然后",
    "接著",  "我将",     "我会",         "我先",   "先看",    "让我",       "我来",
    "次に",  "これから", "다음",         "이제"};

std::span<const std::string_view> words_of(Mark mark) {
  switch (mark) {
    case Mark::constraint:
      return kConstraints;
    case Mark::wish:
      return kWishes;
    case Mark::decision:
      return kDecisions;
    case Mark::intent:
      break;
  }
  return kIntents;
}

// Simple lower case of Latin and Cyrillic; a typographic apostrophe is a plain one.
std::string folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const utf8::Decoded d = utf8::decode(text);
    char32_t c = d.code_point;
    const bool upper = (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
                       (c >= 0x410 && c <= 0x42F);
    if (upper) c += 0x20;
    if (c == 0x2019) c = '\'';
    utf8::append(out, c);
    text.remove_prefix(d.length);
  }
  return out;
}

// A byte that goes on a word of an alphabet; CJK bytes (leads from E3 on) do not.
bool continues_word(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < 0x80) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
           byte == '\'';
  }
  const char32_t c = utf8::decode(text.substr(at)).code_point;
  return c < 0x2000;
}

size_t before(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80);
  return at;
}

bool holds_word(std::string_view text, std::string_view word) {
  const bool alphabet = continues_word(word, 0);
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!alphabet) return true;
    const bool begins = at == 0 || !continues_word(text, before(text, at));
    if (begins && !continues_word(text, at + word.size())) return true;
  }
  return false;
}

// Ends a sentence: one of .!? before a space or the end, or the full-width ones.
size_t sentence_end(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if ((c == '.' || c == '!' || c == '?') && (i + 1 == line.size() || line[i + 1] == ' ')) {
      return i + 1;
    }
    if (static_cast<uint8_t>(c) < 0x80) continue;
    for (std::string_view wide : {"。", "！", "？", "；"}) {
      if (line.substr(i).starts_with(wide)) return i + wide.size();
    }
  }
  return line.size();
}

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  });
}

// "- ", "* ", "> ", "1. ", "# ": what a list puts before its text.
std::string_view without_bullet(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t-*>#");
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  const size_t digits = line.find_first_not_of("0123456789");
  if (digits != std::string_view::npos && digits > 0 && digits < 4 &&
      (line.substr(digits).starts_with(". ") || line.substr(digits).starts_with(") "))) {
    line.remove_prefix(digits + 2);
  }
  return line;
}

std::string both_ends(std::string_view text) {
  if (text.size() <= kHeadBytes + kTailBytes) return std::string(text);
  std::string_view tail = text.substr(text.size() - kTailBytes);
  tail.remove_prefix(broken_start(tail));
  return std::string(text.substr(0, utf8::floor_boundary(text, kHeadBytes))) + "\n" +
         std::string(tail);
}

// A sentence without an end goes on for too long: up to the last clause that fits.
size_t clause_end(std::string_view sentence) {
  const size_t most = first_characters(sentence, kSentenceChars).size();
  if (most == sentence.size()) return most;
  const std::string_view start = sentence.substr(0, most);
  size_t end = 0;
  for (std::string_view mark : {", ", "; ", ": ", "\uff0c", "\u3001", "\uff1a"}) {
    const size_t at = start.rfind(mark);
    if (at != std::string_view::npos) end = std::max(end, at + mark.size());
  }
  return end > 0 ? end : most;
}

// Lines of a clean text, those in code left out. A fence that never closes is none.
std::vector<std::string_view> prose_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (without_bullet(line).starts_with("```")) {
      const size_t close = text.starts_with("```") ? 0 : text.find("\n```");
      if (close == std::string_view::npos) continue;
      const size_t end = text.find('\n', close + 1);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    out.push_back(line);
  }
  return out;
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view text) {
  const std::string clean = clean_text(both_ends(text));
  std::vector<std::string> out;
  for (std::string_view line : prose_lines(clean)) {
    line = without_bullet(line);
    while (!line.empty()) {
      const std::string_view whole = line.substr(0, sentence_end(line));
      const size_t length = clause_end(whole);
      std::string sentence = one_line(line.substr(0, length), kSentenceChars);
      if (has_letters(sentence)) out.push_back(std::move(sentence));
      line.remove_prefix(length);
    }
  }
  return out;
}

std::vector<std::string> listed_rules(std::string_view text) {
  const std::string clean = clean_text(both_ends(text));
  std::vector<std::string> out;
  bool below = false;
  for (std::string_view line : prose_lines(clean)) {
    const std::string_view item = without_bullet(line);
    if (item.empty()) continue;
    const bool heading = item.ends_with(':') || item.ends_with("\uff1a") || line.starts_with('#');
    if (heading) {
      const std::string low = folded(item);
      below = std::any_of(std::begin(kRuleLists), std::end(kRuleLists),
                          [&low](std::string_view word) { return holds_word(low, word); });
    } else if (item.size() == line.size()) {
      below = false;
    } else if (below && has_letters(item)) {
      out.push_back(one_line(item, kSentenceChars));
    }
  }
  return out;
}

bool asks(std::string_view sentence) {
  return sentence.ends_with('?') || sentence.ends_with("\uff1f") || sentence.ends_with("\u5417");
}

bool bears(std::string_view sentence, Mark mark) {
  const std::string low = folded(sentence);
  const std::span<const std::string_view> words = words_of(mark);
  return std::any_of(words.begin(), words.end(),
                     [&low](std::string_view word) { return holds_word(low, word); });
}

std::vector<std::string> marked_sentences(std::string_view text, Mark mark) {
  std::vector<std::string> out = sentences_of(text);
  std::erase_if(out, [mark](const std::string& sentence) { return !bears(sentence, mark); });
  return out;
}

}  // namespace ebla::context
