#include "tools/help.h"

#include <fmt/format.h>

#include "tools/text.h"

namespace ebla::tools {
namespace {

std::string option_rows(std::span<const Option> options) {
  Table table({Table::Align::left, Table::Align::left, Table::Align::left});
  for (const Option& option : options) {
    table.row({"",
               fmt::format("--{}{}{}", option.name, option.value.empty() ? "" : " ", option.value),
               std::string(option.help)});
  }
  return table.text();
}

}  // namespace

std::string overview() {
  Table table({Table::Align::left, Table::Align::left, Table::Align::left});
  for (const Verb& verb : verbs()) {
    table.row({"", std::string(verb.name), std::string(verb.summary)});
  }
  return fmt::format(
      "usage: ebla [--socket PATH] [--json] VERB [options] [operands]\n\n"
      "External memory for language-model agents: talks to the daemon eblad.\n\n"
      "Verbs:\n{}\nOptions of every verb:\n{}\n"
      "`ebla help VERB` tells more about one verb, ebla(1) about all of them.\n",
      table.text(), option_rows(global_options()));
}

std::string help_of(const Verb& verb) {
  std::string usage = fmt::format("usage: ebla {}", verb.name);
  for (const Option& option : verb.options) {
    usage += option.value.empty() ? fmt::format(" [--{}]", option.name)
                                  : fmt::format(" [--{} {}]", option.name, option.value);
  }
  if (!verb.operands.empty()) {
    usage += fmt::format(" {}", verb.operands);
  }
  std::string out = fmt::format("{}\n\n{}\n", usage, verb.description);
  if (!verb.options.empty()) {
    out += fmt::format("\nOptions:\n{}", option_rows(verb.options));
  }
  out += fmt::format("\nOptions of every verb:\n{}", option_rows(global_options()));
  return out;
}

}  // namespace ebla::tools
