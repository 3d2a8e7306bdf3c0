#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "tools/decisions.h"
#include "tools/json_spans.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/input.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// The input, taken apart as far as the command line has to.
struct Body {
  std::string text;   // what the model is to get: the input without `window`
  bool list = false;  // a list of messages, no whole request
  std::optional<int64_t> window;
  std::string model;  // what `--model` puts in front of the text on its way to the daemon
};

Result<void> take_window(Body& body, const std::vector<MemberSpan>& members) {
  const MemberSpan* window = find_span(members, "window");
  if (window == nullptr) {
    return {};
  }
  Json number;
  number.kind = Json::Kind::number;
  number.text = window->value;
  body.window = number.as_int64();
  if (!body.window || *body.window < 0) {
    return fail(Code::invalid_params,
                fmt::format("window: {} is no number of tokens", printable(window->value)));
  }
  body.text = without_member(body.text, members, "window");
  return {};
}

Result<void> add_model(Body& body, const std::vector<MemberSpan>& members, const Call& call) {
  const std::string* model = call.args.find("model");
  if (model == nullptr) {
    return {};
  }
  if (find_span(members, "model") != nullptr) {
    return fail(Code::usage, "--model is for an input that names no model; this one does");
  }
  JsonWriter name;
  if (auto valid = add_text(name.begin_object(), "model", model, "--model"); !valid) {
    return valid;
  }
  body.model = name.end_object().take();
  body.model.pop_back();  // left open for what follows
  return {};
}

// What is no JSON at all is the daemon's to complain about.
Result<void> take_apart(Body& body, const Call& call) {
  const size_t start = body.text.find_first_not_of(" \t\r\n");
  body.list = start != std::string::npos && body.text[start] == '[';
  std::vector<MemberSpan> members;
  if (!body.list) {
    auto found = member_spans(body.text);
    if (!found) {
      return fail(Code::parse_error,
                  "the input is neither a request nor a list of messages: a "
                  "JSON object or array is needed");
    }
    members = std::move(*found);
  }
  if (auto added = add_model(body, members, call); !added) {
    return added;
  }
  return take_window(body, members);
}

// The bytes for the daemon: the text, or with a model an object that names it first.
std::string sent_text(const Body& body, const Call& call) {
  if (body.model.empty()) {
    return body.text;
  }
  if (body.list) {
    const std::string* format = call.args.find("format");
    const bool input = format != nullptr && *format == "responses";
    return fmt::format("{},\"{}\":{}}}", body.model, input ? "input" : "messages", body.text);
  }
  const size_t open = body.text.find('{') + 1;
  const size_t next = body.text.find_first_not_of(" \t\r\n", open);
  return fmt::format("{}{}{}", body.model, body.text[next] == '}' ? "" : ",",
                     std::string_view(body.text).substr(open));
}

Result<std::string> prepare_params(const Call& call, const Body& body) {
  const bool whole = !body.list || !body.model.empty();
  JsonWriter params;
  params.begin_object();
  for (const char* name : {"session", "format"}) {
    const std::string shown = fmt::format("--{}", name);
    if (auto added = add_text(params, name, call.args.find(name), shown); !added) {
      return std::unexpected(added.error());
    }
  }
  params.key(whole ? "request" : "messages").raw(R"({"$blob":0})");
  if (call.args.has("window")) {
    if (auto added = add_number(params, "window", call.args, "window", 0); !added) {
      return std::unexpected(added.error());
    }
  } else if (body.window) {
    params.member("window", *body.window);
  }
  if (call.args.has("dry-run")) {
    params.member("dry_run", true);
  }
  const bool list = body.list || call.args.json;
  params.member("reply", list ? "messages" : "request").end_object();
  return params.take();
}

