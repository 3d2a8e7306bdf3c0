// Requests as agents send them to a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "context/formats/format.h"

namespace ebla::bench {

// Lines of a program, as tools return them; always the same.
std::string program_text(size_t bytes);

// A whole request: a task, then calls with a few words and their results, which make up nearly all
// of its bytes. An odd number of messages ends with a result; more of them begin with the same
// ones.
std::string request_of(size_t messages, size_t result_bytes, context::FormatId format);

// A list of about 4 MB that ends with the result of a call.
inline constexpr size_t kLongListMessages = 2'001;
inline constexpr size_t kLongListResultBytes = 3'500;
inline constexpr uint64_t kWideWindow = 100'000'000;  // tokens: it leaves nothing to be done

}  // namespace ebla::bench
