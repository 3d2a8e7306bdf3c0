#include "tools/verbs/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "schema/base/utf8.h"

namespace ebla::tools {
namespace {

// References to blobs become what they stand for.
void resolve_blobs(Json& value, const std::vector<std::string>& blobs) {
  for (auto& item : value.items) {
    resolve_blobs(item, blobs);
  }
  for (auto& [name, member] : value.members) {
    const Json* reference = member.find("$blob");
    const auto index = reference == nullptr ? std::nullopt : reference->as_uint64();
    if (!index || member.members.size() != 1 || *index >= blobs.size()) {
      resolve_blobs(member, blobs);
      continue;
    }
    Json text;
    text.kind = Json::Kind::string;
    if (utf8::is_valid(blobs[*index])) {
      text.text = blobs[*index];
      member = std::move(text);
    } else {
      text.text = base64(blobs[*index]);
      member.members = {{"$base64", std::move(text)}};
    }
  }
}

}  // namespace

Result<void> add_text(JsonWriter& params, std::string_view member, const std::string* value,
                      std::string_view shown) {
  if (value == nullptr) {
    return {};
  }
  if (!utf8::is_valid(*value)) {
    return fail(Code::usage, fmt::format("{} is not valid UTF-8: {}", shown, printable(*value)));
  }
  params.member(member, *value);
  return {};
}

Result<void> add_number(JsonWriter& params, std::string_view member, const Arguments& args,
                        std::string_view option, int64_t smallest) {
  auto number = args.number(option, smallest);
  if (!number) {
    return std::unexpected(number.error());
  }
  if (*number) {
    params.member(member, **number);
  }
  return {};
}

std::string tree_path(const std::string& written) {
  return written.starts_with('/') ? written : "/" + written;
}

Result<void> add_path(JsonWriter& params, const Call& call, const std::string& written) {
  const std::string path = tree_path(written);
  if (auto added = add_text(params, "path", &path, "the path"); !added) {
    return added;
  }
  return add_text(params, "session", call.args.find("session"), "--session");
}

Result<int> print_json(Call& call, const Reply& reply) {
  Json value = reply.result;
  resolve_blobs(value, reply.blobs);
  return print(call, to_json(value) + "\n");
}

void append_page(Reply& whole, Reply page, std::string_view list) {
  std::erase_if(page.result.members, [](const auto& member) { return member.first == "next"; });
  const auto find = [list](Json& object) -> Json* {
    const auto at = std::ranges::find(object.members, list, [](const auto& m) { return m.first; });
    return at == object.members.end() ? nullptr : &at->second;
  };
  Json* before = find(whole.result);
  Json* added = find(page.result);
  if (before == nullptr) {
    whole = std::move(page);
  } else if (added != nullptr) {
    std::ranges::move(added->items, std::back_inserter(before->items));
  }
}

Result<int> print(Call& call, std::string_view text) {
  if (auto written = call.streams.out.write(text); !written) {
    return std::unexpected(written.error());
  }
  return kExitOk;
}

std::string scalar_text(const Json& value) {
  switch (value.kind) {
    case Json::Kind::string:
      return printable(value.text);
    case Json::Kind::number:
      return value.text;
    case Json::Kind::boolean:
      return value.boolean ? "yes" : "no";
    case Json::Kind::null:
      return "-";
    default:
      return printable(to_json(value));
  }
}

std::string text_at(const Json& object, std::string_view member) {
  const Json* value = object.find(member);
  return value == nullptr ? "" : scalar_text(*value);
}

std::optional<int64_t> number_at(const Json& object, std::string_view member) {
  const Json* value = object.find(member);
  return value == nullptr ? std::nullopt : value->as_int64();
}

bool true_at(const Json& object, std::string_view member) {
  const Json* value = object.find(member);
  return value != nullptr && value->is(Json::Kind::boolean) && value->boolean;
}

}  // namespace ebla::tools
