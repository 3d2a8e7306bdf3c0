#include "daemon/prepare/replay.h"

#include <fmt/format.h>

#include "context/plan/plan.h"
#include "daemon/prepare/facts.h"

namespace ebla::daemon {
namespace {

std::string fact_name(const Work& work) {
  return fmt::format("list/{}/{}", work.session().tree, work.chain.hex());
}

// Asked for, whatever was decided before.
bool asks_for_more(const PrepareRequest& request) {
  return request.compact || request.overflow || request.summary || !request.put_away.empty();
}

// What the provider keeps is not in the list, so the list does not tell which one it is.
bool can_be_told(const Work& work) {
  return !work.sent.conversation->partial && !work.whole && work.session().serial != 0;
}

}  // namespace

std::optional<Replay> find_replay(const Work& work) {
  if (work.anew || !can_be_told(work) || asks_for_more(work.request())) return std::nullopt;
  const auto value = read_fact(work.services, fact_name(work));
  if (!value) return std::nullopt;
  return Replay{number_field(*value, 0), number_field(*value, 1), number_field(*value, 2) != 0};
}

bool replay_holds(const Work& work) {
  const bool smaller =
      work.room.window > 0 && (work.replay->window == 0 || work.room.window < work.replay->window);
  return !smaller && context::fits(work.list, work.room);
}

void keep_replay(Work& work) {
  if (!work.keeps() || work.stopped() || !can_be_told(work)) return;
  if (work.replay && work.replay->closed) return;
  if (!context::fits(work.list, work.room)) return;
  const bool closed = !work.offer && !work.summary_begun;
  write_fact(work.services, fact_name(work),
             join_numbers({work.newest, work.room.window, closed ? uint64_t{1} : 0}));
}

}  // namespace ebla::daemon
