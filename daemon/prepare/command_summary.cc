#include "daemon/prepare/command_summary.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "context/summary/summary.h"
#include "context/text/tokens.h"
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
  uint64_t window = 0;  // tokens of the summariser's own
  uint64_t removed_tokens = 0;
};

std::shared_ptr<Snapshot> snapshot_of(const Work& work, size_t cut) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->body = work.current;
  snapshot->list = work.list;
  snapshot->input = summary_input(work, cut);
  snapshot->input.list = &snapshot->list;
  snapshot->request =
      context::summary_request(snapshot->input, context::pass_key(work.list, cut).prefix);
  snapshot->window = summariser_window(work);
  for (size_t i = 0; i < cut; ++i) snapshot->removed_tokens += work.list.messages[i].tokens;
  return snapshot;
}

// What the command answers, once it is accepted: it is asked twice at most.
Result<std::string> answer(const Snapshot& snapshot, const Summariser::Run& run,
                           std::string_view prompt) {
  Result<std::string> accepted;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto text = run(prompt, snapshot.request.max_tokens);
    if (!text) return text;
    accepted = context::accept_summary(*text, snapshot.removed_tokens, snapshot.request.max_tokens);
    if (accepted) return accepted;
  }
  return accepted;
}

// The last prompt of a run. What comes out of the pieces before it is in it, so a piece that is not
// answered with a summary would lose all that came before.
Result<std::string> last_prompt(const Snapshot& snapshot, const Summariser::Run& run) {
  const uint64_t longest = snapshot.request.max_tokens;
  if (context::estimate_tokens(snapshot.request.prompt) + longest <= snapshot.window) {
    return snapshot.request.prompt;
  }
  // Room for the question, for what came out so far, and for the answer.
  const uint64_t frame =
      context::estimate_tokens(context::chunk_prompt(snapshot.input, "", 1, 1, "")) + 2 * longest;
  const uint64_t piece =
      std::max(snapshot.window / 4, snapshot.window > frame ? snapshot.window - frame : 0);
  const auto chunks = context::summary_chunks(snapshot.input, piece);
  std::string so_far;
  for (size_t i = 0; i + 1 < chunks.size(); ++i) {
    auto text =
        answer(snapshot, run,
               context::chunk_prompt(snapshot.input, chunks[i], i + 1, chunks.size(), so_far));
    if (!text) return text;
    so_far = *std::move(text);
  }
  return context::chunk_prompt(snapshot.input, chunks.back(), chunks.size(), chunks.size(), so_far);
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
  auto snapshot = snapshot_of(work, cut);
  Services& services = work.services;
  Summariser::Job job = [&services, snapshot, command, key](const Summariser::Run& run) {
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
