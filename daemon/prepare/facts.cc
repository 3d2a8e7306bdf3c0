#include "daemon/prepare/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <utility>

namespace ebla::daemon {

std::optional<std::string> read_fact(const Services& services, std::string_view name) {
  if (auto written = services.facts->find(name)) return *std::move(written);
  auto value = services.store.fact(name);
  return value ? *std::move(value) : std::nullopt;
}

void write_fact(Services& services, std::string name, std::optional<std::string> value) {
  const uint64_t ticket = services.facts->begin(name, value);
  services.store.set_fact(
      name, std::move(value),
      {.durability = Durability::ordered, .origin = 0, .deadline = Deadline::max()},
      [facts = services.facts, name, ticket](Result<void>, const ChangeSet&) {
        facts->arrived(name, ticket);
      });
}

std::string join_numbers(std::initializer_list<uint64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

uint64_t number_field(std::string_view text, size_t n) {
  for (; n > 0; --n) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    text.remove_prefix(space + 1);
  }
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace ebla::daemon
