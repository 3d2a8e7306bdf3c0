#include "daemon/prepare/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "context/history.h"
#include "context/text/tokens.h"
#include "daemon/prepare/history_section.h"
#include "daemon/prepare/put_away.h"
#include "daemon/session_service.h"
#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

// The history grew between looking and writing: others write to it too.
constexpr int kAttempts = 5;

std::vector<const context::WorkingMessage*> first_messages(const Work& work, size_t cut) {
  std::vector<const context::WorkingMessage*> messages;
  for (size_t i = 0; i < cut; ++i) messages.push_back(&work.list.messages[i]);
  return messages;
}

std::string message_text(const Work& work, size_t cut, const MadeSummary& summary,
                         std::vector<uint64_t> lines) {
  context::SummaryMessageInput input;
  input.input = summary_input(work, cut);
  input.summary = summary.text;
  input.window = work.summary_window();
  input.message_lines = std::move(lines);
  input.older = context::parts_of_summary(work.list.summary).where_to_look;
  input.doors = work.asked.doors;
  return context::summary_message(input);
}

// Identity of the message that carries the text: what a client that keeps our reply sends back.
Result<Hash128> identity_of_message(const Work& work, std::string_view text) {
  const std::string list = "[" + work.format->user_message(*work.current.conversation, text) + "]";
  auto conversation = work.format->parse(list);
  if (!conversation) return std::unexpected(conversation.error());
  return conversation->messages.at(0).identity;
}

void cover(Work& work, size_t cut, std::string text, const MadeSummary& summary,
           uint64_t tokens_before, std::string path) {
  const uint64_t tokens = context::estimate_tokens(text);
  const size_t messages = cut;
  context::cover(work.list, cut, std::move(text), tokens);
  Action action{.what = "summary"};
  action.path = std::move(path);
  action.reason = summary_source_name(summary.source);
  action.tokens_before = tokens_before;
  action.tokens_after = work.list.counted();
  action.messages = messages;
  work.actions.push_back(std::move(action));
}

// One attempt; conflict when the history grew meanwhile, no_match when it would bring nothing.
Result<Pass> commit(Work& work, size_t cut, const MadeSummary& summary, const MediaLinks& links,
                    std::string& text) {
  Store& store = work.services.store;
  context::SectionInput section;
  section.body = work.body();
  section.now_ns = store.now_ns();
  section.summary = summary.text;
  section.excerpt = excerpt_of(work);
  section.media_link = [&links](const context::WorkingMessage& message, size_t part) {
    const auto at = links.find({message.index, part});
    return at == links.end() ? std::string() : at->second;
  };
  const auto messages = first_messages(work, cut);
  auto made = new_section(work.services, work.session().serial, messages, std::move(section));
  if (!made) return std::unexpected(made.error());
  text = message_text(work, cut, summary, std::move(made->message_lines));
  auto identity = identity_of_message(work, text);
  if (!identity) return std::unexpected(identity.error());

  context::PassKey key = context::pass_key(work.list, cut);
  PassPlan plan;
  plan.session = work.session().serial;
  plan.uid = work.asked.uid;
  plan.gid = work.asked.gid;
  plan.prefix = key.prefix;
  plan.messages = key.messages;
  plan.pinned = std::move(key.pinned);
  plan.message = text;
  plan.message_identity = *identity;
  plan.source = summary.source;
  plan.tokens_before = work.list.counted();
  plan.section = std::move(made->section.text);
  plan.section_lines = made->section.lines;
  plan.history_bytes = made->history_bytes;
  plan.keys = std::move(made->keys);
  // What the list counts once it is covered.
  context::WorkingList after = work.list;
  context::cover(after, cut, "", context::estimate_tokens(text));
  plan.tokens_after = after.counted();
  if (plan.tokens_after >= plan.tokens_before) {
    return fail(Code::no_match, "the summary is not smaller than what it stands for");
  }
  auto pass = wait_briefly<Pass>(work.services, [&](Completion<Pass> done) {
    store.commit_pass(std::move(plan), durable_change(limits::kStoreWaitMs), std::move(done));
  });
  if (pass && !pass->known) note_written(work.services, work.session().serial, *made);
  return pass;
}

}  // namespace

bool make_pass(Work& work, size_t cut, const MadeSummary& summary) {
  const uint64_t before = work.list.counted();
  if (work.request().dry_run) {
    cover(work, cut, message_text(work, cut, summary, std::vector<uint64_t>(cut)), summary, before,
          "");
    return true;
  }
  MediaLinks links;
  if (!file_media(work, cut, links)) return false;
  std::string text;
  Result<Pass> pass = fail(Code::conflict, "");
  for (int attempt = 0; attempt < kAttempts && !pass; ++attempt) {
    if (pass.error().code != Code::conflict) break;
    pass = commit(work, cut, summary, links, text);
  }
  if (pass && pass->known) {
    // Another call made it meanwhile: its message is the one that stands.
    auto stored = work.services.store.pass_message(pass->id);
    if (!stored)
      pass = std::unexpected(stored.error());
    else
      text = *std::move(stored);
  }
  if (!pass && pass.error().code == Code::no_match) return false;
  if (!pass) {
    work.degrade(std::move(pass.error()));
    return false;
  }
  ++work.services.prepares.passes;
  work.known_pass = pass->id;
  work.newest = std::max(work.newest, pass->id);
  work.services.proven.raise(pass->id);
  cover(work, cut, std::move(text), summary, before, history_path(work.session()));
  settle_summaries(work, summary);
  return true;
}

}  // namespace ebla::daemon
