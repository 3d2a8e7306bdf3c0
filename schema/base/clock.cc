#include "schema/base/clock.h"

namespace ebla {

int64_t SystemClock::wall_ns() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace ebla
