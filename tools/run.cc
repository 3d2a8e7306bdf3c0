#include "tools/run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/json.h"
#include "tools/content.h"
#include "tools/help.h"
#include "tools/parse.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// The one place where an error becomes text and exit status.
int report(const Error& error, const Arguments& args, Streams& streams) {
  const CodeInfo& info = code_info(error.code);
  std::string text;
  if (args.json) {
    JsonWriter json;
    json.begin_object().key("error").begin_object();
    json.member("code", info.rpc_code).member("message", error.text);
    json.key("data").begin_object().member("name", info.name).member("retry", info.retry);
    json.end_object().end_object().end_object();
    text = json.take() + "\n";
  } else {
    text = fmt::format("ebla: {}\n", terminal_text(error.text));
    if (error.code == Code::usage) {
      text += args.verb == nullptr
                  ? "ebla: `ebla help` shows what there is\n"
                  : fmt::format("ebla: `ebla help {}` shows how it is used\n", args.verb->name);
    }
  }
  streams.err.note(text);
  const bool own = args.verb != nullptr && args.verb->exit_status != nullptr;
  return own ? args.verb->exit_status(error.code) : info.exit_status;
}

// A wrong command line must not swallow what another program has piped into it.
Result<void> pass_input_on(const Arguments& args, Streams& streams) {
  if (args.verb == nullptr || args.verb->passing != Passing::filter || !args.operands.empty()) {
    return {};
  }
  struct stat info{};
  if (fstat(streams.in, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) {
    return {};
  }
  return copy_stream(streams.in, streams.out);
}

Result<int> dispatch(const Arguments& args, Streams& streams, const Environment& env) {
  Call call{args, streams, env, {}};
  if (args.version) {
    return run_version(call);
  }
  if (args.help || args.verb == nullptr) {
    if (args.verb == nullptr && !args.help) {
      streams.err.note(overview());
      return fail(Code::usage, "a verb is missing");
    }
    auto shown = streams.out.write(args.verb == nullptr ? overview() : help_of(*args.verb));
    return shown ? Result<int>(kExitOk) : std::unexpected(shown.error());
  }
  call.socket = socket_path(args, env);
  return args.verb->handler(call);
}

}  // namespace

int run(std::span<const std::string> words, Streams& streams, const Environment& env) {
  Arguments args;
  if (auto parsed = parse_arguments(words, args); !parsed) {
    const int status = report(parsed.error(), args, streams);
    if (auto passed = pass_input_on(args, streams); !passed) {
      return report(passed.error(), args, streams);
    }
    return status;
  }
  const Result<int> status = dispatch(args, streams, env);
  return status ? *status : report(status.error(), args, streams);
}

}  // namespace ebla::tools
