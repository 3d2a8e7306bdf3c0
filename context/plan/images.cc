#include <algorithm>

#include "context/plan/plan.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

struct Medium {
  ItemPlan plan;
  bool image = false;
  bool fresh = false;  // the model has not seen it; the newest of all is as good as that
  uint64_t bytes = 0;  // in the request
};

// Media that the list carries itself, oldest first. What is pinned or was tried counts, and stays.
struct Load {
  std::vector<Medium> movable;
  uint64_t fixed_bytes = 0;
  uint64_t fixed_images = 0;
};

void add_media(const std::vector<WorkingMessage>& messages, bool may_move, Load& load) {
  for (size_t i = 0; i < messages.size(); ++i) {
    for (size_t p = 0; p < messages[i].parts.size(); ++p) {
      const Part& part = messages[i].message->parts[p];
      const WorkingPart& working = messages[i].parts[p];
      const bool image = part.kind == PartKind::image;
      if ((!image && part.kind != PartKind::document) || working.replaced) continue;
      if (!may_move || messages[i].pinned || working.kept || part.data.empty()) {
        load.fixed_images += image ? 1 : 0;
        load.fixed_bytes += part.data.size();
        continue;
      }
      load.movable.push_back({{i, p, ArtifactKind::media, "", "", true, false},
                              image,
                              is_fresh(messages[i], p),
                              part.data.size()});
    }
  }
  if (!load.movable.empty()) load.movable.back().fresh = true;
}

// Once they are more than `most` together, the oldest go until what can go is down to half of its
// share; what the model has not seen only goes where it must.
void yield(Load& load, const char* reason, uint64_t fixed, uint64_t most,
           uint64_t (*weight)(const Medium&), std::vector<ItemPlan>& plans) {
  uint64_t total = fixed;
  for (const Medium& each : load.movable) total += weight(each);
  if (total <= most) return;
  const uint64_t half = fixed + (most - std::min(fixed, most)) / 2;
  std::vector<Medium> left;
  for (Medium& each : load.movable) {
    if (weight(each) == 0 || total <= (each.fresh ? most : half)) {
      left.push_back(std::move(each));
      continue;
    }
    total -= weight(each);
    each.plan.reason = reason;
    plans.push_back(std::move(each.plan));
  }
  load.movable = std::move(left);
}

}  // namespace

std::vector<ItemPlan> plan_images(const WorkingList& list, uint64_t byte_budget) {
  std::vector<ItemPlan> plans;
  if (list.conversation == nullptr || list.conversation->partial) return plans;
  Load load;
  add_media(list.pins, false, load);
  add_media(list.messages, true, load);
  if (byte_budget > 0) {
    yield(
        load, "image_bytes", load.fixed_bytes, byte_budget,
        [](const Medium& each) { return each.bytes; }, plans);
  }
  // Links and pins can take half of the number at most: no image of the list itself goes for them.
  const uint64_t linked = std::min<uint64_t>(load.fixed_images, limits::kImages / 2);
  yield(
      load, "image_count", linked, limits::kImages,
      [](const Medium& each) { return uint64_t{each.image ? 1u : 0u}; }, plans);
  return plans;
}

}  // namespace ebla::context
