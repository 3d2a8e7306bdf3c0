// Reading request bodies: what every `prepare` pays.
#include <benchmark/benchmark.h>

#include <string>

#include "context/formats/format.h"
#include "context/text/tokens.h"
#include "tests/bench/bodies.h"
#include "tests/kit/real_texts.h"

namespace {

using namespace ebla;
using namespace ebla::context;

constexpr size_t kBytes = 4'000'000;
constexpr size_t kMessages = bench::kLongListMessages;

const std::string prose = kit::prose(kBytes);
const std::string program = bench::program_text(kBytes);
const std::string rows = kit::numbered_rows(kBytes);
const std::string chinese = kit::chinese(kBytes / 3);

void measure(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(measure_part(text).tokens);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}
BENCHMARK_CAPTURE(measure, prose, prose);
BENCHMARK_CAPTURE(measure, code, program);
BENCHMARK_CAPTURE(measure, rows, rows);
BENCHMARK_CAPTURE(measure, chinese, chinese);

std::string body_of(size_t messages, FormatId format) {
  return bench::request_of(messages, bench::kLongListResultBytes, format);
}

void parse(benchmark::State& state, FormatId format) {
  const std::string body = body_of(kMessages, format);
  for (auto _ : state) benchmark::DoNotOptimize(format_of(format).parse(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(body.size()));
}
BENCHMARK_CAPTURE(parse, anthropic, FormatId::anthropic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse, openai, FormatId::openai)->Unit(benchmark::kMillisecond);

void parse_new_turn(benchmark::State& state, FormatId format) {
  const std::string before = body_of(kMessages, format);
  const std::string body = body_of(kMessages + 2, format);
  const Conversation earlier = *format_of(format).parse(before);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        parse_after(format_of(format), body, common_prefix(body, before), earlier));
  }
}
BENCHMARK_CAPTURE(parse_new_turn, anthropic, FormatId::anthropic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse_new_turn, openai, FormatId::openai)->Unit(benchmark::kMillisecond);

void detect(benchmark::State& state) {
  const std::string body = body_of(kMessages, FormatId::anthropic);
  for (auto _ : state) benchmark::DoNotOptimize(detect_format(body));
}
BENCHMARK(detect)->Unit(benchmark::kMillisecond);

}  // namespace
