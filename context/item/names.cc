#include "context/item/names.h"

#include <algorithm>

#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr size_t kHashDigits = 8;
constexpr size_t kSessionDigits = 5;
constexpr size_t kSessionCandidates = 8;

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string digits_of(Hash128 hash) {
  return hash.hex().substr(0, kHashDigits);
}

// splitmix64: spreads one seed over several draws.
uint64_t next_random(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Runs of other bytes become one '_', none at the ends: "/home/me/app" is "home_me_app".
std::string readable_session(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (plain(c) && (c != '-' || !out.empty())) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
    if (out.size() == limits::kReadableSessionBytes) break;
  }
  while (!out.empty() && (out.back() == '_' || out.back() == '-')) out.pop_back();
  return out.empty() ? "session" : out;
}

}  // namespace

std::string file_stem(ArtifactKind kind, std::string_view call_id, Hash128 content) {
  if (call_id.empty()) {
    return (kind == ArtifactKind::human ? "message-" : "result-") + digits_of(content);
  }
  const bool as_it_is = call_id.size() <= limits::kPlainIdBytes && call_id.front() != '-' &&
                        std::all_of(call_id.begin(), call_id.end(), plain);
  if (as_it_is) return std::string(call_id);
  std::string stem(call_id.substr(0, limits::kReadableIdBytes));
  std::replace_if(stem.begin(), stem.end(), [](char c) { return !plain(c); }, '_');
  if (stem.front() == '-') stem.front() = '_';
  return stem + "-" + digits_of(xxh3_128(call_id));
}

std::string_view file_extension(ArtifactKind kind) {
  return kind == ArtifactKind::human ? ".md" : "";
}

std::vector<std::string> session_id_candidates(std::string_view key_or_label, uint64_t random) {
  constexpr char kBase32[] = "abcdefghijklmnopqrstuvwxyz234567";
  const std::string readable = readable_session(key_or_label);
  std::vector<std::string> candidates;
  for (size_t i = 0; i < kSessionCandidates; ++i) {
    uint64_t bits = next_random(random);
    std::string id = readable + "-";
    for (size_t d = 0; d < kSessionDigits; ++d, bits >>= 5) id += kBase32[bits & 31];
    candidates.push_back(std::move(id));
  }
  return candidates;
}

}  // namespace ebla::context
