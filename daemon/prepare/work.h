// One run of `prepare` over one list: what it knows, what it has decided. The steps are functions
// on it, each in a file of its own; prepare_run.cc has their order.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context/formats/format.h"
#include "context/formats/pairs.h"
#include "context/item/doors.h"
#include "context/list/working_list.h"
#include "context/plan/plan.h"
#include "context/settings.h"
#include "daemon/prepare/list_body.h"
#include "daemon/prepare/list_draft.h"
#include "daemon/prepare/prepare_request.h"
#include "daemon/services.h"
#include "schema/model.h"

namespace ebla::daemon {

// One line of `actions`: ebla-control(7).
struct Action {
  std::string_view what;
  std::optional<size_t> index = std::nullopt;  // of the list that was sent
  std::string id = {};
  std::string tool = {};
  std::string path = {};
  std::string reason = {};
  uint64_t tokens_before = 0;
  uint64_t tokens_after = 0;
  size_t messages = 0;
};

// How a list was answered before.
struct Replay {
  uint64_t newest = 0;  // decisions and passes with a higher id were not known then
  uint64_t window = 0;  // tokens; 0: unknown
  bool closed = false;  // nothing more was to be decided on it
};

struct SummaryOffer {
  std::string id;
  std::string instruction;
  std::string prompt;
  uint64_t max_tokens = 0;
  bool must = false;
};

// Who asks, for what, with which settings: the same for each run of one call.
struct Asked {
  PrepareRequest request;
  Session session;               // serial 0: the store could not make it
  std::optional<Error> trouble;  // that the store had with the session
  context::Settings settings;
  context::Doors doors;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Work {
  Work(Services& the_services, const Asked& the_asked) : services(the_services), asked(the_asked) {}

  Services& services;
  const Asked& asked;
  const context::Format* format = nullptr;
  ListBody sent;     // as the client sent it
  ListBody current;  // repaired: what `list` points into
  ListDraft draft{0};
  std::vector<context::PartAt> late;    // context::late_results()
  std::vector<context::PartAt> strays;  // of `sent`: results that are carried on as words
  context::WorkingList list;
  // In a dry run: the list with known decisions alone, which is what goes back.
  std::optional<context::WorkingList> known_list;
  uint64_t earlier = 0;  // tokens of the list after known decisions
  size_t known_items = 0;
  size_t known_messages = 0;  // that the known pass stands for
  uint64_t known_pass = 0;    // its id; 0: none
  context::Room room;
  uint64_t refused_limit = 0;    // that the provider named, if one can work in it; tokens
  Hash128 chain;                 // of the whole list
  uint64_t newest = 0;           // id of the newest decision that stands in it
  std::optional<Replay> replay;  // the list was answered before: what held then holds again
  bool anew = false;             // whatever held then does not do any more
  // Decisions and passes with a higher id do not count.
  uint64_t horizon = UINT64_MAX;
  std::vector<Action> actions;
  std::optional<Error> degraded;  // nothing new is decided from here on
  std::optional<SummaryOffer> offer;
  bool irreducible = false;    // refused by the provider, and nothing could be made smaller
  bool client_failed = false;  // it is not asked in this call again
  bool whole = false;          // as the client has it: no pass stands for its beginning
  bool may_wait = true;        // for a summary; false: it has waited long enough
  bool summary_begun = false;  // it is being made beside
  std::string waits_for;       // id of a summary: run again when it is there
  // Why a summary that the caller asked for was not made: nothing_old, not_smaller,
  // provider_keeps_list; "" it was, or is still to come.
  std::string_view not_compacted;

  std::string_view body() const { return *current.text; }
  const PrepareRequest& request() const { return asked.request; }
  const context::Settings& settings() const { return asked.settings; }
  const Session& session() const { return asked.session; }
  // What summaries are measured by: the window, or what a provider that refused the list shows of
  // it.
  uint64_t summary_window() const {
    if (!request().overflow) return room.window;
    const uint64_t refused = refused_limit > 0 ? refused_limit : earlier;
    return room.window > 0 ? std::min(room.window, refused) : refused;
  }
  // What is learnt by the way is worth keeping; false: nothing is to be written.
  bool keeps() const { return !request().dry_run && !degraded; }
  bool stopped() const { return degraded.has_value() || !waits_for.empty(); }
  void degrade(Error error) {
    if (!degraded) degraded = std::move(error);
  }
  // Index in the client's own list.
  size_t sent_index(const context::WorkingMessage& message) const {
    return draft.origin(message.index);
  }
};

}  // namespace ebla::daemon
