#include "daemon/prepare/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "context/plan/plan.h"
#include "daemon/prepare/facts.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

// Records of lists stand together in a fact, newest first, one to a line; which fact, their chain
// tells. So a tree has a bounded number of them, and an old one makes room for a new one.
constexpr size_t kRecordsTogether = 32;

std::string fact_name(const Work& work) {
  constexpr uint64_t kFacts = limits::kAnsweredLists / kRecordsTogether;
  return fmt::format("list/{}/{}", work.session().tree, work.chain.low % kFacts);
}

std::string chain_start(const Work& work) {
  return work.chain.hex() + ' ';
}

std::string_view take_line(std::string_view& records) {
  const std::string_view line = records.substr(0, records.find('\n'));
  records.remove_prefix(std::min(line.size() + 1, records.size()));
  return line;
}

// With this record in front; an older one of the same list goes.
std::string with_record(std::string_view records, const std::string& start, std::string record) {
  for (size_t kept = 1; kept < kRecordsTogether && !records.empty();) {
    const std::string_view line = take_line(records);
    if (line.starts_with(start)) continue;
    record.append("\n").append(line);
    ++kept;
  }
  return record;
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
  const std::string value = read_fact(work.services, fact_name(work)).value_or("");
  const std::string start = chain_start(work);
  for (std::string_view records = value; !records.empty();) {
    const std::string_view line = take_line(records);
    if (!line.starts_with(start)) continue;
    return Replay{number_field(line, 1), number_field(line, 2), number_field(line, 3) != 0};
  }
  return std::nullopt;
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
  const std::string name = fact_name(work);
  const std::string start = chain_start(work);
  std::string record =
      start + join_numbers({work.newest, work.room.window, closed ? uint64_t{1} : 0});
  const std::string others = read_fact(work.services, name).value_or("");
  write_fact(work.services, name, with_record(others, start, std::move(record)));
}

}  // namespace ebla::daemon
