#include "daemon/prepare/stored_text.h"

#include <algorithm>

#include "schema/path.h"

namespace ebla::daemon {

Result<std::string> stored_text(Store& store, std::string_view path, uint64_t bytes) {
  auto attr = resolve(store, path);
  if (!attr) return std::unexpected(attr.error());
  std::string text(std::min(attr->size, bytes), '\0');
  auto got = store.read(attr->ino, 0, text);
  if (!got) return std::unexpected(got.error());
  text.resize(*got);
  return text;
}

}  // namespace ebla::daemon
