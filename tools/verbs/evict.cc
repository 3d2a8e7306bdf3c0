#include <fmt/format.h>

#include "schema/base/json.h"
#include "schema/model.h"
#include "tools/content.h"
#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/input.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// The daemon would refuse it too, but as a call that failed, and this is a wrong command line.
Result<void> check_kind(const Call& call) {
  const std::string* kind = call.args.find("kind");
  if (kind == nullptr || *kind == artifact_kind_name(ArtifactKind::tool_result) ||
      *kind == artifact_kind_name(ArtifactKind::human)) {
    return {};
  }
  return fail(Code::usage, fmt::format("--kind is tool_result or human, not {}", printable(*kind)));
}

Result<std::string> evict_params(const Call& call, const Content& content) {
  if (auto checked = check_kind(call); !checked) {
    return std::unexpected(checked.error());
  }
  JsonWriter params;
  params.begin_object();
  params.key("content").raw(content_reference(content));
  for (const char* name : {"session", "id", "tool", "kind"}) {
    const std::string shown = fmt::format("--{}", name);
    if (auto added = add_text(params, name, call.args.find(name), shown); !added) {
      return std::unexpected(added.error());
    }
  }
  if (auto added = add_number(params, "limit_tokens", call.args, "limit-tokens", 1); !added) {
    return std::unexpected(added.error());
  }
  if (call.args.has("force")) {
    params.member("force", true);
  }
  params.end_object();
  return params.take();
}

struct Answer {
  Reply reply;
  std::optional<std::string> replacement;  // nullopt: the content stays
};

Result<Answer> ask(const Call& call, const Content& content) {
  if (content.error()) {
    return std::unexpected(*content.error());
  }
  auto params = evict_params(call, content);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = call_with(*client, "evict", *params, content);
  if (!reply) {
    return std::unexpected(reply.error());
  }
  const Json* evicted = reply->result.find("evicted");
  if (evicted == nullptr || !evicted->is(Json::Kind::boolean)) {
    return fail(Code::internal_error, "the daemon's answer does not say whether it put it away");
  }
  if (!evicted->boolean) {
    return Answer{std::move(*reply), std::nullopt};
  }
  auto replacement = reply->bytes("replacement");
  if (!replacement) {
    return std::unexpected(replacement.error());
  }
  return Answer{std::move(*reply), std::move(*replacement)};
}

Result<void> show(const Answer& answer, const Content& content, Output& out) {
  if (!answer.replacement) {
    return content.copy_to(out);
  }
  if (auto written = out.write_content(*answer.replacement); !written) {
    return written;
  }
  return out.finish_content();
}

}  // namespace

Result<int> run_evict(Call& call) {
  const auto input = read_input(call);
  if (!input) {
    return std::unexpected(input.error());
  }
  const Content& content = *input;
  auto answer = ask(call, content);
  if (!answer) {
    // Nothing was put away, so the caller must still get it.
    if (auto copied = content.copy_to(call.streams.out); !copied) {
      return fail(copied.error().code,
                  fmt::format("{}; and then: {}", answer.error().text, copied.error().text));
    }
    return std::unexpected(answer.error());
  }
  if (call.args.json) {
    return print_json(call, answer->reply);
  }
  if (auto shown = show(*answer, content, call.streams.out); !shown) {
    return std::unexpected(shown.error());
  }
  return kExitOk;
}

}  // namespace ebla::tools
