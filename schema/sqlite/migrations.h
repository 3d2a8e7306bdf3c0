// The format's versions. migrations/NNNN_name.sql brings a store from version N-1 to N; the files
// are part of the program. A shipped one never changes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

inline constexpr uint32_t kApplicationId = 0x45424C41;  // "EBLA"

struct Migration {
  int64_t version;
  std::string_view name;
  const char* sql;
};

// By version, from 1 on without gaps.
std::span<const Migration> migrations();
// Version after all of them.
int64_t newest_version(std::span<const Migration> steps);
// Runs what the store lacks, all in one transaction, and sets user_version. True when it ran any.
Result<bool> migrate(Database& db, std::span<const Migration> steps);

}  // namespace ebla::sqlite
