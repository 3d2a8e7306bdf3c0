// fs.write: a file as a whole, or more at its end.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/content_intake.h"
#include "daemon/content_source.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/wait_for.h"
#include "daemon/write/append.h"
#include "daemon/write/put.h"
#include "daemon/write/target.h"

namespace ebla::daemon::methods {
namespace {

constexpr uint32_t kFileMode = 0644;

// A call as far as it has come.
struct Writing {
  MethodCall call;
  std::optional<Session> session;
  Target target;
  PutOptions options;
  ContentSource source;
};

Result<PutOptions> put_options(const MethodCall& call) {
  PutOptions options;
  auto mode = mode_param(call, kFileMode);
  if (!mode) return std::unexpected(std::move(mode.error()));
  options.mode = *mode;
  if (const Json* etag = call.param("if_etag")) options.if_etag = etag->text;
  return options;
}

void answer(Writing& writing, const Result<PutOutcome>& outcome) {
  if (!outcome) return writing.call.refuse(outcome.error());
  JsonWriter out;
  out.begin_object();
  write_node(out, writing.call, writing.session, writing.target.path, outcome->attr);
  out.member("created", outcome->created);
  if (outcome->offset) out.member("offset", *outcome->offset);
  out.end_object();
  writing.call.reply(out.take());
}

void write_source(Writing& writing) {
  if (flag_param(writing.call, "append")) {
    return answer(writing, append(writing.call, writing.target, writing.options, writing.source));
  }
  auto intake = take_in(writing.call.services().store, writing.source, {});
  if (!intake) return writing.call.refuse(std::move(intake.error()));
  answer(writing, put(writing.call, writing.target, writing.options, std::move(intake->content)));
}

void open_and_write(MethodCall call, const std::optional<Session>& session) {
  const Json* content = call.param("content");
  if (content->is(Json::Kind::array)) {
    return call.refuse(Code::invalid_params,
                       "content: a string or a reference to bytes is needed, not blocks");
  }
  auto options = put_options(call);
  if (!options) return call.refuse(std::move(options.error()));
  auto target = find_target(call, call.param("path")->text, session, flag_param(call, "parents"));
  if (!target) return call.refuse(std::move(target.error()));
  auto good = check_put(call, *target, *options);
  if (good) good = make_missing(call, *target, kFolderMode);
  if (!good) return call.refuse(std::move(good.error()));
  auto source = open_content(call);
  if (!source) return call.refuse(std::move(source.error()));
  auto writing = std::make_shared<Writing>(Writing{std::move(call), session, *std::move(target),
                                                   *std::move(options), *std::move(source)});
  if (!writing->source.endless) return write_source(*writing);
  BlockingPool::Job job = [writing] { write_source(*writing); };
  if (auto taken = writing->call.services().blocking.submit(job, true); !taken) {
    writing->call.refuse(std::move(taken.error()));
  }
}

}  // namespace

void fs_write(MethodCall call) {
  on_writing_thread(std::move(call), open_and_write);
}

}  // namespace ebla::daemon::methods
