// Where the summary of a pass comes from: the client, a command of the daemon's, or the extract
// that needs no model and always works.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "context/summary/summary.h"
#include "daemon/prepare/work.h"
#include "schema/model.h"

namespace ebla::daemon {

struct MadeSummary {
  std::string text;  // the summary proper
  SummarySource source = SummarySource::extract;
};
struct CutSummary {
  size_t cut = 0;  // of work.list.messages
  MadeSummary summary;
};

// How texts of this list that were put away began, read from the store alone, so that it does not
// matter who still has them; of media nothing. Refers to the work.
context::Excerpt excerpt_of(const Work& work);
// What all summaries of this list's first `cut` messages are made from. Refers to the work.
context::SummaryInput summary_input(const Work& work, size_t cut);
// Tokens of the window that a summariser has, 0 unknown.
uint64_t summariser_window(const Work& work);

// What the client handed in, if it is a summary of a beginning of this list and is accepted. A
// fault is an action; from the second one on the client is passed over for this call.
std::optional<CutSummary> handed_summary(Work& work);
// A beginning of the list for which a summary was asked for before, and not answered or used yet.
std::optional<size_t> pending_cut(const Work& work);
// The summary of the first `cut` messages. nullopt: it is not there yet. Then either `offer` asks
// the client for it, or a command makes it beside, or, where it `must` be, work.waits_for is set.
std::optional<MadeSummary> summary_for(Work& work, size_t cut, bool must);
MadeSummary extract_for(Work& work, size_t cut);
// A pass was made: what was asked for before is settled.
void settle_summaries(Work& work, const MadeSummary& used);

}  // namespace ebla::daemon
