// From the parameters of a search, of a method or of a tool, to a search.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "context/settings.h"
#include "daemon/find/glob_tree.h"
#include "daemon/find/grep.h"
#include "daemon/find/search.h"
#include "daemon/services.h"
#include "schema/base/json.h"

namespace ebla::daemon {

// Where a call searches: below the path it names, as find_path understands it; without one, what a
// session may see of the whole tree: what its own session tree and the default session have put
// away and said, and all that clients keep beside. Without a session everything that the caller may
// read.
Result<SearchScope> search_scope(const MethodCall& call, const Json& params,
                                 const std::optional<Session>& session);

// The call must stay while these are used. The time that a search has runs from here.
SearchTools search_tools(const MethodCall& call);

Result<GrepRequest> grep_request(const Json& params, const context::Settings& settings,
                                 const std::optional<Session>& session);
// A pattern that begins with the scope's own path means what is below it.
Result<Glob> glob_param(const Json& params, const SearchScope& scope, std::string_view name);
// The key that `after` holds; "" for none.
Result<std::string> key_param(const Json& params, std::string_view name);

}  // namespace ebla::daemon
