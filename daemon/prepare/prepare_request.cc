#include "daemon/prepare/prepare_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "context/formats/format.h"
#include "daemon/methods/params.h"

namespace ebla::daemon {
namespace {

constexpr uint64_t kTokens = 1'000'000'000;
constexpr size_t kRevisionBytes = 256;
constexpr size_t kFocusBytes = 4 * limits::kKiB;

// The members of one object parameter.
class Members {
 public:
  Members(std::string_view name, const Json& object) : name_(name), object_(object) {}

  Result<void> only(std::initializer_list<std::string_view> taken) const {
    for (const auto& [member, value] : object_.members) {
      if (std::ranges::find(taken, member) != taken.end()) continue;
      return fail(Code::invalid_params, fmt::format("{}: unknown member \"{}\"; it takes {}", name_,
                                                    printable(member), fmt::join(taken, ", ")));
    }
    return {};
  }
  bool has(std::string_view member) const {
    const Json* value = object_.find(member);
    return value != nullptr && !value->is(Json::Kind::null);
  }
  Result<void> text(std::string_view member, size_t limit_bytes, std::string& out) const {
    if (!has(member)) return {};
    const Json& value = *object_.find(member);
    if (value.is(Json::Kind::string) && value.text.size() <= limit_bytes) {
      out = value.text;
      return {};
    }
    return fail(Code::invalid_params, fmt::format("{}.{}: a string of at most {} bytes is needed",
                                                  name_, member, limit_bytes));
  }
  Result<void> number(std::string_view member, uint64_t most, uint64_t& out) const {
    if (!has(member)) return {};
    const auto number = object_.find(member)->as_uint64();
    if (number && *number <= most) {
      out = *number;
      return {};
    }
    return fail(Code::invalid_params,
                fmt::format("{}.{}: an integer from 0 to {} is needed", name_, member, most));
  }
  Result<void> tokens(std::string_view member, uint64_t& out) const {
    return number(member, kTokens, out);
  }
  std::unexpected<Error> missing(std::string_view members) const {
    return fail(Code::invalid_params, fmt::format("{}: {} is needed", name_, members));
  }

