// `/.ebla` at the root of every mount: nodes that no store knows. Found by name, never listed by
// the root, so that a copy or a removal of the tree does not meet it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/model.h"

namespace ebla::fs {

class VirtualTree {
 public:
  static constexpr uint64_t kBit = uint64_t{1} << 62;
  static constexpr uint64_t kFolder = kBit | 2;
  static constexpr uint64_t kSocket = kBit | 3;
  static constexpr uint64_t kVersion = kBit | 4;
  static constexpr std::string_view kName = ".ebla";

  VirtualTree(std::string socket_path, std::string_view version, int64_t born_ns);

  static bool owns(uint64_t nodeid) { return (nodeid & kBit) != 0; }
  // The Ino of an Attr is the node id itself. nullopt: no such node.
  std::optional<Attr> getattr(uint64_t nodeid) const;
  std::optional<Attr> lookup(uint64_t folder, std::string_view name) const;
  std::vector<DirEntry> list(uint64_t folder, uint64_t after_cookie, size_t limit) const;
  std::optional<std::string> readlink(uint64_t nodeid) const;
  size_t read(uint64_t nodeid, uint64_t offset, std::span<char> out) const;

 private:
  std::string socket_path_;
  std::string version_;
  int64_t born_ns_;
};

}  // namespace ebla::fs
