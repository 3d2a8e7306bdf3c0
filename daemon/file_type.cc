#include "daemon/file_type.h"

#include <array>
#include <cstddef>

namespace ebla::daemon {
namespace {

using std::string_view_literals::operator""sv;

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view name;
};

constexpr std::array kMagics = {
    Magic{0, "\x89PNG\r\n\x1a\n"sv, "PNG image"},
    Magic{0, "\xff\xd8\xff"sv, "JPEG image"},
    Magic{0, "GIF8"sv, "GIF image"},
    Magic{8, "WEBP"sv, "WebP image"},
    Magic{0, "BM"sv, "BMP image"},
    Magic{0, "\0\0\1\0"sv, "icon"},
    Magic{0, "%PDF-"sv, "PDF document"},
    Magic{0, "PK\3\4"sv, "ZIP archive or a format built on it"},
    Magic{0, "\x1f\x8b"sv, "gzip data"},
    Magic{0, "BZh"sv, "bzip2 data"},
    Magic{0,
          "\xfd"
          "7zXZ\0"sv,
          "xz data"},
    Magic{0, "\x28\xb5\x2f\xfd"sv, "zstd data"},
    Magic{0, "7z\xbc\xaf\x27\x1c"sv, "7-Zip archive"},
    Magic{257, "ustar"sv, "tar archive"},
    Magic{0, "!<arch>\n"sv, "ar archive"},
    Magic{0,
          "\x7f"
          "ELF"sv,
          "ELF binary"},
    Magic{0, "MZ"sv, "Windows binary"},
    Magic{0, "\0asm"sv, "WebAssembly binary"},
    Magic{0, "\xca\xfe\xba\xbe"sv, "Java class or universal binary"},
    Magic{0, "SQLite format 3\0"sv, "SQLite database"},
    Magic{0, "RIFF"sv, "RIFF media"},
    Magic{0, "OggS"sv, "Ogg media"},
    Magic{0, "fLaC"sv, "FLAC audio"},
    Magic{0, "ID3"sv, "MP3 audio"},
    Magic{4, "ftyp"sv, "MP4 media"},
    Magic{0, "\x1a\x45\xdf\xa3"sv, "Matroska media"},
    Magic{0, "wOFF"sv, "web font"},
    Magic{0, "wOF2"sv, "web font"},
    Magic{0, "\xff\xfe"sv, "UTF-16 text, little endian"},
    Magic{0, "\xfe\xff"sv, "UTF-16 text, big endian"},
};

}  // namespace

std::string_view file_type(std::string_view head) {
  for (const Magic& magic : kMagics) {
    if (head.size() >= magic.offset &&
        head.substr(magic.offset, magic.bytes.size()) == magic.bytes) {
      return magic.name;
    }
  }
  return "data";
}

}  // namespace ebla::daemon
