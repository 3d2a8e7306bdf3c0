#include "tools/try/bill.h"

#include <algorithm>

#include "schema/base/limits.h"
#include "tools/verbs/common.h"

namespace ebla::tools {
namespace {

constexpr double kMillion = 1e6;
// An agent that summarises at 85 % of its window and goes on with the newest 10 %.
constexpr double kTriggerShare = 0.85;
constexpr double kKeepShare = 0.10;

class Account {
 public:
  explicit Account(const Prices& prices) : prices_(prices) {}

  // A call that reads `sent` tokens, `cached` of them from the cache.
  void call(uint64_t sent, uint64_t cached, uint64_t output) {
    side_.sent += sent;
    side_.cached += cached;
    side_.output += output;
    side_.cost_cached += money(cached, prices_.cache_read) +
                         money(sent - cached, prices_.cache_write) + money(output, prices_.output);
    side_.cost_plain += money(sent, prices_.input) + money(output, prices_.output);
  }
  void pass(uint64_t list, uint64_t cached, uint64_t summary) {
    ++side_.passes;
    call(list, std::min(list, cached), summary);
  }
  void list(uint64_t tokens, bool too_long) {
    side_.fullest = std::max(side_.fullest, tokens);
    side_.too_long += too_long ? 1 : 0;
  }

  const Side& side() const { return side_; }

 private:
  static double money(uint64_t tokens, double price) {
    return static_cast<double>(tokens) / kMillion * price;
  }

  const Prices& prices_;
  Side side_;
};

// The list as the agent alone would have it, from call to call.
class Alone {
 public:
  Alone(const Transcript& transcript, const Replay& replay, Account& account)
      : transcript_(transcript), replay_(replay), account_(account) {
    const double window = static_cast<double>(replay.trigger) / kTriggerShare;
    keep_ = static_cast<uint64_t>(window * kKeepShare);
    summary_ = std::min<uint64_t>(limits::kSummaryTokens,
                                  static_cast<uint64_t>(window * limits::kSummaryShare));
  }

  uint64_t take(const Turn& turn) {
    uint64_t cached = fill_;
    const uint64_t grown = turn.without - std::min(turn.without, before_);
    before_ = turn.without;
    if (const Compaction* made = due(turn)) {
      const uint64_t summary = made->summary_bytes / kBytesPerToken;
      account_.pass(fill_, cached, summary);
      fill_ = summary;
      cached = 0;
    }
    fill_ += grown;
    if (transcript_.compactions.empty() && replay_.trigger > 0 && fill_ > replay_.trigger) {
      account_.pass(fill_, cached, summary_);
      // What came just now can not be summarised away unseen.
      fill_ = std::max(std::min(fill_, keep_), grown) + summary_;
      cached = 0;
    }
    account_.call(fill_, std::min(cached, fill_), turn.output);
    account_.list(fill_, replay_.window > 0 && fill_ > replay_.window);
    return fill_;
  }

 private:
  // A recorded summary that stands before this call.
  const Compaction* due(const Turn& turn) {
    const Compaction* found = nullptr;
    while (next_ < transcript_.compactions.size() &&
           transcript_.compactions[next_].message < turn.messages) {
      found = &transcript_.compactions[next_++];
    }
    return found;
  }

  const Transcript& transcript_;
  const Replay& replay_;
  Account& account_;
  uint64_t keep_ = 0;
  uint64_t summary_ = 0;
  uint64_t fill_ = 0;
  uint64_t before_ = 0;  // of the whole list at the last call
  size_t next_ = 0;
};

void take_prepared(const Turn& turn, uint64_t before, Account& account) {
  for (const Json& action : turn.actions) {
    if (string_at(action, "what") == "summary") {
      const auto summary = number_at(action, "tokens_after").value_or(limits::kSummaryTokens);
      account.pass(before, before, static_cast<uint64_t>(summary));
    }
  }
  account.call(turn.with, turn.cached, turn.output);
  account.list(turn.with, !turn.fits);
}

}  // namespace

Bill make_bill(const Transcript& transcript, const Replay& replay, const Prices& prices) {
  Bill bill;
  bill.recorded = !transcript.compactions.empty();
  Account without(prices);
  Account with(prices);
  Alone alone(transcript, replay, without);
  uint64_t before = 0;
  for (const Turn& turn : replay.turns) {
    bill.fill_without.push_back(alone.take(turn));
    take_prepared(turn, before, with);
    before = turn.with;
  }
  bill.without = without.side();
  bill.with = with.side();
  return bill;
}

}  // namespace ebla::tools
