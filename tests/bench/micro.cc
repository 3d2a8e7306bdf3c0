// Parts in isolation: bytes per second of the passes that see every byte.
#include <benchmark/benchmark.h>

#include <string>

#include "context/item/scan.h"
#include "context/text/tokens.h"
#include "schema/base/hash.h"
#include "schema/base/json.h"
#include "schema/base/utf8.h"
#include "tests/kit/real_texts.h"

namespace {

using namespace ebla;

constexpr size_t kCharacters = 4'000'000;

void report(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void scan(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    context::ContentScan scan({});
    scan.feed(text);
    scan.finish();
    benchmark::DoNotOptimize(scan.sums().class_sum);
  }
  report(state, text);
}

void tokens(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(context::estimate_tokens(text));
  report(state, text);
}

void hash(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(xxh3_128(text));
  report(state, text);
}

void validate(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(utf8::is_valid(text));
  report(state, text);
}

void write_json(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    JsonWriter out;
    out.string(text);
    benchmark::DoNotOptimize(out.take());
  }
  report(state, text);
}

void read_json(benchmark::State& state, const std::string& text) {
  JsonWriter out;
  out.string(text);
  const std::string json = out.take();
  for (auto _ : state) benchmark::DoNotOptimize(parse_json(json));
  report(state, json);
}

const std::string rows = kit::numbered_rows(kCharacters);
const std::string line = kit::one_line(kCharacters);
const std::string chinese = kit::chinese(kCharacters / 3);

BENCHMARK_CAPTURE(scan, rows, rows);
BENCHMARK_CAPTURE(scan, one_line, line);
BENCHMARK_CAPTURE(scan, chinese, chinese);
BENCHMARK_CAPTURE(tokens, rows, rows);
BENCHMARK_CAPTURE(tokens, one_line, line);
BENCHMARK_CAPTURE(tokens, chinese, chinese);
BENCHMARK_CAPTURE(hash, rows, rows);
BENCHMARK_CAPTURE(validate, rows, rows);
BENCHMARK_CAPTURE(validate, chinese, chinese);
BENCHMARK_CAPTURE(write_json, rows, rows);
BENCHMARK_CAPTURE(read_json, rows, rows);

}  // namespace

BENCHMARK_MAIN();
