#include "context/item/item_limit.h"

#include <algorithm>
#include <string>

namespace ebla::context {

ItemLimit under_share(uint64_t tokens, const Settings& settings, uint64_t usable) {
  if (usable == 0) return {tokens, false};
  const double share = settings.item_window_share * static_cast<double>(usable);
  const uint64_t most = std::max<uint64_t>(1, static_cast<uint64_t>(share));
  return {std::min(tokens, most), most < tokens};
}

ItemLimit item_limit(const Settings& settings, ArtifactKind kind, std::string_view tool,
                     uint64_t usable) {
  if (kind == ArtifactKind::human) {
    return under_share(settings.human_message_tokens, settings, usable);
  }
  const auto own = settings.tool_tokens.find(std::string(tool));
  return under_share(own == settings.tool_tokens.end() ? settings.tool_result_tokens : own->second,
                     settings, usable);
}

bool over_host_limit(uint64_t characters, uint64_t bytes, uint64_t lines, const HostLimit& host) {
  return (host.characters > 0 && characters > host.characters) ||
         (host.bytes > 0 && bytes > host.bytes) || (host.lines > 0 && lines > host.lines);
}

}  // namespace ebla::context
