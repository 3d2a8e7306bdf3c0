#include "daemon/prepare/breaker.h"

#include <algorithm>
#include <utility>

#include "daemon/prepare/facts.h"

namespace ebla::daemon {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

uint64_t now_s(const Services& services) {
  return static_cast<uint64_t>(services.store.now_ns() / kSecond);
}

}  // namespace

Breaker::Breaker(Services& services, std::string_view name)
    : services_(services), fact_("breaker/" + std::string(name)) {}

bool Breaker::open() const {
  const auto value = read_fact(services_, fact_);
  return value && number_field(*value, 1) > now_s(services_);
}

void Breaker::failed() {
  const auto value = read_fact(services_, fact_).value_or("");
  const uint64_t failures = number_field(value, 0) + 1;
  uint64_t until = 0;
  uint64_t wait = number_field(value, 2);
  if (failures >= limits::kBreakerFailures) {
    wait = wait == 0 ? limits::kBreakerFirstS : std::min<uint64_t>(2 * wait, limits::kBreakerLastS);
    until = now_s(services_) + wait;
    ++services_.summaries.breakers;
  }
  write_fact(services_, fact_, join_numbers({failures, until, wait}));
}

void Breaker::succeeded() {
  if (read_fact(services_, fact_)) write_fact(services_, fact_, std::nullopt);
}

}  // namespace ebla::daemon
