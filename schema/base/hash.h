// XXH3. A hash finds an equal content; comparing bytes decides, since tool output may be hostile.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ebla {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;

  std::string hex() const;  // 32 digits, as xxh128sum prints it
  static std::optional<Hash128> from_hex(std::string_view digits);
  std::array<uint8_t, 16> bytes() const;  // canonical, big endian: the form that is stored
  static Hash128 from_bytes(const uint8_t* sixteen);
};

Hash128 xxh3_128(std::string_view bytes);
uint64_t xxh3_64(std::string_view bytes);

// Streaming form of xxh3_128. Not thread safe.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;
  void update(std::string_view bytes);
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ebla
