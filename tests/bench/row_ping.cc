// P16: how long a ping takes while 500 MB are put away and summaries are made by a command; beside
// it the same daemon doing nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "schema/base/fd.h"
#include "tests/bench/bench_kit.h"
#include "tests/bench/bodies.h"

namespace ebla::bench {
namespace {

constexpr size_t kContentBytes = 50'000'000;
constexpr unsigned kContents = 10;  // every other one by a descriptor, the rest through the socket
constexpr int kPaceUs = 2'000;
constexpr unsigned kIdlePings = 500;
constexpr double kTargetMs = 20;
constexpr double kListShare = 0.97;  // of the window: a summary is due before the list is sent

// Reads what it is asked, thinks for a while, and answers as it should.
constexpr char kSummariser[] =
    "cat > /dev/null; sleep 0.5; for heading in Goal Constraints Done Open Decisions "
    "'Files and artifacts' 'Next steps'; do echo \"## $heading\"; "
    "echo '- the build was slow and its reason is looked for'; done";

struct Pings {
  Samples hello;   // a connection of its own, as `ebla ping` does it
  Samples status;  // on a connection that stands
};

void ping(const Daemon& daemon, tools::Client& client, Pings& pings) {
  pings.hello.add(1e3 * seconds([&] { must(tools::Client::connect(daemon.socket), "connect"); }));
  pings.status.add(1e3 * seconds([&] { must(client.call("status", "{}"), "status"); }));
  ::usleep(kPaceUs);
}

// Work beside the pings; what goes wrong in it is thrown by end().
class Beside {
 public:
  explicit Beside(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          try {
            work();
          } catch (...) {
            failure_ = std::current_exception();
          }
          finished_ = true;
        }) {}
  bool finished() const { return finished_; }
  void end() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> finished_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;
};

void put_away(const Daemon& daemon, const WorkFolder& folder) {
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  std::string text = distinct_text(kContentBytes, 16);
  for (unsigned i = 0; i < kContents; ++i) {
    text.replace(0, 8, fmt::format("{:08}", i));
    const bool by_descriptor = i % 2 == 1;
    const std::string params =
        fmt::format(R"({{"session":"contents","id":"c{}","content":{{"{}":0}}}})", i,
                    by_descriptor ? "$fd" : "$blob");
    UniqueFd file;
    if (by_descriptor) {
      file = must(open_file(folder / "p16-source", O_RDWR | O_CREAT | O_TRUNC, 0600), "open");
      if (!write_full(file.get(), text)) die("write");
      must(client.call("evict", params, {.blobs = {}, .fds = {file.get()}}), "evict");
    } else {
      must(client.call("evict", params, {.blobs = {text}, .fds = {}}), "evict");
    }
  }
}

uint64_t number(const Json& object, const char* name) {
  const Json* value = object.find(name);
  return value == nullptr ? 0 : value->as_uint64().value_or(0);
}

// Sessions whose list needs a summary before it is sent, one after the other.
void summarise(const Daemon& daemon, const std::atomic<bool>& enough, unsigned& made) {
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  const std::string body =
      request_of(kLongListMessages, kLongListResultBytes, context::FormatId::anthropic);
  const auto prepare = [&](const std::string& session, uint64_t window) {
    const std::string params =
        fmt::format(R"({{"session":"{}","request":{{"$blob":0}},"window":{}}})", session, window);
    return must(client.call("prepare", params, {.blobs = {body}, .fds = {}}), "prepare").result;
  };
  const Json counted = prepare("counting", kWideWindow);
  const uint64_t tokens = number(*counted.find("tokens"), "before");
  const auto window = static_cast<uint64_t>(static_cast<double>(tokens) / kListShare);
  JsonWriter settings;
  settings.begin_object().member("old_results", "off").member("summariser", kSummariser);
  const std::string text = settings.end_object().take();
  while (!enough) {
    const std::string session = fmt::format("summary-{}", made);
    must(client.call("session.open", fmt::format(R"({{"key":"{}","settings":{}}})", session, text)),
         "session.open");
    const Json reply = prepare(session, window);
    bool by_command = false;
    for (const Json& action : reply.find("actions")->items) {
      const Json* reason = action.find("reason");
      by_command = by_command || (action.find("what")->text == "summary" && reason != nullptr &&
                                  reason->text == "daemon");
    }
    if (!by_command) die("the command made no summary: " + to_json(*reply.find("actions")));
    ++made;
  }
}

void print_row(const char* what, const Samples& busy, const Samples& idle, unsigned summaries) {
  print({"P16", fmt::format("{} while 500 MB go in, {} summaries: p99", what, summaries),
         fmt::format("{:.2f} ms (p50 {:.2f})", busy.percentile(0.99), busy.median()),
         fmt::format("idle {:.2f} ms (p50 {:.2f})", idle.percentile(0.99), idle.median()),
         fmt::format("{:.2f} x", busy.percentile(0.99) / idle.percentile(0.99)),
         fmt::format("<= {:.0f} ms", kTargetMs), busy.percentile(0.99) <= kTargetMs});
}

}  // namespace

void row_ping(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p16");
  auto client = must(tools::Client::connect(daemon.socket), "connect");
  Pings idle;
  for (unsigned i = 0; i < kIdlePings; ++i) ping(daemon, client, idle);

  Pings busy;
  unsigned made = 0;
  std::atomic<bool> enough = false;
  Beside summaries([&] { summarise(daemon, enough, made); });
  Beside contents([&] { put_away(daemon, folder); });
  while (!contents.finished() && !summaries.finished()) ping(daemon, client, busy);
  enough = true;
  contents.end();
  summaries.end();
  print_row("hello", busy.hello, idle.hello, made);
  print_row("status", busy.status, idle.status, made);
}

}  // namespace ebla::bench
