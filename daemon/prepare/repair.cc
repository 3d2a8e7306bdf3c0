#include "daemon/prepare/repair.h"

#include <utility>
#include <vector>

#include "context/list/turns.h"
#include "context/plan/plan.h"
#include "context/text/tokens.h"
#include "daemon/prepare/known.h"
#include "daemon/prepare/put_away.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

using context::Part;
using context::Repair;
using context::WorkingMessage;
using context::WorkingPart;

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

// The messages with strays in them; all other parts are out of reach.
context::WorkingList list_of_strays(const Work& work, const std::vector<Repair>& repairs) {
  context::WorkingList list;
  const context::Conversation& conversation = *work.sent.conversation;
  list.conversation = &conversation;
  const size_t fresh = context::first_fresh(conversation);
  for (const Repair& repair : repairs) {
    if (repair.what != Repair::What::stray_result) continue;
    const context::Message& message = conversation.messages[repair.message];
    if (list.messages.empty() || list.messages.back().index != repair.message) {
      WorkingMessage& added = list.messages.emplace_back();
      added.message = &message;
      added.index = repair.message;
      added.fresh = repair.message >= fresh;
      added.parts.resize(message.parts.size());
      for (WorkingPart& part : added.parts) part.kept = true;
    }
    const std::string& tool = message.parts[repair.part].tool;
    WorkingPart& part = list.messages.back().parts[repair.part];
    part.kept = false;
    part.never = work.settings().never.contains(tool);
    part.always = work.settings().always.contains(tool);
  }
  return list;
}

// A stray as it stands in the list of strays.
struct Stray {
  WorkingMessage* message;
  size_t part;
};

// Those that were put away once, while their call was there or as strays, stay so.
void apply_known_strays(Work& work, context::WorkingList& list) {
  std::vector<Stray> strays;
  std::vector<ItemQuery> queries;
  for (WorkingMessage& message : list.messages) {
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      if (message.parts[p].kept || part.facts.bytes < limits::kItemBytes) continue;
      for (const ArtifactKind kind : {ArtifactKind::tool_result, ArtifactKind::old_result}) {
        strays.push_back({&message, p});
        queries.push_back({kind, part.call_id, part.facts.hash, part.facts.bytes});
      }
    }
  }
  if (queries.empty()) return;
  const auto answers = find_items(work, queries);
  if (!answers) return work.degrade(answers.error());
  for (size_t i = 0; i < strays.size(); ++i) {
    const auto& [message, p] = strays[i];
    const ItemAnswer& answer = answers->at(i);
    WorkingPart& part = message->parts[p];
    if (answer.original) part.kept = true;  // it arrived replaced
    if (part.replaced || part.kept || !answer.decision) continue;
    const std::string& text = answer.decision->replacement;
    context::replace_part(*message, p, text, answer.decision->path, context::estimate_tokens(text));
  }
}

std::vector<context::Splice> splices_of(const Work& work, const context::WorkingList& list) {
  std::vector<context::Splice> splices;
  for (const WorkingMessage& message : list.messages) {
    std::vector<context::PartEdit> edits;
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const WorkingPart& part = message.parts[p];
      if (!part.replaced) continue;
      edits.push_back({p, context::PartEdit::What::content, "", part.text});
    }
    if (edits.empty()) continue;
    splices.push_back(
        {message.index, 1, {work.format->edit(work.body(), *message.message, edits)}});
  }
  return splices;
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

// By the time that they become words, those that are too long are notices.
void put_strays_away(Work& work, const std::vector<Repair>& repairs) {
  work.list = list_of_strays(work, repairs);
  if (work.list.messages.empty()) return;
  apply_known_strays(work, work.list);
  const context::WorkingList known = work.list;
  carry_out(work, [&] { return context::plan_fresh(work.list, work.settings(), work.room); });
  // A dry run tells what would go, and shows what is known.
  advance(work, splices_of(work, work.request().dry_run ? known : work.list));
  work.list = {};
}

}  // namespace

void repair(Work& work) {
  work.current = work.sent;
  work.draft = ListDraft(work.sent.conversation->messages.size());
  if (work.sent.conversation->partial || work.whole) return;
  const auto repairs = work.format->repairs(work.body(), *work.current.conversation);
  if (repairs.empty()) return;
  put_strays_away(work, repairs);
  const auto still = work.format->repairs(work.body(), *work.current.conversation);
  if (!advance(work, work.format->repair_splices(work.body(), *work.current.conversation, still))) {
    return;
  }
  work.late = context::late_results(*work.sent.conversation, *work.current.conversation);
  for (const Repair& one : still) {
    const auto& parts = work.sent.conversation->messages[one.message].parts;
    Action action{.what = "repair", .index = one.message};
    action.reason = repair_name(one.what);
    if (one.what == Repair::What::stray_result) {
      action.id = parts[one.part].call_id;
      action.tool = parts[one.part].tool;
    }
    work.actions.push_back(std::move(action));
  }
}

}  // namespace ebla::daemon
