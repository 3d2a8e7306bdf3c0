#include "daemon/prepare/repair.h"

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

}  // namespace

void repair(Work& work) {
  work.current = work.sent;
  work.draft = ListDraft(work.sent.conversation->messages.size());
  if (work.sent.conversation->partial || work.whole) return;
  const auto repairs = work.format->repairs(work.body(), *work.current.conversation);
  if (repairs.empty()) return;
  const auto splices =
      work.format->repair_splices(work.body(), *work.current.conversation, repairs);
  if (!advance(work, splices)) return;
  work.late = context::late_results(*work.sent.conversation, *work.current.conversation);
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
