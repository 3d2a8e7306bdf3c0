// What the verbs share: asking the daemon, and showing its answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/base/json.h"
#include "schema/base/result.h"
#include "tools/client.h"
#include "tools/verb.h"

namespace ebla::tools {

// One member of the parameters: from an option of the same meaning, or from an operand. Text that
// is not UTF-8 can not travel and is a usage error that names `shown`.
Result<void> add_text(JsonWriter& params, std::string_view member, const std::string* value,
                      std::string_view shown);
Result<void> add_number(JsonWriter& params, std::string_view member, const Arguments& args,
                        std::string_view option, int64_t smallest);

// A path as the user wrote it: one that does not start with a slash starts at the tree's root.
std::string tree_path(const std::string& written);
// The members "path" and "session", for the verbs that take a path and --session.
Result<void> add_path(JsonWriter& params, const Call& call, const std::string& written);

// The answer as one line of JSON; bytes that came as blobs stand in it as text, or as
// {"$base64":…} where they are no UTF-8.
Result<int> print_json(Call& call, const Reply& reply);
// Adds a page of a list, member `list`, to what came before; the rest of `whole` is the first
// page's.
void append_page(Reply& whole, Reply page, std::string_view list);
// Text to the standard output, then success.
Result<int> print(Call& call, std::string_view text);

// Members of an answer, in one line, escaped for a terminal; what is absent is empty.
std::string text_at(const Json& object, std::string_view member);
std::string scalar_text(const Json& value);
std::optional<int64_t> number_at(const Json& object, std::string_view member);
bool true_at(const Json& object, std::string_view member);

}  // namespace ebla::tools
