#include "daemon/control/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/control/reply.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kReceiveBytes = 256 * limits::kKiB;
constexpr std::string_view kHello = "hello";
constexpr std::string_view kDefaultSession = "default";

Greeting greeting_of(const Json& params) {
  Greeting out;
  if (const Json* client = params.find("client")) out.client = client->text;
  if (const Json* blobs = params.find("blobs")) out.wants_blobs = blobs->boolean;
  return out;
}

}  // namespace

ControlCore::ControlCore(ControlTarget& to, UniqueFd event, std::string spool_folder,
                         size_t descriptor_limit)
    : target(to),
      mailbox(std::move(event)),
      order([this](SessionOrder::Task task) { pool.post(std::move(task)); }),
      parsed(std::make_shared<Budget>(limits::kParsedTotalBytes)),
      lines(std::make_shared<Budget>(limits::kLineTotalBytes)),
      descriptors(std::make_shared<Budget>(descriptor_limit)),
      blobs{std::make_shared<Budget>(limits::kBlobMemoryTotalBytes), descriptors,
            std::move(spool_folder)},
      receive_buffer(kReceiveBytes) {}

Error stopping_error() {
  return {Code::unavailable, "the daemon is stopping: call again when it is back"};
}

std::vector<std::string> order_names(ControlTarget& target, const Request& request) {
  std::vector<std::string> names;
  if (request.method->order == rpc::Order::free) return names;
  const auto add = [&](std::string_view session) {
    names.push_back(
        fmt::format("{}:{}", request.peer.uid, target.canonical_session(request.peer, session)));
  };
  bool takes_session = false;
  for (const rpc::Param& param : request.method->params) {
    const bool session = param.type == rpc::Type::session;
    takes_session = takes_session || (session && param.name == "session");
    // session.open names the session that it makes or resumes by its key.
    if (!session && param.name != "key") continue;
    if (const Json* value = request.params.find(param.name)) add(value->text);
  }
  if (names.empty() && takes_session) add(kDefaultSession);
  return names;
}

Call::Call(std::shared_ptr<ControlCore> core, uint64_t connection, std::string id,
           bool notification, std::shared_ptr<Request> request)
    : core_(std::move(core)),
      connection_(connection),
      id_(std::move(id)),
      notification_(notification),
      is_hello_(request->method->name == kHello),
      request_(std::move(request)) {
  if (is_hello_) greeting_ = greeting_of(request_->params);
}

Call::~Call() {
  if (answered_) return;
  answer(core_->stopping
             ? std::unexpected(stopping_error())
             : fail(Code::internal_error, "the daemon dropped this call: its log says why"));
}

void Call::submit(std::unique_ptr<Call> call) {
  ControlCore& core = *call->core_;
  ++core.calls_under_way;
  std::vector<std::string> names = order_names(core.target, *call->request_);
  SessionOrder::Ticket ticket = 0;
  if (!names.empty()) ticket = call->ticket_ = core.order.next_ticket();
  auto task = [call = std::move(call)]() mutable { run(std::move(call)); };
  if (ticket == 0) {
    core.pool.post(std::move(task));
  } else {
    core.order.enter(ticket, std::move(names), std::move(task));
  }
}

void Call::run(std::unique_ptr<Call> call) {
  ControlCore& core = *call->core_;
  if (core.stopping) {
    call->answer(std::unexpected(stopping_error()));
    return;
  }
  std::shared_ptr<Request> request = std::move(call->request_);
  if (call->ticket_ != 0) {
    request->leave_order = [shared = call->core_, ticket = call->ticket_] {
      shared->order.leave(ticket);
    };
  }
  core.target.call(std::move(request), [call = std::move(call)](Result<Reply> result) mutable {
    call->answer(std::move(result));
  });
}

void Call::answer(Result<Reply> result) {
  if (std::exchange(answered_, true)) return;
  Answer out;
  out.ends_hello = is_hello_;
  if (!result) core_->errors.fetch_add(1, std::memory_order_relaxed);
  out.greets = is_hello_ && result.has_value();
  if (out.greets) out.greeting = std::move(greeting_);
  if (!notification_) {
    out.frame = result ? encode_result(id_, *result) : encode_error(id_, result.error());
  }
  // The loop outlives its mailbox's tasks, and the mailbox is a part of the core.
  core_->mailbox.post(
      [core = core_.get(), connection = connection_, out = std::move(out)]() mutable {
        --core->calls_under_way;
        core->deliver(connection, std::move(out));
      });
  if (ticket_ != 0) core_->order.leave(ticket_);
}

}  // namespace ebla::daemon
