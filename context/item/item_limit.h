// The limit of one item: what `evict` and the planners of a list both go by.
#pragma once

#include <cstdint>
#include <string_view>

#include "context/settings.h"
#include "schema/model.h"

namespace ebla::context {

// By the size rule of the settings.
inline uint64_t rule_sum(uint64_t characters, uint64_t class_sum, SizeRule rule) {
  return rule == SizeRule::chars4 ? characters : class_sum;
}

// Tokens that an item of this kind may have: its own limit, that of its tool, or the share of the
// usable window (0: unknown), whichever is smallest.
struct ItemLimit {
  uint64_t tokens = 0;
  bool by_share = false;  // the share of the window decided
};
ItemLimit item_limit(const Settings& settings, ArtifactKind kind, std::string_view tool,
                     uint64_t usable);
// A limit named by a call takes the place of the settings' own; the share holds all the same.
ItemLimit under_share(uint64_t tokens, const Settings& settings, uint64_t usable);

// More than `tokens`, counted in quarters: 80,000 ASCII characters are 20,000 tokens, one more is
// over.
inline bool over_limit(uint64_t rule_sum, uint64_t tokens) {
  return rule_sum / 4 > tokens || (rule_sum / 4 == tokens && rule_sum % 4 != 0);
}

bool over_host_limit(uint64_t characters, uint64_t bytes, uint64_t lines, const HostLimit& host);

}  // namespace ebla::context
