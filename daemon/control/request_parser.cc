#include "daemon/control/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/control/request_params.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

// What a request costs beyond its tree: queues, counters, the reply's head.
constexpr size_t kFixedCostBytes = 1024;

constexpr std::array<std::string_view, 5> kMembers = {"jsonrpc", "id", "method", "params", "blobs"};

size_t tree_bytes(const Json& value) {
  size_t total = sizeof(Json) + value.text.capacity();
  total += (value.items.capacity() - value.items.size()) * sizeof(Json);
  for (const Json& item : value.items) total += tree_bytes(item);
  constexpr size_t kMember = sizeof(std::pair<std::string, Json>);
  total += (value.members.capacity() - value.members.size()) * kMember;
  for (const auto& [name, member] : value.members) {
    total += sizeof(std::string) + name.capacity() + tree_bytes(member);
  }
  return total;
}

void refuse(ParsedRequest& out, Code code, std::string text) {
  if (!out.refusal) out.refusal = Error{code, std::move(text)};
}

// A line that is no request may have meant that blobs follow. (Inside a string a quote is escaped,
// so contents that speak of "blobs" do not match.)
bool mentions_blobs(std::string_view line) {
  return line.find("\"blobs\"") != std::string_view::npos;
}

void read_id(const Json& root, ParsedRequest& out) {
  const Json* id = root.find("id");
  if (id == nullptr) {
    out.notification = true;
    return;
  }
  switch (id->kind) {
    case Json::Kind::null:
      break;
    case Json::Kind::number:
      out.id = id->text;
      break;
    case Json::Kind::string:
      out.id = to_json(*id);
      break;
    default:
      refuse(out, Code::invalid_request, "id must be a string, a number or null");
  }
}

void read_blobs(const Json& root, ParsedRequest& out) {
  const Json* blobs = root.find("blobs");
  if (blobs == nullptr) return;
  const auto lose = [&](Code code, std::string text) {
    out.blobs.clear();
    out.framing_lost = true;
    out.refusal.reset();  // of several faults the one that ends the connection is named
    refuse(out, code, std::move(text));
  };
  constexpr std::string_view kSizes = "blobs must be an array of sizes in bytes";
  if (!blobs->is(Json::Kind::array)) return lose(Code::invalid_request, std::string(kSizes));
  uint64_t total = 0;
  out.blobs.reserve(blobs->items.size());
  for (const Json& item : blobs->items) {
    const auto size = item.as_uint64();
    if (!size) return lose(Code::invalid_request, std::string(kSizes));
    if (*size > limits::kBlobBytes || total > limits::kBlobBytes - *size) {
      return lose(Code::too_large,
                  fmt::format("the blobs of a request have at most {} bytes", limits::kBlobBytes));
    }
    total += *size;
    out.blobs.push_back(*size);
  }
  if (out.blobs.size() > limits::kBlobsPerRequest) {
    refuse(out, Code::too_large,
           fmt::format("a request has at most {} blobs", limits::kBlobsPerRequest));
  }
}

// Goes on behind the first fault: two "blobs" must be seen wherever they are.
void check_members(const Json& root, ParsedRequest& out) {
  std::array<bool, kMembers.size()> given{};
  for (const auto& [name, value] : root.members) {
    const auto at = static_cast<size_t>(std::ranges::find(kMembers, name) - kMembers.begin());
    const bool known = at < kMembers.size();
    const bool twice = known && std::exchange(given[at], true);
    // Which of two lists of sizes holds cannot be told.
    if (twice && name == "blobs") out.framing_lost = true;
    if (out.refusal) continue;
    if (!known) {
      refuse(out, Code::invalid_request,
             fmt::format("unknown member {}: a request has jsonrpc, id, method, params, blobs; "
                         "what a method takes goes into params",
                         quoted(name)));
    } else if (twice) {
      refuse(out, Code::invalid_request, fmt::format("member {} is given twice", name));
    }
  }
}

// What goes to a model is never written anew: a body is handed on as the bytes that were sent.
void keep_bodies(std::string_view line, size_t params_at, ParsedRequest& out) {
  std::vector<std::string_view> sources;
  for (size_t i = 0; i < out.params.members.size(); ++i) {
    auto& [name, value] = out.params.members[i];
    const auto param = std::ranges::find(out.method->params, name, &rpc::Param::name);
    if (param->type != rpc::Type::body || is_reference(value)) continue;
    if (sources.empty()) sources = member_sources(member_sources(line)[params_at]);
    value.text = sources[i];
    value.members = {};
    value.items = {};
  }
}

void read_call(std::string_view line, Json& root, ParsedRequest& out) {
  const Json* version = root.find("jsonrpc");
  if (version == nullptr || !version->is(Json::Kind::string) || version->text != "2.0") {
    return refuse(out, Code::invalid_request, "a request has \"jsonrpc\":\"2.0\"");
  }
  const Json* name = root.find("method");
  if (name == nullptr || !name->is(Json::Kind::string)) {
    return refuse(out, Code::invalid_request, "method must be a string, the name of a method");
  }
  out.method = rpc::find_method(name->text);
  if (out.method == nullptr) {
    if (!out.refusal) out.refusal = unknown_method(name->text);
    return;
  }
  out.params.kind = Json::Kind::object;
  size_t params_at = 0;
  if (const Json* params = root.find("params")) {
    if (!params->is(Json::Kind::object)) {
      return refuse(out, Code::invalid_params, "params must be an object: parameters go by name");
    }
    for (size_t i = 0; i < root.members.size(); ++i) {
      if (root.members[i].first != "params") continue;
      out.params = std::move(root.members[i].second);
      params_at = i;
    }
  }
  auto fault = check_params(*out.method, out.params, out.blobs.size(), out.fds_needed);
  if (fault && !out.refusal) out.refusal = std::move(fault);
  if (out.refusal) return;
  keep_bodies(line, params_at, out);
  std::erase_if(out.params.members,
                [](const auto& member) { return member.second.is(Json::Kind::null); });
}

ParsedRequest unreadable(std::string_view line, Code code, std::string text) {
  ParsedRequest out;
  refuse(out, code, std::move(text));
  out.framing_lost = mentions_blobs(line);
  return out;
}

}  // namespace

ParsedRequest parse_request(std::string_view line) {
  if (!utf8::is_valid(line)) {
    return unreadable(line, Code::parse_error, "a line must be valid UTF-8: send bytes as a blob");
  }
  auto root = parse_json(line);
  if (!root) return unreadable(line, root.error().code, std::move(root.error().text));
  if (root->is(Json::Kind::array)) {
    return unreadable(line, Code::invalid_request,
                      "batches are not taken: send one request a line, without waiting between");
  }
  if (!root->is(Json::Kind::object)) {
    return unreadable(line, Code::invalid_request, "a request is a JSON object");
  }
  ParsedRequest out;
  read_id(*root, out);
  check_members(*root, out);
  read_blobs(*root, out);
  if (!out.framing_lost) read_call(line, *root, out);
  if (out.refusal) {
    out.params = Json();
    // Without an answer nobody would learn that this was no request at all.
    if (out.refusal->code == Code::invalid_request) out.notification = false;
  }
  out.cost_bytes = kFixedCostBytes + tree_bytes(out.params) + out.id.capacity() +
                   out.blobs.capacity() * sizeof(uint64_t);
  if (out.cost_bytes > limits::kParsedRequestBytes) {
    refuse(out, Code::too_large, "the request takes too much memory: send contents as blobs");
    out.params = Json();
    out.cost_bytes = kFixedCostBytes;
  }
  return out;
}

}  // namespace ebla::daemon
