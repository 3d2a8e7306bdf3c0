#include "daemon/prepare/compose.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schema/base/log.h"

namespace ebla::daemon {
namespace {

using context::Message;
using context::PartEdit;
using context::Splice;
using context::WorkingMessage;

// `skipped`: parts of the message as the client sent it that come before those of the list.
std::vector<PartEdit> edits_of(const WorkingMessage& message, size_t skipped) {
  std::vector<PartEdit> edits;
  for (size_t p = 0; p < message.parts.size(); ++p) {
    const context::WorkingPart& part = message.parts[p];
    if (part.replaced && !part.text.empty()) {
      edits.push_back({p + skipped, PartEdit::What::content, "", part.text});
    }
    for (const context::WorkingArgument& argument : part.arguments) {
      if (!argument.replaced || argument.text.empty()) continue;
      edits.push_back({p + skipped, PartEdit::What::argument, argument.name, argument.text});
    }
  }
  return edits;
}

// The message as it goes out; empty: as it came in.
std::string edited(const Work& work, const WorkingMessage& message) {
  const context::Conversation& conversation = *work.current.conversation;
  const Message& whole = conversation.messages[message.index];
  const auto edits = edits_of(message, context::parts_in_front(conversation, message));
  return edits.empty() ? std::string() : work.format->edit(work.body(), whole, edits);
}

// The summary in front of what a user's message says.
std::string merged(const Work& work, const std::string& summary, const WorkingMessage& message) {
  const std::string text = edited(work, message);
  if (text.empty()) return work.format->merged_user(work.body(), *message.message, summary);
  const std::string list = "[" + text + "]";
  const auto conversation = work.format->parse(list);
  if (!conversation) return {};
  return work.format->merged_user(list, conversation->messages.at(0), summary);
}

void append_edits(const Work& work, const std::vector<WorkingMessage>& messages, size_t from,
                  std::vector<Splice>& splices) {
  for (size_t i = from; i < messages.size(); ++i) {
    std::string text = edited(work, messages[i]);
    if (!text.empty()) splices.push_back({messages[i].index, 1, {std::move(text)}});
  }
}

// The beginning that the summary stands for goes, but for the pins.
void append_cover(const Work& work, const context::WorkingList& list, std::vector<Splice>& splices,
                  size_t& first_kept) {
  std::set<size_t> kept;
  for (const WorkingMessage& pin : list.pins) kept.insert(pin.index);
  append_edits(work, list.pins, 0, splices);
  for (size_t i = 0; i < list.covered; ++i) {
    if (kept.contains(i)) continue;
    const bool goes_on = !splices.empty() && splices.back().insert.empty() &&
                         splices.back().index + splices.back().remove == i;
    if (goes_on) {
      ++splices.back().remove;
    } else {
      splices.push_back({i, 1, {}});
    }
  }
  std::ranges::sort(splices, {}, &Splice::index);
  const bool merges = work.format->needs_alternation() && !list.messages.empty() &&
                      list.messages.front().message->role == context::Role::user &&
                      list.messages.front().index == list.covered;
  Splice last{static_cast<size_t>(list.covered), 0, {}};
  if (merges) {
    last.remove = 1;
    last.insert.push_back(merged(work, list.summary, list.messages.front()));
    first_kept = 1;
  } else {
    last.insert.push_back(work.format->user_message(*work.current.conversation, list.summary));
  }
  splices.push_back(std::move(last));
}

std::vector<Splice> splices_of(const Work& work) {
  const context::WorkingList& list = work.known_list ? *work.known_list : work.list;
  std::vector<Splice> splices;
  size_t first = 0;
  if (!list.summary.empty() && !list.carrier) {
    append_cover(work, list, splices, first);
  } else {
    append_edits(work, list.pins, 0, splices);
  }
  append_edits(work, list.messages, first, splices);
  std::ranges::stable_sort(splices, {}, &Splice::index);
  return splices;
}

// What the new list would be refused for and the one that was sent would not.
std::vector<std::string> new_breaches(const Work& work, const std::string& body) {
  auto conversation = work.format->parse(body);
  if (!conversation) return {conversation.error().text};
  std::vector<std::string> breaches = work.format->breaches(body, *conversation);
  if (breaches.empty()) return breaches;
  for (const std::string& own : work.format->breaches(*work.sent.text, *work.sent.conversation)) {
    if (const auto at = std::ranges::find(breaches, own); at != breaches.end()) breaches.erase(at);
  }
  return breaches;
}

std::vector<uint64_t> hashes_of(const Work& work, const std::vector<Splice>& splices) {
  std::vector<uint64_t> hashes;
  const auto& messages = work.sent.conversation->messages;
  size_t at = 0;
  const auto keep_to = [&](size_t end) {
    for (; at < end; ++at) hashes.push_back(messages[at].bytes_hash);
  };
  for (const Splice& splice : splices) {
    keep_to(splice.index);
    for (const std::string& text : splice.insert) hashes.push_back(xxh3_64(text));
    at += splice.remove;
  }
  keep_to(messages.size());
  return hashes;
}

}  // namespace

Outgoing compose(Work& work) {
  Outgoing out;
  ListDraft draft = work.draft;
  draft.apply(splices_of(work));
  out.splices = draft.splices();
  if (!out.splices.empty()) {
    out.body = context::apply_splices(*work.sent.text, *work.sent.conversation, out.splices);
    const auto breaches = new_breaches(work, out.body);
    if (!breaches.empty()) {
      ++work.services.prepares.breaches;
      log::error("prepare: session {}: the new list would be refused, the old one goes back: {}",
                 work.session().id, breaches.front());
      work.actions.push_back({.what = "breach", .reason = breaches.front()});
      out.splices.clear();
      out.body.clear();
      out.breach = true;
    }
  }
  out.hashes = hashes_of(work, out.splices);
  return out;
}

}  // namespace ebla::daemon