Result<Reply> ask(const Call& call, const Body& body) {
  auto params = prepare_params(call, body);
  if (!params) {
    return std::unexpected(params.error());
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  const std::string sent = sent_text(body, call);
  Attachments attachments;
  attachments.blobs = {sent};
  return client->call("prepare", *params, attachments, call_timeout(sent.size()));
}

// The new list or request, without what was added on the way to the daemon.
Result<std::string> new_text(const Reply& reply, const Body& body, bool list) {
  auto text = reply.bytes(list ? "messages" : "request");
  if (!text || list || body.model.empty()) {
    return text;
  }
  const size_t behind = body.model.size() + (text->starts_with(body.model + ",") ? 1 : 0);
  return "{" + text->substr(std::min(behind, text->size()));
}

// Bytes as they are, but that line ends between the tokens become blanks.
Result<int> print_reply(Call& call, const Reply& reply, std::string messages) {
  Json rest = reply.result;
  std::erase_if(rest.members, [](const auto& member) { return member.first == "messages"; });
  std::ranges::replace_if(messages, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::string line = to_json(rest);
  line.pop_back();
  return print(call, fmt::format("{},\"messages\":{}}}\n", line, messages));
}

std::string notes_of(const Json& reply, bool with_actions) {
  std::string out;
  const Json* actions = reply.find("actions");
  if (with_actions && actions != nullptr) {
    for (const Json& action : actions->items) {
      out += fmt::format("ebla: {}\n", decision_line(action));
    }
  }
  if (const Json* tokens = reply.find("tokens"); tokens != nullptr) {
    const auto window = number_at(*tokens, "window").value_or(0);
    out += fmt::format("ebla: {} -> {} tokens of {}\n", text_at(*tokens, "before"),
                       text_at(*tokens, "after"),
                       window == 0 ? "an unknown window" : fmt::to_string(window));
  }
  if (const Json* fits = reply.find("fits"); fits != nullptr && !fits->boolean) {
    out += "ebla: this does not fit the window:";
    if (const Json* fills = reply.find("fills"); fills != nullptr) {
      for (const Json& fill : fills->items) {
        out += fmt::format(" {} {}", text_at(fill, "kind"), text_at(fill, "tokens"));
      }
    }
    out += "\n";
  }
  if (const Json* degraded = reply.find("degraded"); degraded != nullptr) {
    out += fmt::format("ebla: nothing new was decided: {} ({})\n", text_at(*degraded, "text"),
                       text_at(*degraded, "name"));
  }
  if (const Json* asked = reply.find("summary_request"); asked != nullptr) {
    out +=
        fmt::format("ebla: a summary is asked for{}; --json shows the request {}\n",
                    true_at(*asked, "must") ? " before this is sent" : "", text_at(*asked, "id"));
  }
  return out;
}

Result<int> show(Call& call, const Reply& reply, std::string text) {
  const bool dry = call.args.has("dry-run");
  call.streams.err.note(notes_of(reply.result, !dry && !call.args.json));
  if (call.args.json) {
    return print_reply(call, reply, std::move(text));
  }
  if (dry) {
    std::string plan;
    if (const Json* actions = reply.result.find("actions"); actions != nullptr) {
      for (const Json& action : actions->items) {
        plan += decision_line(action) + "\n";
      }
    }
    return print(call, plan);
  }
  Output& out = call.streams.out;
  if (auto written = out.write_content(text); !written) {
    return std::unexpected(written.error());
  }
  auto finished = out.finish_content();
  return finished ? Result<int>(kExitOk) : std::unexpected(finished.error());
}

// Nothing was decided, so the caller must still get what it may send.
Result<int> pass_on(Call& call, const Error& error, const Content& input, const Body& body) {
  Output& out = call.streams.out;
  Result<void> written;
  if (call.args.has("dry-run")) {
    return std::unexpected(error);
  }
  if (body.text.empty()) {
    written = input.copy_to(out);
  } else {
    written = out.write_content(body.text);
    if (written) {
      written = out.finish_content();
    }
  }
  if (!written) {
    return fail(written.error().code,
                fmt::format("{}; and then: {}", error.text, written.error().text));
  }
  return std::unexpected(error);
}

}  // namespace

Result<int> run_prepare(Call& call) {
  const auto input = read_input(call);
  if (!input) {
    return std::unexpected(input.error());
  }
  Body body;
  if (!call.args.has("session")) {
    return pass_on(call, {Code::usage, "--session KEY is needed: what was decided belongs to it"},
                   *input, body);
  }
  auto text = whole_text(*input, limits::kBodyBytes);
  if (!text) {
    return pass_on(call, text.error(), *input, body);
  }
  body.text = std::move(*text);
  if (auto taken = take_apart(body, call); !taken) {
    return pass_on(call, taken.error(), *input, body);
  }
  auto reply = ask(call, body);
  if (!reply) {
    return pass_on(call, reply.error(), *input, body);
  }
  auto answer = new_text(*reply, body, body.list || call.args.json);
  return answer ? show(call, *reply, std::move(*answer))
                : pass_on(call, answer.error(), *input, body);
}

}  // namespace ebla::tools
