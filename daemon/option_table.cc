#include <fmt/format.h>

#include <array>

#include "daemon/options.h"

namespace ebla::daemon {
namespace {

constexpr std::array kOptions = {
    OptionInfo{.name = "config",
               .argument = "FILE",
               .variable = "EBLA_CONFIG",
               .help = "read this configuration file instead of the default ones"},
    OptionInfo{.name = "store",
               .argument = "PATH",
               .variable = "EBLA_STORE",
               .in_file = true,
               .help = "database that holds everything (default $XDG_STATE_HOME/ebla/default.db)"},
    OptionInfo{.name = "mount",
               .argument = "[SUBTREE=]DIR",
               .variable = "EBLA_MOUNT",
               .repeatable = true,
               .in_file = true,
               .help = "show the tree, or the part below SUBTREE, at DIR; repeatable"},
    OptionInfo{.name = "socket",
               .argument = "PATH",
               .variable = "EBLA_SOCKET",
               .in_file = true,
               .help = "control socket (default $XDG_RUNTIME_DIR/ebla/default.sock)"},
    OptionInfo{.name = "no-mount",
               .argument = "",
               .variable = "EBLA_NO_MOUNT",
               .in_file = true,
               .help = "mount nothing, whatever the configuration says; the socket serves all"},
    OptionInfo{.name = "allow-other",
               .argument = "",
               .variable = "EBLA_ALLOW_OTHER",
               .in_file = true,
               .help = "let other users into the mounts, as far as modes and owners allow"},
    OptionInfo{.name = "until-unmounted",
               .argument = "",
               .variable = "",
               .help = "end when the last mount is taken away, or the first cannot be made"},
    OptionInfo{
        .name = "store-limit",
        .argument = "SIZE",
        .variable = "EBLA_STORE_LIMIT",
        .in_file = true,
        .help = "bytes that the database may use (K, M, G, T); 0 (default): as the disk has"},
    OptionInfo{.name = "file-limit",
               .argument = "SIZE",
               .variable = "EBLA_FILE_LIMIT",
               .in_file = true,
               .help = "length of a file that a client writes; 0 (default): 2 TiB"},
    OptionInfo{.name = "session-limit",
               .argument = "SIZE",
               .variable = "EBLA_SESSION_LIMIT",
               .in_file = true,
               .help = "length of all files of a session and its children; 0 (default): any"},
    OptionInfo{.name = "session-files",
               .argument = "N",
               .variable = "EBLA_SESSION_FILES",
               .in_file = true,
               .help = "files and folders of a session and its children; 0 (default): any"},
    OptionInfo{.name = "ready-fd",
               .argument = "N",
               .variable = "",
               .help = "write a newline to descriptor N when mounted and listening"},
    OptionInfo{.name = "log-level",
               .argument = "LEVEL",
               .variable = "EBLA_LOG_LEVEL",
               .in_file = true,
               .help = "debug, info (default), warning or error"},
    OptionInfo{.name = "allow-uid",
               .argument = "UID",
               .variable = "EBLA_ALLOW_UID",
               .repeatable = true,
               .in_file = true,
               .help = "serve this user too, with sessions of its own; repeatable"},
    OptionInfo{.name = "allow-unsafe-filesystem",
               .argument = "",
               .variable = "EBLA_ALLOW_UNSAFE_FILESYSTEM",
               .in_file = true,
               .help = "take a store on NFS, 9p, virtiofs, CIFS or FUSE, where it may be damaged"},
    OptionInfo{.name = "threads",
               .argument = "N",
               .variable = "EBLA_THREADS",
               .in_file = true,
               .help = "of each pool, 1 to 64; 0 (default): by the number of CPUs, within 4 to 16"},
    OptionInfo{.name = "set",
               .argument = "NAME=VALUE",
               .variable = "",
               .repeatable = true,
               .help = "a setting of the context engine, see below; repeatable"},
    OptionInfo{.name = "help", .argument = "", .variable = "", .help = "print this and exit"},
    OptionInfo{.name = "version", .argument = "", .variable = "", .help = "print it and exit"},
};

}  // namespace

std::span<const OptionInfo> option_table() {
  return kOptions;
}

std::string help_text() {
  std::string text =
      "usage: eblad [OPTION]...\n"
      "External memory for language-model agents: one store, seen through mounts and a socket.\n\n"
      "options:\n";
  for (const OptionInfo& option : kOptions) {
    std::string left = fmt::format("--{}", option.name);
    if (!option.argument.empty()) left += fmt::format(" {}", option.argument);
    text += fmt::format("  {:<28} {}\n", left, option.help);
    if (!option.variable.empty()) text += fmt::format("  {:<28}   [{}]\n", "", option.variable);
  }
  text +=
      "\nsettings (--set, configuration file; EBLA_NAME in capitals where the name has no dot):\n";
  for (const context::SettingInfo& setting : context::setting_table()) {
    text += fmt::format("  {:<28} {} ({})\n", setting.name, setting.help, setting.range);
  }
  text += "\neblad(8) and ebla-control(7) say more.\n";
  return text;
}

}  // namespace ebla::daemon
