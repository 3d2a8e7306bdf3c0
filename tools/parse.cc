#include "tools/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "schema/base/json.h"
#include "schema/base/suggest.h"

namespace ebla::tools {
namespace {

const Option* find_option(std::span<const Option> options, std::string_view name) {
  const auto at = std::ranges::find(options, name, &Option::name);
  return at == options.end() ? nullptr : &*at;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates,
                         std::string_view dashes) {
  const std::string_view near = nearest(name, candidates);
  return near.empty() ? "" : fmt::format("; did you mean {}{}?", dashes, near);
}

Error unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    names.push_back(verb.name);
  }
  const std::string hint = did_you_mean(name, names, "");
  return {Code::usage, fmt::format("there is no verb {}{}", printable(name),
                                   hint.empty() ? "; `ebla help` lists them" : hint)};
}

Error unknown_option(const Verb* verb, std::string_view shown, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : global_options()) {
    names.push_back(option.name);
  }
  if (verb == nullptr) {
    // Perhaps a right one on the wrong side of the verb.
    for (const Verb& other : verbs()) {
      if (find_option(other.options, name) != nullptr) {
        return {Code::usage, fmt::format("{} belongs behind its verb, as in `ebla {} {}`",
                                         printable(shown), other.name, printable(shown))};
      }
    }
    return {Code::usage, fmt::format("there is no option {}{}", printable(shown),
                                     did_you_mean(name, names, "--"))};
  }
  for (const Option& option : verb->options) {
    names.push_back(option.name);
  }
  return {Code::usage, fmt::format("`ebla {}` has no option {}{}", verb->name, printable(shown),
                                   did_you_mean(name, names, "--"))};
}

class Parser {
 public:
  Parser(std::span<const std::string> words, Arguments& out) : words_(words), out_(out) {}

  Result<void> run() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        return rest();
      }
      const bool option = word.size() > 1 && word[0] == '-';
      auto taken = option ? take_option(word) : take_operand(word);
      if (!taken) {
        return taken;
      }
    }
    return {};
  }

 private:
  Result<void> rest() {
    while (at_ < words_.size()) {
      if (auto taken = take_operand(words_[at_++]); !taken) {
        return taken;
      }
    }
    return {};
  }

  Result<void> take_operand(const std::string& word) {
    if (out_.verb == nullptr) {
      auto verb = verb_named(word);
      if (!verb) {
        return std::unexpected(verb.error());
      }
      out_.verb = *verb;
      return {};
    }
    if (out_.verb->passing == Passing::options) {
      out_.passed.push_back(word);
      return {};
    }
    out_.operands.push_back(word);
    if (out_.operands.size() > out_.verb->max_operands) {
      return fail(Code::usage,
                  fmt::format("`ebla {}` takes {}, so {} is too much", out_.verb->name,
                              out_.verb->operands.empty() ? "no operand" : out_.verb->operands,
                              printable(word)));
    }
    return {};
  }

  Result<void> take_option(const std::string& word) {
    if (word == "-h") {
      out_.help = true;
      return {};
    }
    if (!word.starts_with("--")) {
      return pass_or_refuse(word, std::string_view(word).substr(1));
    }
    const size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(2, equals - 2);
    const Option* option = find_option(global_options(), name);
    if (option == nullptr && out_.verb != nullptr) {
      option = find_option(out_.verb->options, name);
    }
    if (option == nullptr) {
      return pass_or_refuse(word, name);
    }
    std::string value;
    if (!option->value.empty()) {
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else if (at_ < words_.size()) {
        value = words_[at_++];
      } else {
        return fail(Code::usage,
                    fmt::format("--{} needs a value: --{} {}", name, name, option->value));
      }
    } else if (equals != std::string::npos) {
      return fail(Code::usage, fmt::format("--{} takes no value", name));
    }
    store(name, std::move(value));
    return {};
  }

  Result<void> pass_or_refuse(const std::string& word, std::string_view name) {
    if (out_.verb != nullptr && out_.verb->passing == Passing::options) {
      out_.passed.push_back(word);
      return {};
    }
    return std::unexpected(unknown_option(out_.verb, word.substr(0, word.find('=')), name));
  }

  void store(std::string_view name, std::string value) {
    if (name == "json") {
      out_.json = true;
    } else if (name == "help") {
      out_.help = true;
    } else if (name == "version") {
      out_.version = true;
    } else if (name == "socket") {
      out_.socket = std::move(value);
    } else {
      out_.options.emplace_back(name, std::move(value));
    }
  }

  std::span<const std::string> words_;
  Arguments& out_;
  size_t at_ = 0;
};

}  // namespace

const std::string* Arguments::find(std::string_view name) const {
  for (auto at = options.rbegin(); at != options.rend(); ++at) {
    if (at->first == name) {
      return &at->second;
    }
  }
  return nullptr;
}

Result<std::optional<int64_t>> Arguments::number(std::string_view name, int64_t smallest) const {
  const std::string* text = find(name);
  if (text == nullptr) {
    return std::nullopt;
  }
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value < smallest) {
    return fail(Code::usage, fmt::format("--{} takes a whole number{}, not {}", name,
                                         smallest == 0 ? " from 0 on" : "",
                                         text->empty() ? "nothing" : printable(*text)));
  }
  return value;
}

Result<const Verb*> verb_named(std::string_view name) {
  const Verb* verb = find_verb(name);
  if (verb == nullptr) {
    return std::unexpected(unknown_verb(name));
  }
  return verb;
}

Result<void> parse_arguments(std::span<const std::string> words, Arguments& out) {
  return Parser(words, out).run();
}

}  // namespace ebla::tools
