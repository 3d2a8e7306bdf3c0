#include "schema/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "schema/base/json.h"

namespace ebla::log {
namespace {

std::atomic<Level> current_level{Level::info};

// syslog(3) priorities as journald reads them at the start of a line.
int priority(Level level) {
  switch (level) {
    case Level::debug:
      return 7;
    case Level::info:
      return 6;
    case Level::warning:
      return 4;
    case Level::error:
      return 3;
  }
  return 6;
}

spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    // Never destroyed: threads may log until the process is gone.
    auto* made = new spdlog::logger("ebla", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) {
  current_level.store(level, std::memory_order_relaxed);
}

Level parse_level(std::string_view name, Level fallback) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warning") return Level::warning;
  if (name == "error") return Level::error;
  return fallback;
}

bool enabled(Level level) {
  return level >= current_level.load(std::memory_order_relaxed);
}

void write(Level level, std::string_view line) {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const std::string text = printable(line);
  if (terminal) {
    logger().info("ebla: {}", text);
  } else {
    logger().info("<{}>ebla: {}", priority(level), text);
  }
}

}  // namespace ebla::log
