#include <fmt/format.h>

#include "context/list/known.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

bool is_medium(const Part& part) {
  return (part.kind == PartKind::image || part.kind == PartKind::document) && !part.data.empty();
}

}  // namespace

std::string fresh_medium_id(std::string_view id) {
  return fmt::format("fresh {}", id);
}

std::vector<ListMedium> list_media(const Conversation& conversation, const Chain& chain) {
  std::vector<ListMedium> media;
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const Part* result = nullptr;
    size_t of_result = 0;
    size_t of_message = 0;
    for (size_t p = 0; p < conversation.messages[m].parts.size(); ++p) {
      const Part& part = conversation.messages[m].parts[p];
      if (part.kind == PartKind::tool_result) {
        result = &part;
        of_result = 0;
      }
      if (!is_medium(part)) continue;
      const bool within = result != nullptr && stands_within(part, *result);
      std::string id = within
                           ? fmt::format("call {}/{}", result->call_id, of_result++)
                           : fmt::format("chain {}/{}", chain.links[m].chain.hex(), of_message++);
      if (part.immovable || part.provider_side || part.facts.bytes < limits::kItemBytes) continue;
      std::string fresh_id = fresh_medium_id(id);
      media.push_back(
          {m, p, std::move(id), std::move(fresh_id), part.facts.hash, part.facts.bytes});
    }
  }
  return media;
}

std::vector<ItemQuery> media_queries(std::span<const ListMedium> media) {
  std::vector<ItemQuery> queries;
  for (const ListMedium& each : media) {
    queries.push_back({ArtifactKind::media, each.fresh_id, each.hash, each.size});
    queries.push_back({ArtifactKind::media, each.id, each.hash, each.size});
  }
  return queries;
}

}  // namespace ebla::context
