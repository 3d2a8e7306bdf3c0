// The options of eblad: one table feeds the command line, --help, the configuration file, the
// EBLA_* variables and what `status` shows.
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context/settings.h"
#include "context/windows.h"
#include "fs/mount_table.h"
#include "schema/base/log.h"
#include "schema/base/result.h"
#include "schema/default_paths.h"

namespace ebla::daemon {

struct OptionInfo {
  std::string_view name;      // without the dashes; the key in a configuration file
  std::string_view argument;  // what --help calls the value; "" for a switch
  std::string_view variable;  // "" when the environment has none
  bool repeatable = false;
  bool in_file = false;
  std::string_view help;
};
std::span<const OptionInfo> option_table();

struct Origin {
  std::string value;   // JSON text
  std::string origin;  // "default", "command line", "environment EBLA_X", a file's path
};

struct Options {
  std::string store;   // absolute
  std::string socket;  // absolute and short enough
  std::vector<fs::MountSpec> mounts;
  bool no_mount = false;
  bool allow_other = false;
  bool until_unmounted = false;
  int ready_fd = -1;
  log::Level log_level = log::Level::info;
  std::vector<uid_t> allow_uids;
  bool allow_unsafe_filesystem = false;
  unsigned threads = 0;
  context::Settings settings;
  context::WindowTable windows = context::WindowTable::shipped();

  bool help = false;
  bool version = false;
  std::map<std::string, Origin> options;          // by name, for status
  std::map<std::string, Origin> setting_origins;  // by name
  std::vector<std::string> warnings;
};

struct OptionSources {
  std::vector<std::string> arguments;  // without the program's name
  Environment environment;
  std::vector<std::string> variable_names;  // EBLA_* that are set: for settings and typing errors
  std::vector<std::string> config_paths;    // read where they exist, the first counts most
  std::vector<std::string> model_paths;     // files of model windows, likewise
  uid_t uid = 0;
};
OptionSources process_sources(int argc, char** argv);

// usage: unknown option or a missing value. bad_configuration: names option or setting, value and
// range, and where it was said.
Result<Options> read_options(const OptionSources& sources);

std::string help_text();

}  // namespace ebla::daemon