 private:
  std::string_view name_;
  const Json& object_;
};

Result<void> read_usage(const MethodCall& call, PrepareRequest& request) {
  const Json* usage = call.param("usage");
  if (usage == nullptr) return {};
  const Members members("usage", *usage);
  if (auto known = members.only({"revision", "input", "cache_read", "cache_write", "output"});
      !known) {
    return known;
  }
  if (!members.has("revision") || !members.has("input")) {
    return members.missing("revision and input");
  }
  ReportedUsage reported;
  uint64_t cache_read = 0;
  uint64_t cache_write = 0;
  for (const Result<void>& read :
       {members.text("revision", kRevisionBytes, reported.revision),
        members.tokens("input", reported.input), members.tokens("cache_read", cache_read),
        members.tokens("cache_write", cache_write), members.tokens("output", reported.output)}) {
    if (!read) return read;
  }
  reported.input += cache_read + cache_write;
  request.usage = std::move(reported);
  return {};
}

Result<void> read_options(const MethodCall& call, PrepareRequest& request) {
  if (const Json* compact = call.param("compact")) {
    request.compact = compact->is(Json::Kind::object) || compact->boolean;
    const Members members("compact", *compact);
    if (auto known = members.only({"focus"}); !known) return known;
    if (auto read = members.text("focus", kFocusBytes, request.focus); !read) return read;
  }
  if (const Json* overflow = call.param("overflow")) {
    request.overflow = overflow->is(Json::Kind::object) || overflow->boolean;
    const Members members("overflow", *overflow);
    if (auto known = members.only({"limit"}); !known) return known;
    if (auto read = members.tokens("limit", request.overflow_limit); !read) return read;
  }
  return {};
}

Result<void> read_summary(const MethodCall& call, PrepareRequest& request) {
  const Json* summary = call.param("summary");
  if (summary == nullptr) return {};
  const Members members("summary", *summary);
  if (auto known = members.only({"id", "text", "error"}); !known) return known;
  if (!members.has("id") || members.has("text") == members.has("error")) {
    return members.missing("id, and one of text and error,");
  }
  HandedSummary handed;
  for (const Result<void>& read : {members.text("id", kRevisionBytes, handed.id),
                                   members.text("text", limits::kRequestLineBytes, handed.text),
                                   members.text("error", kFocusBytes, handed.error)}) {
    if (!read) return read;
  }
  if (members.has("error") && handed.error.empty()) handed.error = "no reason told";
  request.summary = std::move(handed);
  return {};
}

Result<void> read_lists(const MethodCall& call, PrepareRequest& request) {
  if (const Json* ids = call.param("put_away")) {
    for (const Json& id : ids->items) {
      if (!id.is(Json::Kind::string) || id.text.size() > limits::kCallIdBytes) {
        return fail(Code::invalid_params, "put_away: an array of ids of tool calls is needed");
      }
      request.put_away.push_back(id.text);
    }
  }
  if (const Json* pinned = call.param("pinned")) {
    for (const Json& index : pinned->items) {
      const auto number = index.as_uint64();
      if (!number || *number >= limits::kMessages) {
        return fail(Code::invalid_params, "pinned: an array of indexes of the list is needed");
      }
      request.pinned.push_back(static_cast<size_t>(*number));
    }
    std::ranges::sort(request.pinned);
    const auto repeats = std::ranges::unique(request.pinned);
    request.pinned.erase(repeats.begin(), repeats.end());
  }
  return {};
}

Result<void> read_prefix(const MethodCall& call, PrepareRequest& request) {
  request.remember = flag_param(call, "remember");
  const Json* prefix = call.param("prefix");
  if (prefix == nullptr) return {};
  const Members members("prefix", *prefix);
  if (auto known = members.only({"body", "bytes"}); !known) return known;
  if (!members.has("body") || !members.has("bytes")) return members.missing("body and bytes");
  SentBefore before;
  for (const Result<void>& read : {members.text("body", kRevisionBytes, before.body),
                                   members.number("bytes", limits::kBodyBytes, before.bytes)}) {
    if (!read) return read;
  }
  request.prefix = std::move(before);
  return {};
}

Result<void> read_choices(const MethodCall& call, PrepareRequest& request) {
  const bool whole = call.param("request") != nullptr;
  if (whole == (call.param("messages") != nullptr)) {
    return fail(Code::invalid_params, "exactly one of request and messages is needed");
  }
  request.body_name = whole ? "request" : "messages";
  auto format = text_param(call, "format", limits::kToolNameBytes);
  if (!format) return std::unexpected(format.error());
  request.format = *std::move(format);
  if (!request.format.empty() && context::find_format(request.format) == nullptr) {
    std::string names;
    for (const context::Format* one : context::formats()) {
      names += names.empty() ? "" : ", ";
      names += context::format_name(one->id());
    }
    return fail(Code::invalid_params,
                fmt::format("format: {} is none of {}", printable(request.format), names));
  }
  auto summariser = text_param(call, "summariser", limits::kPathBytes);
  if (!summariser) return std::unexpected(summariser.error());
  request.summariser = *std::move(summariser);
  auto form = text_param(call, "reply", limits::kToolNameBytes);
  if (!form) return std::unexpected(form.error());
  if (*form == "messages") {
    request.reply = ReplyForm::messages;
  } else if (*form == "request" && whole) {
    request.reply = ReplyForm::request;
  } else if (!form->empty() && *form != "splices") {
    return fail(Code::invalid_params,
                fmt::format("reply: {} is none of splices, messages{}", printable(*form),
                            whole ? ", request" : "; request needs a whole request"));
  }
  return {};
}

}  // namespace

Result<PrepareRequest> read_prepare_request(const MethodCall& call) {
  PrepareRequest request;
  for (auto* read :
       {read_choices, read_prefix, read_usage, read_options, read_summary, read_lists}) {
    if (auto done = read(call, request); !done) return std::unexpected(done.error());
  }
  auto window = integer_param(call, "window", 0, 0, kTokens);
  if (!window) return std::unexpected(window.error());
  request.window = static_cast<uint64_t>(*window);
  request.dry_run = flag_param(call, "dry_run");
  return request;
}

}  // namespace ebla::daemon
