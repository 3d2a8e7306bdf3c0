#include "tools/completions.h"

#include <fmt/format.h>

#include "tools/verb.h"

namespace ebla::tools {
namespace {

std::string verb_names() {
  std::string names;
  for (const Verb& verb : verbs()) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", verb.name);
  }
  return names;
}

std::string option_names(std::span<const Option> options) {
  std::string names;
  for (const Option& option : options) {
    names += fmt::format(" --{}", option.name);
  }
  return names;
}

// Inside single quotes, which all three shells know.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string bash() {
  std::string cases;
  for (const Verb& verb : verbs()) {
    cases += fmt::format("    {}) options=\"{}{}\" ;;\n", verb.name,
                         option_names(verb.options).erase(0, verb.options.empty() ? 0 : 1),
                         option_names(global_options()));
  }
  return fmt::format(R"(# bash completion for ebla

_ebla() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} verb= options i
  local verbs="{}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    --socket) ((i++)) ;;
    -*) ;;
    *)
      verb=${{COMP_WORDS[i]}}
      break
      ;;
    esac
  done
  case $verb in
    "") options="{}" ;;
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -z $verb || $verb == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word")
  fi
}}
complete -o bashdefault -o default -F _ebla ebla
)",
                     verb_names(), option_names(global_options()).erase(0, 1), cases);
}

std::string zsh_option(const Option& option) {
  std::string help;
  for (const char c : option.help) {
    // Brackets and colons have a meaning in an option's description.
    if (c == '[' || c == ']' || c == ':') {
      help += '\\';
    }
    help += c;
  }
  const std::string value =
      option.value.empty()
          ? ""
          : fmt::format(":{}:{}", option.value, option.value == "PATH" ? "_files" : "");
  return quoted(fmt::format("--{}[{}]{}", option.name, help, value), "'\\''");
}

std::string zsh() {
  std::string names;
  std::string cases;
  for (const Verb& verb : verbs()) {
    names +=
        fmt::format("    {}\n", quoted(fmt::format("{}:{}", verb.name, verb.summary), "'\\''"));
    cases += fmt::format("    {})\n      _arguments", verb.name);
    for (const Option& option : verb.options) {
      cases += fmt::format(" \\\n        {}", zsh_option(option));
    }
    for (const Option& option : global_options()) {
      cases += fmt::format(" \\\n        {}", zsh_option(option));
    }
    cases += verb.name == "help" ? " \\\n        '1:verb:->verbs'" : " \\\n        '*:file:_files'";
    cases += "\n      ;;\n";
  }
  std::string globals;
  for (const Option& option : global_options()) {
    globals += fmt::format("    {} \\\n", zsh_option(option));
  }
  return fmt::format(R"(#compdef ebla

_ebla() {{
  local context state state_descr line
  typeset -A opt_args
  local -a verbs=(
{}  )
  _arguments -C \
{}    '1:verb:->verbs' '*::rest:->rest'
  if [[ $state == rest ]]; then
    case $line[1] in
{}    esac
  fi
  [[ $state == verbs ]] && _describe verb verbs
}}
_ebla "$@"
)",
                     names, globals, cases);
}

std::string fish_option(const Option& option, std::string_view condition) {
  return fmt::format("complete -c ebla{} -l {}{} -d {}\n", condition, option.name,
                     option.value.empty() ? "" : (option.value == "PATH" ? " -r -F" : " -x"),
                     quoted(option.help, "\\'"));
}

std::string fish() {
  std::string out = fmt::format("# fish completion for ebla\n\nset -l verbs {}\n", verb_names());
  for (const Option& option : global_options()) {
    out += fish_option(option, "");
  }
  for (const Verb& verb : verbs()) {
    out += fmt::format(
        "complete -c ebla -n \"not __fish_seen_subcommand_from $verbs\" -f -a {} -d {}\n",
        verb.name, quoted(verb.summary, "\\'"));
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const Option& option : verb.options) {
      out += fish_option(option, condition);
    }
  }
  out += "complete -c ebla -n '__fish_seen_subcommand_from help' -f -a \"$verbs\"\n";
  return out;
}

}  // namespace

Result<std::string> completions(std::string_view shell) {
  if (shell == "bash") {
    return bash();
  }
  if (shell == "zsh") {
    return zsh();
  }
  if (shell == "fish") {
    return fish();
  }
  return fail(Code::usage, "completions are made for bash, zsh and fish");
}

}  // namespace ebla::tools
