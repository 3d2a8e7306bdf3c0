#include "daemon/option_layers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <utility>

#include "daemon/config_file.h"
#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kConfigBytes = 1 * limits::kMiB;

const OptionInfo* find_option(std::string_view name) {
  const auto table = option_table();
  const auto at = std::ranges::find(table, name, &OptionInfo::name);
  return at == table.end() ? nullptr : &*at;
}

std::string setting_key(std::string_view name) {
  return std::string(kSettingPrefix) + std::string(name);
}

std::string variable_of(std::string_view setting) {
  std::string name = "EBLA_";
  for (const char byte : setting) {
    name += byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
  }
  return name;
}

bool is_setting(std::string_view key) {
  return std::ranges::any_of(context::setting_table(), [&](const context::SettingInfo& setting) {
    if (!setting.name.ends_with(".*")) return setting.name == key;
    return key.starts_with(setting.name.substr(0, setting.name.size() - 1));
  });
}

Result<Layer> read_config(const std::string& path) {
  auto text = read_file(path, kConfigBytes);
  if (!text) return fail(Code::bad_configuration, std::move(text.error().text));
  auto lines = parse_config(*text, path);
  if (!lines) return std::unexpected(lines.error());
  Layer layer;
  for (ConfigLine& line : *lines) {
    std::string name = line.key;
    std::ranges::replace(name, '_', '-');
    const OptionInfo* option = find_option(name);
    const bool setting = is_setting(line.key);
    const std::string where = fmt::format("{}:{}", path, line.number);
    if (!setting && (option == nullptr || !option->in_file)) {
      return fail(Code::bad_configuration,
                  fmt::format("{}: no option or setting is called {}; eblad --help lists them",
                              where, printable(line.key)));
    }
    Said& said = layer[setting ? setting_key(line.key) : name];
    if (!said.values.empty() && (setting || !option->repeatable)) {
      return fail(Code::bad_configuration,
                  fmt::format("{}: {} is already set at {}", where, line.key, said.where));
    }
    said.values.push_back(std::move(line.value));
    said.origin = path;
    said.where = where;
  }
  return layer;
}

}  // namespace

Result<Layer> read_arguments(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description description;
  for (const OptionInfo& option : option_table()) {
    const std::string name(option.name);
    if (option.argument.empty()) {
      description.add_options()(name.c_str(), "");
    } else {
      description.add_options()(name.c_str(), po::value<std::vector<std::string>>(), "");
    }
  }
  Layer layer;
  try {
    const po::positional_options_description none;
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const auto parsed =
        po::command_line_parser(arguments).options(description).positional(none).style(style).run();
    for (const auto& option : parsed.options) {
      Said& said = layer[option.string_key];
      said.origin = "command line";
      said.where = "--" + option.string_key;
      if (option.value.empty()) said.values.emplace_back("true");
      for (const std::string& value : option.value) said.values.push_back(value);
    }
  } catch (const po::error& error) {
    return fail(Code::usage, fmt::format("{}; eblad --help lists the options", error.what()));
  }
  if (layer.contains("mount") && layer.contains("no-mount")) {
    return fail(Code::usage, "--mount and --no-mount exclude each other: give one of them");
  }
  auto sets = layer.extract("set");
  if (sets.empty()) return layer;
  for (const std::string& text : sets.mapped().values) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(Code::usage, fmt::format("--set {}: NAME=VALUE is needed", printable(text)));
    }
    layer[setting_key(text.substr(0, equals))] = {
        {text.substr(equals + 1)}, "command line", "--set"};
  }
  return layer;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

Layer read_environment(const OptionSources& sources, std::vector<std::string>& warnings) {
  Layer layer;
  const auto take = [&](const std::string& variable, const std::string& key, char separator) {
    auto value = sources.environment(variable);
    if (!value || value->empty()) return;
    auto values = separator == 0 ? std::vector{*value} : split(*value, separator);
    layer[key] = {std::move(values), "environment " + variable, variable};
  };
  std::vector<std::string> known;
  for (const OptionInfo& option : option_table()) {
    if (option.variable.empty()) continue;
    known.emplace_back(option.variable);
    const char separator = !option.repeatable ? '\0' : option.name == "mount" ? ':' : ',';
    take(known.back(), std::string(option.name), separator);
  }
  for (const context::SettingInfo& setting : context::setting_table()) {
    if (setting.name.find('.') != std::string_view::npos) continue;
    known.push_back(variable_of(setting.name));
    take(known.back(), setting_key(setting.name), '\0');
  }
  for (const std::string& variable : sources.variable_names) {
    if (std::ranges::find(known, variable) != known.end()) continue;
    warnings.push_back(fmt::format("{} is set but means nothing to eblad", printable(variable)));
  }
  return layer;
}

Result<std::vector<Layer>> read_configs(const OptionSources& sources, const Layer& arguments,
                                        const Layer& environment) {
  std::vector<Layer> layers;
  for (const Layer* layer : {&arguments, &environment}) {
    const auto said = layer->find("config");
    if (said == layer->end()) continue;
    auto read = read_config(said->second.values.back());
    if (!read) return std::unexpected(read.error());
    layers.push_back(*std::move(read));
    return layers;
  }
  for (const std::string& path : sources.config_paths) {
    if (access(path.c_str(), F_OK) != 0) continue;
    auto read = read_config(path);
    if (!read) return std::unexpected(read.error());
    layers.push_back(*std::move(read));
  }
  return layers;
}

}  // namespace ebla::daemon
