#include "daemon/prepare/summaries.h"

#include <algorithm>
#include <utility>

#include "context/item/evict.h"
#include "daemon/prepare/breaker.h"
#include "daemon/prepare/client_offers.h"
#include "daemon/prepare/command_summary.h"
#include "daemon/prepare/stored_text.h"
#include "daemon/session_service.h"

namespace ebla::daemon {
namespace {

constexpr std::string_view kClient = "client";
constexpr std::string_view kExtract = "extract";

std::string_view source_of(const Work& work) {
  const std::string& asked = work.request().summariser;
  return asked.empty() ? work.settings().summariser : asked;
}

std::string client_breaker(const Work& work) {
  return "client/" + std::to_string(work.session().serial);
}

void note(Work& work, std::string_view what, std::string reason) {
  work.actions.push_back({.what = what, .reason = std::move(reason)});
}

uint64_t tokens_before(const Work& work, size_t cut) {
  uint64_t tokens = work.list.summary_tokens;
  for (size_t i = 0; i < cut; ++i) tokens += work.list.messages[i].tokens;
  return tokens;
}

bool is_cut_point(const Work& work, size_t cut) {
  if (cut == 0 || cut >= work.list.messages.size()) return false;
  const auto points = context::cut_points(*work.current.conversation);
  return std::ranges::binary_search(points, work.list.messages[cut].index);
}

std::optional<size_t> cut_of(const Work& work, std::string_view id) {
  const auto& messages = work.list.messages;
  for (size_t cut = messages.size(); cut > 1; --cut) {
    if (context::summary_id(messages[cut - 2].chain) != id) continue;
    if (is_cut_point(work, cut - 1)) return cut - 1;
  }
  return std::nullopt;
}

// The client could not, or did not do as it was asked.
void client_failed(Work& work) {
  Breaker(work.services, client_breaker(work)).failed();
  ++work.services.summaries.failed;
  work.client_failed = true;
  clear_offer(work);
}

std::optional<MadeSummary> from_client(Work& work, size_t cut, bool must) {
  if (work.client_failed) return extract_for(work, cut);
  if (Breaker(work.services, client_breaker(work)).open()) {
    note(work, "breaker_open", "client");
    return extract_for(work, cut);
  }
  if (!may_offer(work)) {
    note(work, "summary_failed", "the client did not answer");
    client_failed(work);
    return extract_for(work, cut);
  }
  if (auto made = make_offer(work, cut, must); !made) {
    note(work, "summary_failed", made.error().text);
    return extract_for(work, cut);
  }
  return std::nullopt;
}

std::optional<MadeSummary> from_command(Work& work, const std::string& command, size_t cut,
                                        bool must) {
  // A command runs as the daemon's user: another one may only use what is configured.
  if (work.asked.uid != work.services.uid && command != work.services.options.settings.summariser) {
    note(work, "summary_failed", "a command may be named by the daemon's own user only");
    return extract_for(work, cut);
  }
  const CommandSummary made = command_summary(work, command, cut);
  switch (made.state) {
    case CommandSummary::State::there:
      return MadeSummary{made.text, SummarySource::daemon};
    case CommandSummary::State::resting:
      note(work, "breaker_open", "daemon");
      return extract_for(work, cut);
    case CommandSummary::State::failed:
      note(work, "summary_failed", made.text);
      return extract_for(work, cut);
    case CommandSummary::State::running:
      break;
  }
  if (must && !work.may_wait) {
    note(work, "summary_failed", "the summariser takes too long");
    return extract_for(work, cut);
  }
  work.summary_begun = true;
  if (must) work.waits_for = made.id;
  return std::nullopt;
}

}  // namespace

context::Excerpt excerpt_of(const Work& work) {
  std::string media = context::artifact_folder(ArtifactKind::media, work.session().id) + "/";
  return [&store = work.services.store, body = work.body(), media = std::move(media)](
             const context::WorkingMessage& message, size_t part, std::string_view argument,
             size_t bytes) -> std::string {
    for (const context::PutAway& put : context::put_away_of(message, part)) {
      if (put.argument != argument) continue;
      if (put.path.starts_with(media)) return "";
      return stored_text(store, put.path, bytes).value_or("");
    }
    if (!argument.empty() || message.parts[part].replaced) return "";
    return context::text_start(body, message.message->parts[part], bytes);
  };
}

context::SummaryInput summary_input(const Work& work, size_t cut) {
  context::SummaryInput input;
  input.body = work.body();
  input.list = &work.list;
  input.removed = cut;
  input.earlier = context::parts_of_summary(work.list.summary).summary;
  input.focus = work.request().focus;
  input.max_tokens = limits::kSummaryTokens;
  if (const uint64_t window = work.summary_window(); window > 0) {
    const auto share = static_cast<uint64_t>(limits::kSummaryShare * static_cast<double>(window));
    input.max_tokens = std::min(input.max_tokens, std::max<uint64_t>(share, 1));
  }
  const std::string history = history_path(work.session());
  const std::string host = host_path_of(work.services, work.session(), history);
  input.history_path = host.empty() ? history : host;
  input.excerpt = excerpt_of(work);
  return input;
}

uint64_t summariser_window(const Work& work) {
  if (work.settings().summariser_window > 0) return work.settings().summariser_window;
  return work.room.window > 0 ? work.room.window : work.settings().trigger_tokens;
}

std::optional<CutSummary> handed_summary(Work& work) {
  const auto& handed = work.request().summary;
  if (!handed) return std::nullopt;
  if (!handed->error.empty()) {
    note(work, "summary_failed", handed->error);
    client_failed(work);
    return std::nullopt;
  }
  const auto cut = cut_of(work, handed->id);
  if (!cut) {
    note(work, "summary_refused", "it is not the summary of a beginning of this list");
    return std::nullopt;
  }
  const auto input = summary_input(work, *cut);
  auto text = context::accept_summary(handed->text, tokens_before(work, *cut), input.max_tokens);
  if (!text) {
    ++work.services.summaries.refused;
    note(work, "summary_refused", text.error().text);
    if (!may_retry(work)) client_failed(work);
    return std::nullopt;
  }
  ++work.services.summaries.accepted;
  Breaker(work.services, client_breaker(work)).succeeded();
  return CutSummary{*cut, {*std::move(text), SummarySource::client}};
}

std::optional<size_t> pending_cut(const Work& work) {
  for (const std::string& id : pending_ids(work)) {
    if (const auto cut = cut_of(work, id)) return cut;
  }
  return std::nullopt;
}

std::optional<MadeSummary> summary_for(Work& work, size_t cut, bool must) {
  const std::string_view source = source_of(work);
  if (source == kExtract || work.request().dry_run) return extract_for(work, cut);
  if (source != kClient) return from_command(work, std::string(source), cut, must);
  // The provider refused the list: there is no turn to ask in.
  if (work.request().overflow) return extract_for(work, cut);
  return from_client(work, cut, must);
}

MadeSummary extract_for(Work& work, size_t cut) {
  if (!work.request().dry_run) ++work.services.summaries.extracts;
  return {context::extract_summary(summary_input(work, cut)), SummarySource::extract};
}

void settle_summaries(Work& work, const MadeSummary& used) {
  clear_offer(work);
  if (used.source == SummarySource::daemon) forget_command_summaries(work);
}

}  // namespace ebla::daemon
