// Prints the table of measurements: each row a ratio against a floor that runs in the same run.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/bench/bench_kit.h"

namespace {

using ebla::bench::Settings;
using ebla::bench::WorkFolder;
using RowFunction = void (*)(const Settings&, const WorkFolder&);

const std::vector<std::pair<std::string, RowFunction>> kRows = {
    {"P1", ebla::bench::row_put_away}, {"P2", ebla::bench::row_clients},
    {"P3", ebla::bench::row_history},  {"P4", ebla::bench::row_read},
    {"P6", ebla::bench::row_grep},     {"P7", ebla::bench::row_open_and_list},
    {"P10", ebla::bench::row_prepare}, {"P13", ebla::bench::row_delete},
    {"P14", ebla::bench::row_archive}, {"P15", ebla::bench::row_large_store},
    {"P16", ebla::bench::row_ping},    {"P17", ebla::bench::row_memory},
    {"P18", ebla::bench::row_size},    {"P20", ebla::bench::row_notice},
};

}  // namespace

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  std::vector<std::string> wanted;
  po::options_description options("rows: measurements of this build");
  auto add = options.add_options();
  add("help", "this text");
  add("eblad", po::value(&settings.eblad)->required(), "the daemon");
  add("nullfs", po::value(&settings.nullfs)->required(), "the floor of the mount");
  add("passthrough", po::value(&settings.passthrough), "libfuse's passthrough_hp, if at hand");
  add("folder", po::value(&settings.folder)->default_value("/var/tmp"), "on a real disk");
  add("rounds", po::value(&settings.rounds)->default_value(200), "of the paced row");
  add("row", po::value(&wanted), "only these (repeatable): P1 P2 P3 P4 P6 P7 P10 P13 to P18 P20");
  po::variables_map given;
  try {
    po::store(po::parse_command_line(argc, argv, options), given);
    if (given.contains("help")) {
      std::cout << options;
      return 0;
    }
    po::notify(given);
  } catch (const po::error& error) {
    fmt::print(stderr, "rows: {}\n", error.what());
    return 2;
  }
  fmt::print("| row | metric | measured | floor in this run | ratio | target | reached |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [name, row] : kRows) {
    if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
    try {
      const WorkFolder folder(settings.folder);
      row(settings, folder);
    } catch (const std::exception& error) {
      fmt::print(stderr, "rows: {}: {}\n", name, error.what());
      return 1;
    }
  }
  return 0;
}
