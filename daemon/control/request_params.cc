#include "daemon/control/request_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "schema/base/edit_distance.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

constexpr size_t kQuotedBytes = 64;
constexpr size_t kNearNameBytes = 40;  // longer names are near none of ours

std::string_view type_name(rpc::Type type) {
  switch (type) {
    case rpc::Type::string:
      return "a string";
    case rpc::Type::integer:
      return "an integer of 64 bits, written without fraction or exponent";
    case rpc::Type::boolean:
      return "true or false";
    case rpc::Type::object:
      return "an object";
    case rpc::Type::array:
      return "an array";
    case rpc::Type::arguments:
      return "an object, or its JSON text in a string";
    case rpc::Type::content:
      return "a string, an array of blocks, {\"$blob\":i}, {\"$fd\":i} or {\"$path\":\"/abs\"}";
    case rpc::Type::session:
      return "a string, the id or key of a session";
    case rpc::Type::body:
      return "an object or an array, {\"$blob\":i}, {\"$fd\":i} or {\"$path\":\"/abs\"}";
    case rpc::Type::option:
      return "true, false or an object";
  }
  return "of another type";
}

std::string_view kind_name(const Json& value) {
  switch (value.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "a boolean";
    case Json::Kind::number:
      return "a number";
    case Json::Kind::string:
      return "a string";
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
  }
  return "something else";
}

std::string wrong(const rpc::Param& param, std::string_view why) {
  return fmt::format("parameter {}: {}", quoted(param.name), why);
}

// {"$blob":i}, {"$fd":i} or {"$path":"/abs"}, and nothing beside it.
std::optional<std::string> check_reference(const rpc::Param& param, const Json& value,
                                           size_t blob_count, size_t& fds_needed) {
  const auto other = [&] {
    return wrong(param, fmt::format("must be {}, not another object", type_name(param.type)));
  };
  if (value.members.size() != 1) return other();
  const auto& [name, target] = value.members.front();
  if (name == "$blob") {
    const auto index = target.as_uint64();
    if (index && *index < blob_count) return std::nullopt;
    return wrong(param, fmt::format("$blob must be an index below {}, the number of blobs that "
                                    "follow this line",
                                    blob_count));
  }
  if (name == "$fd") {
    const auto index = target.as_uint64();
    if (!index || *index >= limits::kFdsPerRequest) {
      return wrong(param, fmt::format("$fd must be an index below {}", limits::kFdsPerRequest));
    }
    fds_needed = std::max(fds_needed, static_cast<size_t>(*index) + 1);
    return std::nullopt;
  }
  if (name == "$path") {
    const bool absolute = target.is(Json::Kind::string) && target.text.starts_with('/');
    if (absolute && target.text.find('\0') == std::string::npos) return std::nullopt;
    return wrong(param, "$path must be an absolute path of a file");
  }
  return other();
}

std::optional<std::string> check_type(const rpc::Param& param, const Json& value, size_t blob_count,
                                      size_t& fds_needed) {
  bool right = false;
  switch (param.type) {
    case rpc::Type::string:
      right = value.is(Json::Kind::string);
      break;
    case rpc::Type::integer:
      right = value.as_int64().has_value();
      break;
    case rpc::Type::boolean:
      right = value.is(Json::Kind::boolean);
      break;
    case rpc::Type::object:
      right = value.is(Json::Kind::object);
      break;
    case rpc::Type::array:
      right = value.is(Json::Kind::array);
      break;
    case rpc::Type::arguments:
      right = value.is(Json::Kind::object) || value.is(Json::Kind::string);
      break;
    case rpc::Type::content:
      if (value.is(Json::Kind::object)) {
        return check_reference(param, value, blob_count, fds_needed);
      }
      right = value.is(Json::Kind::string) || value.is(Json::Kind::array);
      break;
    case rpc::Type::body:
      if (is_reference(value)) return check_reference(param, value, blob_count, fds_needed);
      right = value.is(Json::Kind::object) || value.is(Json::Kind::array);
      break;
    case rpc::Type::option:
      right = value.is(Json::Kind::object) || value.is(Json::Kind::boolean);
      break;
    case rpc::Type::session:
      right = value.is(Json::Kind::string);
      if (right && value.text.size() > limits::kSessionKeyBytes) {
        return wrong(param, fmt::format("a session's id or key has at most {} bytes",
                                        limits::kSessionKeyBytes));
      }
      break;
  }
  if (right) return std::nullopt;
  if (value.is(Json::Kind::number)) {
    return wrong(param, fmt::format("must be {}, not the number {}", type_name(param.type),
                                    value.text.substr(0, kQuotedBytes)));
  }
  return wrong(param, fmt::format("must be {}, not {}", type_name(param.type), kind_name(value)));
}

std::string taken_by(const rpc::Method& method) {
  if (method.params.empty()) return fmt::format("{} takes none", method.name);
  std::string names;
  for (const rpc::Param& param : method.params) {
    names += names.empty() ? "" : ", ";
    names += param.name;
  }
  return fmt::format("{} takes {}", method.name, names);
}

}  // namespace

// A body is an object too: only one with that single member is none.
bool is_reference(const Json& value) {
  return value.is(Json::Kind::object) && value.members.size() == 1 &&
         value.members.front().first.starts_with('$');
}

std::string quoted(std::string_view text) {
  if (text.size() <= kQuotedBytes) return '\'' + printable(text) + '\'';
  return '\'' + printable(text.substr(0, utf8::floor_boundary(text, kQuotedBytes))) + "…'";
}

std::optional<Error> check_params(const rpc::Method& method, const Json& params, size_t blob_count,
                                  size_t& fds_needed) {
  const auto refuse = [](std::string text) { return Error{Code::invalid_params, std::move(text)}; };
  std::vector<bool> given(method.params.size());
  for (const auto& [name, value] : params.members) {
    const auto param = std::ranges::find(method.params, std::string_view(name), &rpc::Param::name);
    if (param == method.params.end()) {
      return refuse(fmt::format("unknown parameter {}: {}", quoted(name), taken_by(method)));
    }
    const auto at = static_cast<size_t>(param - method.params.begin());
    if (given[at]) return refuse(wrong(*param, "is given twice"));
    // A parameter that is null counts as absent.
    if (value.is(Json::Kind::null)) continue;
    given[at] = true;
    if (auto fault = check_type(*param, value, blob_count, fds_needed)) return refuse(*fault);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const rpc::Param& param = method.params[i];
    if (param.required && !given[i]) {
      return refuse(wrong(param, fmt::format("is missing: {} needs it, and it must be {}",
                                             method.name, type_name(param.type))));
    }
  }
  return std::nullopt;
}

Error unknown_method(std::string_view name) {
  std::string text = fmt::format("unknown method {}", quoted(name));
  if (name.size() <= kNearNameBytes) {
    const auto near = std::ranges::min_element(rpc::methods(), {}, [&](const rpc::Method& method) {
      return edit_distance(name, method.name);
    });
    const size_t most = std::max<size_t>(2, near->name.size() / 3);
    if (edit_distance(name, near->name) <= most)
      text += fmt::format(": did you mean {}?", near->name);
  }
  return {Code::method_not_found, std::move(text)};
}

}  // namespace ebla::daemon
