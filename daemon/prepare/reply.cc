#include "daemon/prepare/reply.h"

#include <algorithm>
#include <utility>

#include "context/plan/plan.h"
#include "daemon/prepare/calibration.h"
#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

void write_action(JsonWriter& out, const Action& action) {
  out.begin_object().member("what", action.what);
  if (action.index) out.member("index", static_cast<uint64_t>(*action.index));
  if (!action.id.empty()) out.member("id", action.id);
  if (!action.tool.empty()) out.member("tool", action.tool);
  if (!action.path.empty()) out.member("path", action.path);
  if (!action.reason.empty()) out.member("reason", action.reason);
  if (action.tokens_before > 0) {
    out.member("tokens_before", action.tokens_before).member("tokens_after", action.tokens_after);
  }
  if (action.messages > 0) out.member("messages", static_cast<uint64_t>(action.messages));
  out.end_object();
}

// What goes into one line of JSON: line ends between its tokens become spaces.
std::string on_one_line(std::string_view json) {
  std::string line(json);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

void write_splices(JsonWriter& out, const std::vector<context::Splice>& splices) {
  out.key("splices").begin_array();
  for (const context::Splice& splice : splices) {
    out.begin_object()
        .member("index", static_cast<uint64_t>(splice.index))
        .member("remove", static_cast<uint64_t>(splice.remove))
        .key("insert")
        .begin_array();
    for (const std::string& message : splice.insert) out.raw(on_one_line(message));
    out.end_array().end_object();
  }
  out.end_array();
}

// The new list, or the whole body.
std::string_view new_text(const Work& work, const Outgoing& outgoing) {
  const std::string_view body =
      outgoing.body.empty() ? std::string_view(*work.sent.text) : outgoing.body;
  if (work.request().reply == ReplyForm::request) return body;
  const context::Span sent = work.sent.conversation->list;
  const size_t behind = work.sent.text->size() - sent.end;
  return body.substr(sent.begin, body.size() - behind - sent.begin);
}

void write_list(const Work& work, const Outgoing& outgoing, bool blobs, JsonWriter& out,
                std::vector<std::string>& bytes) {
  if (work.request().reply == ReplyForm::splices) return write_splices(out, outgoing.splices);
  out.key(work.request().reply == ReplyForm::request ? "request" : "messages");
  const std::string_view text = new_text(work, outgoing);
  if (!blobs) {
    out.raw(on_one_line(text));
    return;
  }
  bytes.emplace_back(text);
  out.begin_object().member("$blob", 0).end_object();
}

uint64_t first_difference(std::span<const uint64_t> before, std::span<const uint64_t> now) {
  const auto [at, end] = std::ranges::mismatch(before, now);
  return static_cast<uint64_t>(end - now.begin());
}

void write_offer(JsonWriter& out, const SummaryOffer& offer) {
  out.key("summary_request")
      .begin_object()
      .member("id", offer.id)
      .member("instruction", offer.instruction)
      .member("prompt", offer.prompt)
      .member("max_tokens", offer.max_tokens)
      .member("must", offer.must)
      .end_object();
}

void write_counts(const Work& work, JsonWriter& out) {
  const context::Room& room = work.room;
  const bool fits = context::fits(work.list, room) && !work.irreducible;
  out.key("tokens")
      .begin_object()
      .member("before", work.earlier)
      .member("after", work.list.counted())
      .member("window", room.window)
      .member("reserve", room.reserve)
      .member("trigger", room.trigger)
      .end_object()
      .member("fits", fits);
  if (fits) return;
  out.key("fills").begin_array();
  for (const auto& [kind, tokens] : context::what_fills(work.list)) {
    out.begin_object().member("kind", kind).member("tokens", tokens).end_object();
  }
  out.end_array();
}

}  // namespace

Reply reply_of(const Work& work, const Outgoing& outgoing, std::span<const uint64_t> before,
               bool blobs, std::string_view body_name) {
  Reply reply;
  JsonWriter out;
  out.begin_object()
      .member("session", work.session().id)
      .member("format", context::format_name(work.format->id()))
      .member("revision", revision_of(work));
  if (!body_name.empty()) out.member("body", body_name);
  write_list(work, outgoing, blobs, out, reply.blobs);
  out.member("stable_until", first_difference(before, outgoing.hashes));
  out.key("actions").begin_array();
  for (const Action& action : work.actions) write_action(out, action);
  out.end_array();
  out.key("known")
      .begin_object()
      .member("items", static_cast<uint64_t>(work.known_items))
      .member("messages", static_cast<uint64_t>(work.known_messages))
      .end_object();
  write_counts(work, out);
  if (work.degraded) {
    out.key("degraded")
        .begin_object()
        .member("name", code_info(work.degraded->code).name)
        .member("text", work.degraded->text)
        .end_object();
  }
  if (!work.not_compacted.empty()) out.member("not_compacted", work.not_compacted);
  if (work.offer) write_offer(out, *work.offer);
  reply.result = out.end_object().take();
  return reply;
}

}  // namespace ebla::daemon
