#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "schema/base/limits.h"
#include "tools/decisions.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// One wait of --follow; then it looks whether anybody still reads.
constexpr int kFollowWaitMs = 10'000;

// While this lives a signal that ends a program ends it in good order. Each line is written whole
// by one call, so nothing is left to finish.
class EndOnSignal {
 public:
  EndOnSignal() {
    struct sigaction action{};
    action.sa_handler = [](int) { _exit(kExitOk); };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &action, &before_[i]);
    }
  }
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;
  ~EndOnSignal() {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

struct Query {
  std::optional<int64_t> after;
  std::optional<int64_t> limit;
  bool follow = false;
};

Result<Query> query_of(const Call& call) {
  auto after = call.args.number("after");
  if (!after) {
    return std::unexpected(after.error());
  }
  auto limit = call.args.number("limit", 1);
  if (!limit) {
    return std::unexpected(limit.error());
  }
  return Query{*after, *limit, call.args.has("follow")};
}

Result<std::string> params_of(const Call& call, const Query& query, bool first) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_text(params, "session", call.args.find("session"), "--session"); !added) {
    return std::unexpected(added.error());
  }
  if (query.after) {
    params.member("after", *query.after);
  }
  if (query.limit) {
    params.member("limit", *query.limit);
  }
  // What is there already comes at once.
  if (query.follow && !first) {
    params.member("wait_ms", kFollowWaitMs);
  }
  params.end_object();
  return params.take();
}

Result<void> print_events(Call& call, const Json& page) {
  const Json* events = page.find("events");
  if (events == nullptr) {
    return fail(Code::internal_error, "the daemon's answer lacks `events`");
  }
  std::string lines;
  for (const Json& event : events->items) {
    if (call.args.json) {
      lines += to_json(event) + "\n";
      continue;
    }
    lines += fmt::format("{} {} {} {}\n", text_at(event, "id"), format_time(text_at(event, "at")),
                         text_at(event, "session"), decision_line(event));
  }
  return call.streams.out.write(lines);
}

}  // namespace

Result<int> run_events(Call& call) {
  auto query = query_of(call);
  if (!query) {
    return std::unexpected(query.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  std::optional<EndOnSignal> signals;
  if (query->follow) {
    signals.emplace();
  }
  for (bool first = true;; first = false) {
    auto params = params_of(call, *query, first);
    if (!params) {
      return std::unexpected(params.error());
    }
    auto page = client->call("events", *params);
    if (!page) {
      return std::unexpected(page.error());
    }
    if (auto printed = print_events(call, page->result); !printed) {
      return std::unexpected(printed.error());
    }
    const auto next = number_at(page->result, "next");
    if (!query->follow || call.streams.out.abandoned()) {
      return kExitOk;
    }
    if (!next) {
      return fail(Code::internal_error, "the daemon's answer lacks `next`");
    }
    query->after = *next;
  }
}

}  // namespace ebla::tools
