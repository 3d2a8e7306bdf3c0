// Which file systems can hold a store.
#include <array>
#include <utility>

#include "schema/sqlite/open.h"

namespace ebla::sqlite {

// A write-ahead log needs shared memory between connections, locks that work, and a sync that means
// it. The numbers are f_type of statfs(2).
const char* unsafe_filesystem_name(uint64_t f_type) {
  static constexpr std::array<std::pair<uint64_t, const char*>, 14> kUnsafe{{
      {0x6969, "NFS"},
      {0x01021997, "9p"},
      {0x65735546, "FUSE or virtiofs"},
      {0xFF534D42, "CIFS"},
      {0xFE534D42, "SMB2"},
      {0x517B, "SMB"},
      {0x564C, "NCP"},
      {0x00C36400, "Ceph"},
      {0x5346414F, "AFS"},
      {0x6B414653, "AFS"},
      {0x73757245, "Coda"},
      {0x0BD00BD0, "Lustre"},
      {0x47504653, "GPFS"},
      {0x786F4256, "VirtualBox shared folder"},
  }};
  for (const auto& [type, name] : kUnsafe) {
    if (type == f_type) return name;
  }
  return nullptr;
}

const char* doubtful_filesystem_name(uint64_t f_type) {
  switch (f_type) {
    case 0x794C7630:
      return "overlayfs";
    case 0x01021994:
      return "tmpfs";
    case 0x858458F6:
      return "ramfs";
    default:
      return nullptr;
  }
}

}  // namespace ebla::sqlite
