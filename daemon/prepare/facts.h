// Small values of the context engine that outlive the process, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/services.h"

namespace ebla::daemon {

// nullopt: none, or it cannot be read now; nothing here is worth an error.
std::optional<std::string> read_fact(const Services& services, std::string_view name);
// Not waited for; on disk within seconds. A store that takes no writes loses it.
void write_fact(Services& services, std::string name, std::optional<std::string> value);

// Whole numbers in decimal, separated by one space.
std::string join_numbers(std::initializer_list<uint64_t> numbers);
// The n-th field of such a text, 0 where there is none.
uint64_t number_field(std::string_view text, size_t n);

}  // namespace ebla::daemon
