#include "daemon/prepare/repair.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "context/list/turns.h"

namespace ebla::daemon {
namespace {

using context::Repair;

std::string_view repair_name(Repair::What what) {
  switch (what) {
    case Repair::What::dangling_call:
      return "dangling_call";
    case Repair::What::stray_result:
      return "stray_result";
    case Repair::What::outdated_result:
      return "outdated_result";
    case Repair::What::misplaced_result:
      return "misplaced_result";
    case Repair::What::repeated_id:
      return "repeated_id";
    case Repair::What::wrong_type:
      return "wrong_type";
    case Repair::What::no_user_first:
      return "no_user_first";
    case Repair::What::empty_content:
      break;
  }
  return "empty_content";
}

// The next state of the list; false: it stays as it is.
bool advance(Work& work, const std::vector<context::Splice>& splices) {
  if (splices.empty()) return false;
  auto text = std::make_shared<const std::string>(
      context::apply_splices(work.body(), *work.current.conversation, splices));
  auto conversation = work.format->parse(*text);
  if (!conversation) return false;  // the check of the whole list finds what is wrong with it
  work.current = {std::move(text),
                  std::make_shared<const context::Conversation>(*std::move(conversation))};
  work.draft.apply(splices);
  return true;
}

// The list with these results as some that answer no call.
std::shared_ptr<const context::Conversation> without_answers(
    const ListBody& sent, std::span<const context::Pair> results) {
  auto out = std::make_shared<context::Conversation>(*sent.conversation);
  context::Pairing& pairing = out->pairing;
  const auto place = [](context::PartAt at) { return std::pair(at.message, at.part); };
  for (const context::Pair& pair : results) {
    std::erase_if(pairing.pairs,
                  [&](const context::Pair& each) { return each.result == pair.result; });
    context::Part& result = out->messages[pair.result.message].parts[pair.result.part];
    if (result.named_by_call) result.tool.clear();
    pairing.unanswered.push_back(pair.call);
    pairing.strays.push_back(pair.result);
  }
  std::ranges::sort(pairing.unanswered, {}, place);
  std::ranges::sort(pairing.strays, {}, place);
  return out;
}

}  // namespace

void repair(Work& work, std::span<const context::Pair> as_words) {
  work.current = work.sent;
  work.draft = ListDraft(work.sent.conversation->messages.size());
  work.late.clear();
  work.strays.clear();
  std::erase_if(work.actions, [](const Action& action) { return action.what == "repair"; });
  if (work.sent.conversation->partial || work.whole) return;
  if (!as_words.empty()) work.current.conversation = without_answers(work.sent, as_words);
  const auto read = work.current.conversation;
  const auto repairs = work.format->repairs(work.body(), *read);
  if (repairs.empty()) return;
  const auto splices =
      work.format->repair_splices(work.body(), *work.current.conversation, repairs);
  if (!advance(work, splices)) return;
  work.late = context::late_results(*read, *work.current.conversation);
  for (const Repair& one : repairs) {
    const auto& parts = work.sent.conversation->messages[one.message].parts;
    Action action{.what = "repair", .index = one.message};
    action.reason = repair_name(one.what);
    if (one.what == Repair::What::stray_result) {
      action.id = parts[one.part].call_id;
      action.tool = parts[one.part].tool;
      work.strays.push_back({one.message, one.part});
    }
    work.actions.push_back(std::move(action));
  }
}

}  // namespace ebla::daemon
