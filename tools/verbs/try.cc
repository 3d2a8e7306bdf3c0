#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "tools/text.h"
#include "tools/try/bill.h"
#include "tools/try/replay.h"
#include "tools/try/report.h"
#include "tools/try/throwaway.h"
#include "tools/try/transcript.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

Result<void> take_price(const Arguments& args, std::string_view option, double& price) {
  const std::string* text = args.find(option);
  if (text == nullptr) {
    return {};
  }
  double value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= 0 && value < 1e9)) {
    return fail(Code::usage, fmt::format("--{} takes a price for a million tokens, such as 3 or "
                                         "0.30, not {}",
                                         option, text->empty() ? "nothing" : printable(*text)));
  }
  price = value;
  return {};
}

Result<Prices> prices_of(const Arguments& args) {
  Prices prices;
  for (const auto& [option, price] :
       {std::pair{"price-input", &prices.input}, std::pair{"price-cache-read", &prices.cache_read},
        std::pair{"price-cache-write", &prices.cache_write},
        std::pair{"price-output", &prices.output}}) {
    if (auto taken = take_price(args, option, *price); !taken) {
      return std::unexpected(taken.error());
    }
  }
  return prices;
}

Result<ReplayOptions> options_of(const Arguments& args) {
  ReplayOptions options;
  auto window = args.number("window");
  if (!window) {
    return std::unexpected(window.error());
  }
  options.window = *window;
  if (const std::string* model = args.find("model")) {
    options.model = *model;
  }
  return options;
}

// The daemon lives no longer than this.
Result<Replay> replay_apart(Call& call, const Transcript& transcript,
                            const ReplayOptions& options) {
  auto daemon = ThrowawayDaemon::start(call.env);
  if (!daemon) {
    return std::unexpected(daemon.error());
  }
  auto client = Client::connect(daemon->socket());
  auto played = client ? replay(*client, transcript, options) : std::unexpected(client.error());
  if (!daemon->end()) {
    call.streams.err.note(fmt::format("ebla: the temporary folder {} could not be removed\n",
                                      terminal_text(daemon->folder())));
  }
  return played;
}

}  // namespace

Result<int> run_try(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla try` needs the path of a transcript");
  }
  auto prices = prices_of(call.args);
  if (!prices) {
    return std::unexpected(prices.error());
  }
  auto options = options_of(call.args);
  if (!options) {
    return std::unexpected(options.error());
  }
  auto transcript = read_transcript(call.args.operands.front());
  if (!transcript) {
    return std::unexpected(transcript.error());
  }
  call.streams.err.note(left_out(*transcript));
  auto played = replay_apart(call, *transcript, *options);
  if (!played) {
    return std::unexpected(played.error());
  }
  const Bill bill = make_bill(*transcript, *played, *prices);
  if (call.args.json) {
    return print(call, report_json(*transcript, *played, bill, *prices) + "\n");
  }
  return print(call, report_text(*transcript, *played, bill, *prices, call.args.has("brief")));
}

}  // namespace ebla::tools
