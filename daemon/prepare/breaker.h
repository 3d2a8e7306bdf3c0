// Keeps a summariser that fails from being asked again and again: three failures in a row open it
// for ten minutes, each further one for twice as long, up to six hours. Lives in the store's facts.
#pragma once

#include <string>
#include <string_view>

#include "daemon/services.h"

namespace ebla::daemon {

class Breaker {
 public:
  // `name`: what the summariser is known by, at most 400 bytes.
  Breaker(Services& services, std::string_view name);

  bool open() const;
  void failed();
  void succeeded();

 private:
  Services& services_;
  std::string fact_;  // its name; the value: failures, open until (seconds), last time (seconds)
};

}  // namespace ebla::daemon
