#include <algorithm>

#include "context/plan.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

struct Medium {
  ItemPlan plan;
  bool image = false;
  uint64_t bytes = 0;  // in the request
};

// Media that the list carries itself, oldest first. What is pinned or was tried counts, and stays.
struct Load {
  std::vector<Medium> movable;
  uint64_t bytes = 0;
  size_t images = 0;
};

void add_media(const std::vector<WorkingMessage>& messages, bool may_move, Load& load) {
  for (size_t i = 0; i < messages.size(); ++i) {
    for (size_t p = 0; p < messages[i].parts.size(); ++p) {
      const Part& part = messages[i].message->parts[p];
      const WorkingPart& working = messages[i].parts[p];
      const bool image = part.kind == PartKind::image;
      if ((!image && part.kind != PartKind::document) || working.replaced) continue;
      load.images += image ? 1 : 0;
      load.bytes += part.data.size();
      if (!may_move || messages[i].pinned || working.kept || part.data.empty()) continue;
      load.movable.push_back(
          {{i, p, ArtifactKind::media, "", "", true, false}, image, part.data.size()});
    }
  }
}

}  // namespace

std::vector<ItemPlan> plan_images(const WorkingList& list, uint64_t byte_budget) {
  std::vector<ItemPlan> plans;
  if (list.conversation == nullptr || list.conversation->partial) return plans;
  Load load;
  add_media(list.pins, false, load);
  add_media(list.messages, true, load);
  while (!load.movable.empty()) {
    const bool too_large = byte_budget > 0 && load.bytes > byte_budget;
    if (!too_large && load.images <= limits::kImages) break;
    if (!too_large) {
      std::erase_if(load.movable, [](const Medium& each) { return !each.image; });
      if (load.movable.empty()) break;
    }
    const size_t half = (load.movable.size() + 1) / 2;
    for (size_t i = 0; i < half; ++i) {
      Medium& each = load.movable[i];
      each.plan.reason = too_large ? "image_bytes" : "image_count";
      plans.push_back(each.plan);
      load.bytes -= each.bytes;
      load.images -= each.image ? 1 : 0;
    }
    load.movable.erase(load.movable.begin(),
                       load.movable.begin() + static_cast<std::ptrdiff_t>(half));
  }
  return plans;
}

}  // namespace ebla::context
