// P10: `prepare` of a long list in which nothing is to be done, through the control socket: when
// the session's list is seen for the first time, and with one turn more than was seen before, sent
// whole and by what is new in it (finding that out included). Beside it the same bytes sent with a
// method that does not look at them, and one pass over them in memory.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "context/formats/format.h"
#include "schema/base/hash.h"
#include "tests/bench/bench_kit.h"
#include "tests/bench/bodies.h"

namespace ebla::bench {
namespace {

constexpr unsigned kRoundsEach = 4;  // one round of this row for so many of the settings
constexpr double kColdMs = 8;
constexpr double kWarmMs = 2;

// What a call takes, and what of it the daemon computes.
struct Cost {
  Samples ms;
  Samples processor_ms;
};

class Preparing {
 public:
  Preparing(const Daemon& daemon, tools::Client& client, size_t round)
      : daemon_(daemon), client_(client), session_(fmt::format("p10-{}", round)) {
    must(client.call("session.open", fmt::format(R"({{"key":"{}"}})", session_)), "session.open");
  }

  void whole(const std::string& body, Cost& cost) {
    measure(cost, [&] { return call(body, ""); });
    last_ = body;
  }
  void what_is_new(const std::string& body, Cost& cost) {
    measure(cost, [&] {
      const size_t same = context::common_prefix(body, last_);
      return call(std::string_view(body).substr(same),
                  fmt::format(R"(,"prefix":{{"body":"{}","bytes":{}}})", name_, same));
    });
    last_ = body;
  }

 private:
  Result<tools::Reply> call(std::string_view sent, std::string_view prefix) {
    return client_.call(
        "prepare",
        fmt::format(R"({{"session":"{}","request":{{"$blob":0}},"window":{},"remember":true{}}})",
                    session_, kWideWindow, prefix),
        {.blobs = {sent}, .fds = {}});
  }
  void measure(Cost& cost, const std::function<Result<tools::Reply>()>& prepare) {
    Result<tools::Reply> reply = fail(Code::internal_error, "");
    const double before = processor_seconds(daemon_.child.pid());
    const double ms = 1e3 * seconds([&] { reply = prepare(); });
    cost.processor_ms.add((processor_seconds(daemon_.child.pid()) - before) * 1e3);
    cost.ms.add(ms);
    const Json result = must(std::move(reply), "prepare").result;
    for (const char* name : {"splices", "actions"}) {
      const Json* done = result.find(name);
      if (done == nullptr || !done->items.empty()) die("prepare found something to do");
    }
    name_ = result.find("body")->text;
  }

  const Daemon& daemon_;
  tools::Client& client_;
  std::string session_;
  std::string last_;  // body
  std::string name_;  // by which the daemon remembers it
};

double ignored_ms(tools::Client& client, const std::string& body) {
  return 1e3 * seconds([&] {
           must(client.call("status", "{}", {.blobs = {body}, .fds = {}}), "status");
         });
}

void print_row(const char* what, const Cost& cost, const Samples& ignored, const Samples& scan,
               double target_ms) {
  print(
      {"P10", fmt::format("prepare, 2,000 messages, 4 MB, {}: p50", what),
       fmt::format("{:.2f} ms (daemon's CPU {:.2f})", cost.ms.median(), cost.processor_ms.median()),
       fmt::format("sent only {:.2f} ms, one pass {:.2f}", ignored.median(), scan.median()),
       fmt::format("{:.2f} x", cost.ms.median() / ignored.median()),
       fmt::format("<= {:.0f} ms", target_ms), cost.ms.median() <= target_ms});
}

}  // namespace

void row_prepare(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p10");
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  const std::string body =
      request_of(kLongListMessages, kLongListResultBytes, context::FormatId::anthropic);
  const std::string longer =
      request_of(kLongListMessages + 2, kLongListResultBytes, context::FormatId::anthropic);
  const std::string longest =
      request_of(kLongListMessages + 4, kLongListResultBytes, context::FormatId::anthropic);
  Cost cold;
  Cost warm;
  Cost added;
  Samples ignored;
  Samples scan;
  Hash128 hash;
  for (unsigned round = 0; round < settings.rounds / kRoundsEach; ++round) {
    Preparing preparing(daemon, client, round);
    preparing.whole(body, cold);
    preparing.whole(longer, warm);
    preparing.what_is_new(longest, added);
    ignored.add(ignored_ms(client, body));
    scan.add(1e3 * seconds([&] { hash = xxh3_128(body); }));
  }
  if (hash == Hash128{}) die("the pass over the body was left out");
  print_row("first time", cold, ignored, scan, kColdMs);
  print_row("one turn more, sent whole", warm, ignored, scan, kWarmMs);
  print_row("one turn more, sent alone", added, ignored, scan, kWarmMs);
}

}  // namespace ebla::bench
