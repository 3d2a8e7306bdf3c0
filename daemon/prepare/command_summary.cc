#include "daemon/prepare/command_summary.h"

#include <memory>
#include <optional>
#include <utility>

#include "context/summary/summary.h"
#include "daemon/prepare/breaker.h"
#include "daemon/prepare/summaries.h"

namespace ebla::daemon {
namespace {

// What a run needs after the call that began it has been answered.
struct Snapshot {
  ListBody body;  // keeps what the list points into
  context::WorkingList list;
  context::SummaryInput input;
  context::SummaryRequest request;
  std::optional<context::SummaryShares> shares;  // its window has no room for all: in pieces
  uint64_t removed_tokens = 0;

  uint64_t answer_tokens() const { return shares ? shares->answer : request.max_tokens; }
};

// The error of context::summary_shares.
Result<std::shared_ptr<Snapshot>> snapshot_of(const Work& work, size_t cut) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->body = work.current;
  snapshot->list = work.list;
  snapshot->input = summary_input(work, cut);
  snapshot->input.list = &snapshot->list;
  snapshot->request =
      context::summary_request(snapshot->input, context::pass_key(work.list, cut).prefix);
  for (size_t i = 0; i < cut; ++i) snapshot->removed_tokens += work.list.messages[i].tokens;
  const uint64_t window = summariser_window(work);
  if (context::fits_window(snapshot->request, window)) return snapshot;
  const auto shares = context::summary_shares(snapshot->input, window);
  if (!shares) return std::unexpected(shares.error());
  snapshot->shares = *shares;
  return snapshot;
}

// What the command answers, once it is accepted: it is asked twice at most.
Result<std::string> answer(const Snapshot& snapshot, const Summariser::Run& run,
                           std::string_view prompt) {
  const uint64_t longest = snapshot.answer_tokens();
  Result<std::string> accepted;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto text = run(prompt, longest);
    if (!text) return text;
    accepted = context::accept_summary(*text, snapshot.removed_tokens, longest);
    if (accepted) return accepted;
  }
  return accepted;
}

// The last prompt of a run. What comes out of the pieces before it is in it, so a piece that is not
// answered with a summary would lose all that came before.
Result<std::string> last_prompt(const Snapshot& snapshot, const Summariser::Run& run) {
  if (!snapshot.shares) return snapshot.request.prompt;
  const auto chunks = context::summary_chunks(snapshot.input, *snapshot.shares);
  std::string so_far;
  const auto prompt = [&](size_t i) {
    return context::chunk_prompt(snapshot.input, *snapshot.shares, chunks[i], i + 1, chunks.size(),
                                 so_far);
  };
  for (size_t i = 0; i + 1 < chunks.size(); ++i) {
    auto text = answer(snapshot, run, prompt(i));
    if (!text) return text;
    so_far = *std::move(text);
  }
  return prompt(chunks.size() - 1);
}

Result<std::string> make(const Snapshot& snapshot, const Summariser::Run& run,
                         std::atomic<uint64_t>& runs) {
  const auto counted = [&](std::string_view prompt, uint64_t max_tokens) {
    ++runs;
    return run(prompt, max_tokens);
  };
  auto prompt = last_prompt(snapshot, counted);
  return prompt ? answer(snapshot, counted, *prompt) : prompt;
}

std::string breaker_of(const std::string& command) {
  return "command/" + xxh3_128(command).hex();
}

Result<void> start(Work& work, const std::string& command, size_t cut, const SummaryKey& key) {
  const auto snapshot = snapshot_of(work, cut);
  if (!snapshot) return std::unexpected(snapshot.error());
  Services& services = work.services;
  Summariser::Job job = [&services, snapshot = *snapshot, command,
                         key](const Summariser::Run& run) {
    auto text = make(*snapshot, run, services.summaries.commands);
    Breaker breaker(services, breaker_of(command));
    if (text) {
      breaker.succeeded();
    } else if (text.error().code != Code::unavailable) {
      ++services.summaries.failed;
      breaker.failed();
    }
    services.desk.finish(key, std::move(text));
  };
  return services.summariser.submit(command, work.session().id, job);
}

}  // namespace

CommandSummary command_summary(Work& work, const std::string& command, size_t cut) {
  const SummaryKey key{work.session().tree,
                       context::summary_id(context::pass_key(work.list, cut).prefix)};
  CommandSummary made{CommandSummary::State::running, key.id, {}};
  SummaryDesk& desk = work.services.desk;
  if (auto result = desk.result(key)) {
    made.state = *result ? CommandSummary::State::there : CommandSummary::State::failed;
    made.text = *result ? **result : result->error().text;
    if (*result) return made;
    desk.forget(key);
    return made;
  }
  if (desk.running(key)) return made;
  if (Breaker(work.services, breaker_of(command)).open()) {
    made.state = CommandSummary::State::resting;
    return made;
  }
  if (!desk.begin(key)) return made;
  if (auto begun = start(work, command, cut, key); !begun) {
    desk.finish(key, std::unexpected(begun.error()));
    desk.forget(key);
    made.state = CommandSummary::State::failed;
    made.text = begun.error().text;
  }
  return made;
}

void forget_command_summaries(Work& work) {
  for (std::string& id : work.services.desk.ids(work.session().tree)) {
    work.services.desk.forget({work.session().tree, std::move(id)});
  }
}

}  // namespace ebla::daemon
