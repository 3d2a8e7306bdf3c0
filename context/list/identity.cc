#include "context/list/identity.h"

#include <algorithm>

#include "context/formats/canonical.h"

namespace ebla::context {
namespace {

// Changing any of these makes every stored pass unknown.
constexpr std::string_view kChainSeed = "ebla chain 1";
constexpr std::string_view kIdentitySeed = "ebla message 1";

class FieldHasher {
 public:
  explicit FieldHasher(std::string_view seed) { text(seed); }

  // Lengths stand before texts, so that no two lists of fields look the same.
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void hash(Hash128 value) {
    for (uint8_t byte : value.bytes()) bytes_.push_back(static_cast<char>(byte));
  }
  void number(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift));
  }
  Hash128 digest() const { return xxh3_128(bytes_); }

 private:
  std::string bytes_;
};

// Some formats carry results in messages of the user, some call the system the developer.
Role common_role(const Message& message) {
  const auto answers = [](const Part& part) {
    return part.kind == PartKind::tool_result && !part.provider_side;
  };
  if (message.role != Role::assistant && std::ranges::any_of(message.parts, answers)) {
    return Role::tool;
  }
  return message.role == Role::developer ? Role::system : message.role;
}

}  // namespace

Hash128 chain_start() {
  return xxh3_128(kChainSeed);
}

Hash128 chain_next(Hash128 chain, Hash128 identity) {
  FieldHasher fields(kChainSeed);
  fields.hash(chain);
  fields.hash(identity);
  return fields.digest();
}

Hash128 identity_of(const Message& message, std::span<const Hash128> hashes) {
  FieldHasher fields(kIdentitySeed);
  fields.number(static_cast<uint64_t>(common_role(message)));
  for (size_t i = 0; i < message.parts.size() && i < hashes.size(); ++i) {
    const Part& part = message.parts[i];
    const bool says_nothing = part.kind == PartKind::text && part.facts.bytes == 0;
    if (part.kind == PartKind::reasoning || says_nothing) continue;
    fields.number(static_cast<uint64_t>(part.kind));
    if (part.kind == PartKind::tool_call) fields.text(part.tool);
    if (part.kind == PartKind::tool_call || part.kind == PartKind::tool_result) {
      fields.text(part.call_id);
    }
    fields.hash(hashes[i]);
  }
  return fields.digest();
}

std::string canonical_json(std::string_view json) {
  const Result<JsonTree> tree = JsonTree::read(json);
  if (!tree) return std::string(json);
  std::string out;
  append_canonical(out, tree->root());
  return out;
}

}  // namespace ebla::context
