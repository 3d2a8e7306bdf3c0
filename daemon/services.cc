#include "daemon/services.h"

#include <utility>

namespace ebla::daemon {

void Services::end_waits() {
  stopping = true;
  events.stop();
  summariser.stop();
}

void look_for_events(Services& services) {
  if (services.events.empty()) return;
  BlockingPool::Job job = [&services] { services.events.poke(); };
  // Refused when the queue is full: the next commit looks again.
  static_cast<void>(services.blocking.submit(job));
}

void deliver_then(Services& services, const ChangeSet& changes,
                  std::move_only_function<void(bool)> then, std::shared_ptr<void> held) {
  look_for_events(services);
  if (changes.empty()) return then(true);
  struct Wait {
    std::atomic<bool> over = false;
    std::move_only_function<void(bool)> then;
  };
  auto wait = std::make_shared<Wait>();
  wait->then = std::move(then);
  const auto end = [](const std::shared_ptr<Wait>& which, bool delivered) {
    if (which->over.exchange(true)) return;
    auto next = std::move(which->then);
    next(delivered);
  };
  services.mounts.deliver(changes, [wait, end, held = std::move(held)]() mutable {
    held.reset();
    end(wait, true);
  });
  if (wait->over) return;
  services.delays.at(
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kDeliveryWaitMs),
      [wait, end] { end(wait, false); });
}

MethodCall::MethodCall(Services& services, std::shared_ptr<Request> request, Responder respond)
    : services_(&services), request_(std::move(request)), respond_(std::move(respond)) {}

MethodCall::~MethodCall() {
  if (respond_) refuse(Code::internal_error, "the call ended without an answer: report this");
}

const Json* MethodCall::param(std::string_view name) const {
  const Json* value = request_->params.find(name);
  return value == nullptr || value->is(Json::Kind::null) ? nullptr : value;
}

bool MethodCall::cancelled() const {
  return services_->stopping || (request_->cancelled && *request_->cancelled);
}

void MethodCall::leave_order() const {
  if (request_->leave_order) request_->leave_order();
}

uid_t MethodCall::uid() const {
  return acting_uid(*services_, request_->peer);
}

gid_t MethodCall::gid() const {
  return request_->peer.uid == 0 ? services_->gid : request_->peer.gid;
}

void MethodCall::reply(std::string result, std::vector<std::string> blobs) {
  std::exchange(respond_, nullptr)(Reply{std::move(result), std::move(blobs)});
}

void MethodCall::refuse(Error error) {
  std::exchange(respond_, nullptr)(std::unexpected(std::move(error)));
}

}  // namespace ebla::daemon
