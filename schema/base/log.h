// One line per event, written by edges only: level, operation, subject, error. Goes to stderr with
// the "<N>" prefixes that journald reads when stderr is not a terminal. Control bytes are escaped.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace ebla::log {

enum class Level { debug, info, warning, error };

void set_level(Level level);
Level parse_level(std::string_view name, Level fallback);
bool enabled(Level level);
void write(Level level, std::string_view line);  // thread safe

template <class... A>
void debug(fmt::format_string<A...> format, A&&... a) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<A>(a)...));
}
template <class... A>
void info(fmt::format_string<A...> format, A&&... a) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<A>(a)...));
}
template <class... A>
void warning(fmt::format_string<A...> format, A&&... a) {
  if (enabled(Level::warning)) write(Level::warning, fmt::format(format, std::forward<A>(a)...));
}
template <class... A>
void error(fmt::format_string<A...> format, A&&... a) {
  if (enabled(Level::error)) write(Level::error, fmt::format(format, std::forward<A>(a)...));
}

}  // namespace ebla::log
