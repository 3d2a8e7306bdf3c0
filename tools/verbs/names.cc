// rm, mkdir, mv.
#include <fmt/format.h>

#include "tools/places.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// Asks with the path of `written` and what `more` adds.
template <class F>
Result<Reply> ask(const Call& call, Client& client, std::string_view method,
                  const std::string& written, F more) {
  JsonWriter params;
  params.begin_object();
  if (auto added = add_path(params, call, written); !added) {
    return std::unexpected(added.error());
  }
  if (auto added = more(params); !added) {
    return std::unexpected(added.error());
  }
  params.end_object();
  return client.call(method, params.take());
}

// What had to stay, to the standard error. False: nothing had.
bool tell_kept(const Call& call, const Json& removed) {
  const Json* kept = removed.find("kept_paths");
  if (kept == nullptr) {
    return false;
  }
  std::string notes;
  for (const Json& one : kept->items) {
    notes += fmt::format("ebla: kept {}: {}\n", text_at(one, "path"), text_at(one, "reason"));
  }
  const auto all = number_at(removed, "kept").value_or(0);
  if (all > static_cast<int64_t>(kept->items.size())) {
    notes += fmt::format("ebla: kept {} in all\n", all);
  }
  call.streams.err.note(notes);
  return true;
}

}  // namespace

Result<int> run_rm(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla rm` needs the path of a file or folder in the tree");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  int status = kExitOk;
  for (const std::string& path : call.args.operands) {
    auto reply = ask(call, *client, "fs.delete", path, [](JsonWriter&) { return Result<void>(); });
    if (!reply) {
      return std::unexpected(reply.error());
    }
    if (tell_kept(call, reply->result)) {
      status = kExitFailure;
    }
    if (!call.args.json) {
      continue;
    }
    if (auto shown = print_json(call, *reply); !shown) {
      return shown;
    }
  }
  return status;
}

Result<int> run_mkdir(Call& call) {
  if (call.args.operands.empty()) {
    return fail(Code::usage, "`ebla mkdir` needs the path of a folder in the tree");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = ask(call, *client, "fs.mkdir", call.args.operands.front(), [&](JsonWriter& params) {
    if (call.args.has("parents")) {
      params.member("parents", true);
    }
    return add_text(params, "mode", call.args.find("mode"), "--mode");
  });
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : Result<int>(kExitOk);
}

Result<int> run_mv(Call& call) {
  if (call.args.operands.size() < 2) {
    return fail(Code::usage, "`ebla mv` needs two paths in the tree: the old and the new one");
  }
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  const std::string target = tree_path(call.args.operands[1]);
  auto reply = ask(call, *client, "fs.rename", call.args.operands[0], [&](JsonWriter& params) {
    if (call.args.has("replace")) {
      params.member("replace", true);
    }
    return add_text(params, "new_path", &target, "NEW");
  });
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : Result<int>(kExitOk);
}

}  // namespace ebla::tools
