#include "daemon/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ranges>
#include <utility>

#include "daemon/option_layers.h"
#include "daemon/quota_options.h"
#include "daemon/setting_text.h"
#include "schema/base/fd.h"
#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

constexpr unsigned kThreads = 64;

std::unexpected<Error> bad(const Said& said, std::string_view value, std::string_view range) {
  return fail(Code::bad_configuration,
              fmt::format("{}: {} is not {}", said.where, value.empty() ? "\"\"" : printable(value),
                          range));
}

template <class T>
Result<T> number(const Said& said, const std::string& text, T low, T high) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && value >= low && value <= high) {
    return value;
  }
  return bad(said, text, fmt::format("a number from {} to {}", low, high));
}

// Read again by quotas_of().
Result<void> check_size(const Said& said) {
  const std::string& text = said.values.back();
  if (auto size = parse_size(text); !size) return bad(said, text, size.error().text);
  return {};
}

Result<bool> yes_or_no(const Said& said) {
  const std::string& text = said.values.back();
  for (const char* yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "no", "off", "0"}) {
    if (text == no) return false;
  }
  return bad(said, text, "one of true, yes, on, 1, false, no, off, 0");
}

Result<std::string> absolute_path(const Said& said) {
  std::error_code error;
  const std::string& text = said.values.back();
  if (text.empty()) return bad(said, text, "a path");
  auto path = std::filesystem::absolute(text, error);
  if (error) return fail(Code::bad_configuration, said.where + ": " + error.message());
  return path.lexically_normal().string();
}

Result<int> open_descriptor(const Said& said) {
  auto fd = number<int>(said, said.values.back(), 0, 1 << 20);
  if (!fd) return fd;
  const int flags = fcntl(*fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return bad(said, said.values.back(), "a descriptor that is open for writing");
  }
  return fd;
}

template <class T, class U>
Result<void> put(Result<T> value, U& field) {
  if (!value) return std::unexpected(value.error());
  field = *std::move(value);
  return {};
}

Result<void> apply_mounts(Options& options, const Said& said) {
  for (const std::string& text : said.values) {
    auto spec = fs::parse_mount_spec(text);
    if (!spec) {
      return fail(Code::bad_configuration, fmt::format("{}: {}", said.where, spec.error().text));
    }
    options.mounts.push_back(*std::move(spec));
  }
  return {};
}

Result<void> apply_uids(Options& options, const Said& said) {
  for (const std::string& value : said.values) {
    for (const std::string& text : split(value, ',')) {
      auto uid = number<uid_t>(said, text, 0, UINT32_MAX - 1);
      if (!uid) return std::unexpected(uid.error());
      options.allow_uids.push_back(*uid);
    }
  }
  return {};
}

Result<void> apply_level(Options& options, const Said& said) {
  const std::string& text = said.values.back();
  for (const char* level : {"debug", "info", "warning", "error"}) {
    if (text != level) continue;
    options.log_level = log::parse_level(text, log::Level::info);
    return {};
  }
  return bad(said, text, "one of debug, info, warning, error");
}

Result<void> apply(Options& options, std::string_view name, const Said& said) {
  if (name == "store") return put(absolute_path(said), options.store);
  if (name == "socket") return put(absolute_path(said), options.socket);
  if (name == "mount") return apply_mounts(options, said);
  if (name == "no-mount") return put(yes_or_no(said), options.no_mount);
  if (name == "ready-fd") return put(open_descriptor(said), options.ready_fd);
  if (name == "allow-other") return put(yes_or_no(said), options.allow_other);
  if (name == "until-unmounted") return put(yes_or_no(said), options.until_unmounted);
  if (name == "log-level") return apply_level(options, said);
  if (name == "allow-uid") return apply_uids(options, said);
  if (name == "allow-unsafe-filesystem") {
    return put(yes_or_no(said), options.allow_unsafe_filesystem);
  }
  if (name == "threads") {
    return put(number<unsigned>(said, said.values.back(), 0, kThreads), options.threads);
  }
  if (name.ends_with("-limit") || name == "session-files") return check_size(said);
  if (name == "help") options.help = true;
  if (name == "version") options.version = true;
  return {};
}

