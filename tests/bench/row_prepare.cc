// P10: `prepare` of a long list in which nothing is to be done, through the control socket: when
// the session's list is seen for the first time, and with one turn more than was seen before.
// Beside it the same bytes sent with a method that does not look at them, and one pass over them in
// memory.
#include <fmt/format.h>

#include <string>

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

void prepare(const Daemon& daemon, tools::Client& client, const std::string& params,
             const std::string& body, Cost& cost) {
  Result<tools::Reply> reply = fail(Code::internal_error, "");
  const double before = processor_seconds(daemon.child.pid());
  const double ms =
      1e3 * seconds([&] { reply = client.call("prepare", params, {.blobs = {body}, .fds = {}}); });
  cost.processor_ms.add((processor_seconds(daemon.child.pid()) - before) * 1e3);
  cost.ms.add(ms);
  const Json result = must(std::move(reply), "prepare").result;
  for (const char* name : {"splices", "actions"}) {
    const Json* done = result.find(name);
    if (done == nullptr || !done->items.empty()) die("prepare found something to do");
  }
}

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
  Cost cold;
  Cost warm;
  Samples ignored;
  Samples scan;
  Hash128 hash;
  for (unsigned round = 0; round < settings.rounds / kRoundsEach; ++round) {
    must(client.call("session.open", fmt::format(R"({{"key":"p10-{}"}})", round)), "session.open");
    const std::string params = fmt::format(
        R"({{"session":"p10-{}","request":{{"$blob":0}},"window":{}}})", round, kWideWindow);
    prepare(daemon, client, params, body, cold);
    prepare(daemon, client, params, longer, warm);
    ignored.add(ignored_ms(client, body));
    scan.add(1e3 * seconds([&] { hash = xxh3_128(body); }));
  }
  if (hash == Hash128{}) die("the pass over the body was left out");
  print_row("first time", cold, ignored, scan, kColdMs);
  print_row("one turn more", warm, ignored, scan, kWarmMs);
}

}  // namespace ebla::bench
