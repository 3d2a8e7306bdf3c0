#include "schema/base/hash.h"

#include <xxhash.h>

#include <charconv>
#include <cstring>
#include <new>

namespace ebla {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

}  // namespace

std::array<uint8_t, 16> Hash128::bytes() const {
  std::array<uint8_t, 16> out{};
  for (size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<uint8_t>(high >> (56 - 8 * i));
    out[8 + i] = static_cast<uint8_t>(low >> (56 - 8 * i));
  }
  return out;
}

Hash128 Hash128::from_bytes(const uint8_t* sixteen) {
  Hash128 hash;
  for (size_t i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | sixteen[i];
    hash.low = hash.low << 8 | sixteen[8 + i];
  }
  return hash;
}

std::string Hash128::hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(32);
  for (uint8_t byte : bytes()) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::optional<Hash128> Hash128::from_hex(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  const auto half = [digits](size_t at, uint64_t& value) {
    const char* const begin = digits.data() + at;
    return std::from_chars(begin, begin + 16, value, 16).ptr == begin + 16;
  };
  Hash128 hash;
  if (!half(0, hash.high) || !half(16, hash.low)) return std::nullopt;
  return hash;
}

Hash128 xxh3_128(std::string_view bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t xxh3_64(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct Hasher128::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) {}
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

Hash128 Hasher128::digest() const {
  return from_xxh(XXH3_128bits_digest(state_->xxh));
}

}  // namespace ebla
