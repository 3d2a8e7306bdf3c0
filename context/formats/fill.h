// One message again, with the contents that a provider refuses in it set right.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "context/formats/table.h"

namespace ebla::context {

// Contents of a wrong type become text or blocks; the parts `empty`, and a message without any,
// get a placeholder. All other bytes stay.
std::string filled_message(const FormatBase& format, std::string_view body, const Message& message,
                           std::span<const size_t> empty);
// The message with the placeholder in place of all that it holds.
std::string placeholder_message(const FormatBase& format, std::string_view body,
                                const Message& message);

}  // namespace ebla::context