Result<void> apply_settings(Options& options, const std::vector<Layer>& layers) {
  std::map<std::string, Said> chosen;
  for (const Layer& layer : layers) {
    for (const auto& [key, said] : layer) {
      if (!key.starts_with(kSettingPrefix)) continue;
      chosen.emplace(key.substr(kSettingPrefix.size()), said);
    }
  }
  for (const auto& [name, said] : chosen) {
    const std::string json = setting_json(name, said.values.back());
    if (auto set = context::apply_setting(options.settings, name, json); !set) {
      return fail(Code::bad_configuration, fmt::format("{}: {}", said.where, set.error().text));
    }
  }
  if (auto fit = context::check_settings(options.settings); !fit) {
    return fail(Code::bad_configuration, std::move(fit.error().text));
  }
  for (auto& [name, value] : context::to_json_map(options.settings)) {
    const auto said = chosen.find(name);
    options.setting_origins[name] = {value, said == chosen.end() ? "default" : said->second.origin};
  }
  return {};
}

Result<void> read_models(Options& options, const OptionSources& sources) {
  for (const std::string& path : std::views::reverse(sources.model_paths)) {
    // As with the configuration: a file in a folder that may not be entered is none.
    if (access(path.c_str(), F_OK) != 0) continue;
    auto text = read_file(path, limits::kMiB);
    if (!text) return fail(Code::bad_configuration, text.error().text);
    if (auto added = options.windows.add(*text); !added) {
      return fail(Code::bad_configuration, fmt::format("{}: {}", path, added.error().text));
    }
  }
  return {};
}

void note_origin(Options& options, const OptionInfo& option, const Said& said) {
  JsonWriter out;
  if (option.repeatable) {
    out.begin_array();
    for (const std::string& value : said.values) out.string(value);
    out.end_array();
  } else {
    out.string(said.values.back());
  }
  options.options[std::string(option.name)] = {out.take(), said.origin};
}

std::string json_string(std::string_view text) {
  return JsonWriter().string(text).take();
}

Result<void> fill_places(Options& options, const OptionSources& sources) {
  if (options.store.empty()) {
    auto path = default_store_path(sources.environment);
    if (!path) return std::unexpected(path.error());
    options.store = *std::move(path);
    options.options["store"] = {json_string(options.store), "default"};
  }
  if (options.socket.empty()) {
    options.socket = default_socket_path(sources.environment, sources.uid);
    options.options["socket"] = {json_string(options.socket), "default"};
    return {};
  }
  std::string usable = usable_socket_path(options.socket, sources.uid);
  if (usable == options.socket) return {};
  options.warnings.push_back(fmt::format("the socket's path has over {} bytes: {} is used instead",
                                         kSocketPathBytes, usable));
  options.socket = std::move(usable);
  return {};
}

}  // namespace

OptionSources process_sources(int argc, char** argv) {
  OptionSources sources;
  sources.arguments.assign(argv + std::min(argc, 1), argv + argc);
  sources.environment = process_environment();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("EBLA_"))
      sources.variable_names.emplace_back(text.substr(0, text.find('=')));
  }
  sources.config_paths = default_config_paths(sources.environment);
  for (const std::string& path : sources.config_paths) {
    sources.model_paths.push_back(std::filesystem::path(path).replace_filename("models.conf"));
  }
  sources.uid = getuid();
  return sources;
}

Result<Options> read_options(const OptionSources& sources) {
  Options options;
  auto arguments = read_arguments(sources.arguments);
  if (!arguments) return std::unexpected(arguments.error());
  options.help = arguments->contains("help");
  options.version = arguments->contains("version");
  if (options.help || options.version) return options;

  Layer environment = read_environment(sources, options.warnings);
  auto configs = read_configs(sources, *arguments, environment);
  if (!configs) return std::unexpected(configs.error());
  std::vector<Layer> layers;
  layers.push_back(*std::move(arguments));
  layers.push_back(std::move(environment));
  for (Layer& layer : *configs) layers.push_back(std::move(layer));

  for (const OptionInfo& option : option_table()) {
    const std::string name(option.name);
    const auto layer =
        std::ranges::find_if(layers, [&](const Layer& one) { return one.contains(name); });
    if (layer == layers.end()) continue;
    const Said& said = layer->find(name)->second;
    if (auto done = apply(options, name, said); !done) return std::unexpected(done.error());
    note_origin(options, option, said);
  }
  // What the command line mounts is not undone by a no-mount further down.
  if (layers.front().contains("mount")) options.no_mount = false;
  if (options.no_mount) options.mounts.clear();
  if (auto done = apply_settings(options, layers); !done) return std::unexpected(done.error());
  if (auto done = read_models(options, sources); !done) return std::unexpected(done.error());
  if (auto done = fill_places(options, sources); !done) return std::unexpected(done.error());
  return options;
}

}  // namespace ebla::daemon
