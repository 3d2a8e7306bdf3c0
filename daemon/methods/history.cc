#include <fmt/format.h>

#include <memory>
#include <utility>

#include "daemon/content_source.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/prepare/history_section.h"
#include "daemon/prepare/known.h"
#include "daemon/prepare/repair.h"
#include "daemon/session_service.h"
#include "daemon/wait_for.h"

namespace ebla::daemon::methods {
namespace {

// The history grew between looking and writing: others write to it too.
constexpr int kAttempts = 5;

struct Append {
  MethodCall call;
  Asked asked;
};

Result<ReadList> read(Append& append) {
  auto name = text_param(append.call, "format", limits::kToolNameBytes);
  if (!name) return std::unexpected(name.error());
  const context::Format* format = name->empty() ? nullptr : context::find_format(*name);
  if (!name->empty() && format == nullptr) {
    return fail(Code::invalid_params,
                fmt::format("format: {} is none that is known", printable(*name)));
  }
  auto body = read_body(append.call, "messages");
  if (!body) return std::unexpected(body.error());
  return read_list(nullptr, format, std::make_shared<const std::string>(*std::move(body)),
                   std::nullopt);
}

Result<size_t> append_once(Work& work) {
  Store& store = work.services.store;
  std::vector<const context::WorkingMessage*> messages;
  messages.reserve(work.list.pins.size() + work.list.messages.size());
  for (const context::WorkingMessage& message : work.list.pins) messages.push_back(&message);
  for (const context::WorkingMessage& message : work.list.messages) messages.push_back(&message);
  context::SectionInput input;
  input.body = work.body();
  input.now_ns = store.now_ns();
  input.media_link = [](const context::WorkingMessage&, size_t) { return std::string(); };
  auto made = new_section(work.services, work.session().serial, messages, std::move(input));
  if (!made) return std::unexpected(made.error());
  if (made->keys.empty()) return size_t{0};
  const size_t appended = made->keys.size();
  HistoryPlan plan;
  plan.session = work.session().serial;
  plan.section = std::move(made->section.text);
  plan.section_lines = made->section.lines;
  plan.history_bytes = made->history_bytes;
  plan.keys = std::move(made->keys);
  auto grown = wait_for<HistoryState>(work.services, [&](Completion<HistoryState> done) {
    store.append_history(std::move(plan), durable_change(), std::move(done));
  });
  if (!grown) return std::unexpected(grown.error());
  note_written(work.services, work.session().serial, *made);
  return appended;
}

Result<size_t> append_all(Append& append) {
  auto list = read(append);
  if (!list) return std::unexpected(list.error());
  auto settings = settings_of(append.call.services(), append.asked.session);
  if (!settings) return std::unexpected(settings.error());
  append.asked.settings = *std::move(settings);
  Work work(append.call.services(), append.asked);
  work.sent = std::move(list->list);
  work.format = list->format;
  work.whole = true;
  repair(work);
  if (auto known = apply_known(work); !known) return std::unexpected(known.error());
  if (work.degraded) return std::unexpected(*work.degraded);
  Result<size_t> appended = fail(Code::conflict, "");
  for (int i = 0; i < kAttempts && !appended && appended.error().code == Code::conflict; ++i) {
    appended = append_once(work);
  }
  return appended;
}

void run(Append& append) {
  auto appended = append_all(append);
  if (!appended) return append.call.refuse(std::move(appended.error()));
  const Session& session = append.asked.session;
  const std::string path = history_path(session);
  const std::string host = host_path_of(append.call.services(), session, path);
  JsonWriter out;
  out.begin_object().member("path", path);
  if (!host.empty()) out.member("host_path", host);
  out.member("appended", static_cast<uint64_t>(*appended))
      .member("session", session.id)
      .end_object();
  append.call.reply(out.take());
}

}  // namespace

void history_append(MethodCall call) {
  with_session(std::move(call), Access::write, [](MethodCall ready, Session session) {
    auto append = std::make_shared<Append>(Append{std::move(ready), {}});
    append->asked.session = std::move(session);
    append->asked.uid = append->call.uid();
    append->asked.gid = append->call.gid();
    BlockingPool::Job job = [append] { run(*append); };
    if (auto taken = append->call.services().blocking.submit(job, true); !taken) {
      append->call.refuse(std::move(taken.error()));
    }
  });
}

}  // namespace ebla::daemon::methods
