#include <fmt/format.h>

#include <chrono>

#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {

Result<int> run_ping(Call& call) {
  const auto start = std::chrono::steady_clock::now();
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (call.args.json) {
    return print(call, to_json(client->hello()) + "\n");
  }
  const Json* server = client->hello().find("server");
  return print(call, fmt::format("{} {} answers at {} after {:.2f} ms\n",
                                 server == nullptr ? "a daemon" : text_at(*server, "name"),
                                 server == nullptr ? "" : text_at(*server, "version"),
                                 terminal_text(call.socket), took.count()));
}

}  // namespace ebla::tools
