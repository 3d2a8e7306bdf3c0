#include <fmt/format.h>

#include "fs/mount_table.h"
#include "fs/mountinfo.h"
#include "schema/path.h"

namespace ebla::fs {

Result<MountSpec> parse_mount_spec(std::string_view text) {
  MountSpec out;
  std::string_view directory = text;
  if (const size_t at = text.find('='); at != std::string_view::npos) {
    const std::string_view subtree = text.substr(0, at);
    directory = text.substr(at + 1);
    if (!subtree.starts_with('/')) {
      return fail(
          Code::bad_configuration,
          fmt::format("mount '{}': a subtree starts with '/'; a folder with '=' in its path "
                      "is written '/={}'",
                      text, text));
    }
    const auto elements = split_path(subtree);
    if (!elements) return std::unexpected(elements.error());
    out.subtree = join_path(*elements);
  }
  if (directory.empty() || directory.find('\0') != std::string_view::npos) {
    return fail(Code::bad_configuration,
                fmt::format("mount '{}': no folder is named; write DIR or SUBTREE=DIR", text));
  }
  out.directory = clean_path(directory);
  return out;
}

}  // namespace ebla::fs
