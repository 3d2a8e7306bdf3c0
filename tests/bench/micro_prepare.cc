// `prepare` with nothing to do in this process: what is left of it without the socket.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/method_table.h"
#include "daemon/services.h"
#include "schema/base/clock.h"
#include "schema/base/json_text.h"
#include "schema/sqlite/open.h"
#include "tests/bench/bench_kit.h"
#include "tests/bench/bodies.h"

namespace {

using namespace ebla;
using namespace ebla::daemon;

class Methods {
 public:
  Methods() : store_(open()), services_(*store_, no_mounts(), options_), table_(services_) {
    services_.uid = geteuid();
    services_.gid = getegid();
    services_.random = [this] { return ++seed_; };
  }

  // Processor seconds that it took. A body goes as the blob 0 of the call.
  double call(std::string_view method, std::string_view params, std::string body = "") {
    auto request = std::make_shared<Request>();
    request->method = rpc::find_method(method);
    request->params = bench::must(parse_json(params), "parameters");
    request->peer = {getpid(), geteuid(), getegid()};
    const uint64_t size = body.size();
    body.reserve(size + json_text::kReadAhead);  // as the socket does
    if (size > 0) request->blobs.push_back({std::move(body), {}, size});
    std::promise<Result<Reply>> promise;
    auto answered = promise.get_future();
    const double before = bench::processor_seconds(getpid());
    table_.call(std::move(request),
                [&promise](Result<Reply> reply) { promise.set_value(std::move(reply)); });
    bench::must(answered.get(), method);
    return bench::processor_seconds(getpid()) - before;
  }
  std::string new_session() {
    std::string name = fmt::format("s{}", ++sessions_);
    call("session.open", fmt::format(R"({{"key":"{}"}})", name));
    return name;
  }
  double prepare(const std::string& session, const std::string& body) {
    return call("prepare",
                fmt::format(R"({{"session":"{}","request":{{"$blob":0}},"window":{}}})", session,
                            bench::kWideWindow),
                body);
  }

 private:
  std::unique_ptr<Store> open() {
    sqlite::OpenOptions options;
    options.path = folder_ / "micro.db";
    options.clock = &clock_;
    return bench::must(sqlite::open_store(options), "open the store");
  }

  bench::WorkFolder folder_{"/var/tmp"};
  SystemClock clock_;
  std::unique_ptr<Store> store_;
  Options options_;
  Services services_;
  MethodTable table_;
  uint64_t seed_ = 0;
  uint64_t sessions_ = 0;
};

std::string long_list(size_t more) {
  return bench::request_of(bench::kLongListMessages + more, bench::kLongListResultBytes,
                           context::FormatId::anthropic);
}

void prepare_cold(benchmark::State& state) {
  Methods methods;
  const std::string body = long_list(0);
  for (auto _ : state) state.SetIterationTime(methods.prepare(methods.new_session(), body));
}
BENCHMARK(prepare_cold)->Unit(benchmark::kMillisecond)->UseManualTime();

constexpr size_t kTurns = 25;

// Each turn brings a call and its result.
void prepare_new_turn(benchmark::State& state) {
  Methods methods;
  std::vector<std::string> lists;
  for (size_t turn = 0; turn <= kTurns; ++turn) lists.push_back(long_list(2 * turn));
  const std::string session = methods.new_session();
  methods.prepare(session, lists[0]);
  size_t turn = 0;
  for (auto _ : state) {
    ++turn;
    state.SetIterationTime(methods.prepare(session, lists[turn]));
  }
}
BENCHMARK(prepare_new_turn)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(kTurns);

}  // namespace
