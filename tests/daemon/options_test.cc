#include "daemon/options.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

#include "daemon/config_file.h"
#include "daemon/setting_text.h"
#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/rpc.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  OptionSources sources(std::vector<std::string> arguments) {
    OptionSources from;
    from.arguments = std::move(arguments);
    from.environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto at = variables_.find(name);
      if (at == variables_.end()) return std::nullopt;
      return at->second;
    };
    for (const auto& [name, value] : variables_) {
      if (name.starts_with("EBLA_")) from.variable_names.push_back(name);
    }
    from.config_paths = configs_;
    from.uid = 1000;
    return from;
  }
  Options must(std::vector<std::string> arguments = {}) {
    auto options = read_options(sources(std::move(arguments)));
    EXPECT_TRUE(options) << options.error().text;
    return options ? *std::move(options) : Options();
  }
  Error must_fail(std::vector<std::string> arguments = {}) {
    auto options = read_options(sources(std::move(arguments)));
    EXPECT_FALSE(options);
    return options ? Error() : options.error();
  }
  std::string config(std::string_view name, std::string_view text) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  kit::TempDir folder_;
  std::map<std::string, std::string> variables_ = {{"HOME", "/home/me"}};
  std::vector<std::string> configs_;
};

TEST_F(OptionsTest, Defaults) {
  const Options options = must();
  EXPECT_EQ(options.store, "/home/me/.local/state/ebla/default.db");
  EXPECT_EQ(options.socket, "/tmp/ebla-1000/default.sock");
  EXPECT_EQ(options.options.at("store").origin, "default");
  EXPECT_EQ(options.setting_origins.at("tool_result_tokens").value, "20000");
  variables_["XDG_STATE_HOME"] = "/state";
  variables_["XDG_RUNTIME_DIR"] = "/run/user/1000";
  EXPECT_EQ(must().store, "/state/ebla/default.db");
  EXPECT_EQ(must().socket, "/run/user/1000/ebla/default.sock");
  variables_.clear();
  const Error error = must_fail();
  EXPECT_EQ(error.code, Code::bad_configuration);
  EXPECT_NE(error.text.find("HOME"), std::string::npos);
}

TEST_F(OptionsTest, TheCommandLineCountsMostThenTheEnvironmentThenTheFiles) {
  configs_ = {config("own.conf", "store = /own.db\nthreads = 5\nread_limit = 10\n"),
              config("system.conf",
                     "store=/system.db\nthreads=6\npreview_head=7\nread_limit = 11\nmount=/a\n"
                     "mount = /b\n")};
  Options options = must();
  EXPECT_EQ(options.store, "/own.db");
  EXPECT_EQ(options.threads, 5u);
  EXPECT_EQ(options.settings.read_limit, 10u);
  EXPECT_EQ(options.settings.preview_head, 7u);
  EXPECT_EQ(options.options.at("threads").origin, configs_[0]);
  EXPECT_EQ(options.setting_origins.at("preview_head").origin, configs_[1]);
  ASSERT_EQ(options.mounts.size(), 2u);
  variables_["EBLA_STORE"] = "/environment.db";
  variables_["EBLA_READ_LIMIT"] = "12";
  variables_["EBLA_MOUNT"] = "/x:/large_tool_results=/y";
  options = must();
  EXPECT_EQ(options.store, "/environment.db");
  EXPECT_EQ(options.settings.read_limit, 12u);
  EXPECT_EQ(options.setting_origins.at("read_limit").origin, "environment EBLA_READ_LIMIT");
  ASSERT_EQ(options.mounts.size(), 2u);
  EXPECT_EQ(options.mounts[1].subtree, "/large_tool_results");
  options = must({"--store", "/line.db", "--set", "read_limit=13", "--mount", "/only"});
  EXPECT_EQ(options.store, "/line.db");
  EXPECT_EQ(options.settings.read_limit, 13u);
  EXPECT_EQ(options.mounts.size(), 1u);
  EXPECT_EQ(options.options.at("store").origin, "command line");
}

TEST_F(OptionsTest, AGivenConfigurationStandsForTheDefaultOnes) {
  configs_ = {config("system.conf", "threads = 6\n")};
  const std::string given = config("given.conf", "# nothing but a comment\n\nlog_level = error\n");
  const Options options = must({"--config", given});
  EXPECT_EQ(options.threads, 0u);
  EXPECT_EQ(options.log_level, log::Level::error);
  EXPECT_EQ(must_fail({"--config", folder_ / "absent"}).code, Code::bad_configuration);
}

TEST_F(OptionsTest, UnfitValuesAreNamedWithTheirRange) {
  const auto expect = [&](std::vector<std::string> arguments, std::vector<std::string> words) {
    const Error error = must_fail(arguments);
    EXPECT_EQ(error.code, Code::bad_configuration) << arguments.front();
    for (const std::string& word : words) {
      EXPECT_NE(error.text.find(word), std::string::npos) << error.text << " lacks " << word;
    }
  };
  expect({"--threads", "65"}, {"--threads", "65", "0 to 64"});
  expect({"--threads", "-1"}, {"--threads"});
  expect({"--threads", "4x"}, {"4x"});
  expect({"--log-level", "loud"}, {"loud", "debug, info, warning, error"});
  expect({"--allow-uid", "root"}, {"root", "number"});
  expect({"--ready-fd", "777"}, {"777", "open for writing"});
  expect({"--set", "read_limit=0"}, {"read_limit", "0"});
  expect({"--set", "no_such=1"}, {"no_such"});
  expect({"--mount", ""}, {"--mount"});
  expect({"--store", ""}, {"--store"});
  variables_["EBLA_THREADS"] = "many";
  expect({}, {"EBLA_THREADS", "many"});
  variables_.erase("EBLA_THREADS");
  configs_ = {config("bad.conf", "threads = 4\nstore /x\n")};
  expect({}, {"bad.conf:2"});
  configs_ = {config("bad.conf", "no_key = 4\n")};
  expect({}, {"bad.conf:1", "no_key"});
  configs_ = {config("bad.conf", "threads = 4\nthreads = 5\n")};
  expect({}, {"bad.conf:2", "bad.conf:1"});
  configs_ = {config("bad.conf", "ready-fd = 1\n")};
  expect({}, {"ready-fd"});
}

TEST_F(OptionsTest, WrongUsageIsUsage) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--no-such"},
                                             {"--stor", "/x"},
                                             {"stray"},
                                             {"--store"},
                                             {"--set", "novalue"},
                                             {"--mount", "/m", "--no-mount"}}) {
    EXPECT_EQ(must_fail(arguments).code, Code::usage) << arguments.front();
  }
}

TEST_F(OptionsTest, PathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path();
  const Options options = must({"--store", "a/../b.db", "--socket", "s", "--mount", "m"});
  EXPECT_EQ(options.store, here + "/b.db");
  EXPECT_EQ(options.socket, here + "/s");
  EXPECT_EQ(options.mounts.at(0).directory, here + "/m");
}

TEST_F(OptionsTest, ASocketPathThatIsTooLongHasAShortStandIn) {
  const std::string longer = "/" + std::string(120, 'x') + "/s.sock";
  const Options options = must({"--socket", longer});
  EXPECT_LE(options.socket.size(), kSocketPathBytes);
  EXPECT_EQ(options.socket, usable_socket_path(longer, 1000));
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_NE(options.warnings[0].find(options.socket), std::string::npos);
  variables_["EBLA_SOCKET"] = longer;
  EXPECT_EQ(must().socket, options.socket);
  EXPECT_EQ(default_socket_path(sources({}).environment, 1000), options.socket);
  EXPECT_EQ(usable_socket_path(std::string(kSocketPathBytes, 'x'), 1).size(), kSocketPathBytes);
}

TEST_F(OptionsTest, NoMountUndoesWhatLiesBelowIt) {
  configs_ = {config("c.conf", "mount = /m\n")};
  EXPECT_EQ(must().mounts.size(), 1u);
  EXPECT_EQ(must({"--no-mount"}).mounts.size(), 0u);
  variables_["EBLA_NO_MOUNT"] = "1";
  EXPECT_EQ(must().mounts.size(), 0u);
  EXPECT_EQ(must({"--mount", "/other"}).mounts.size(), 1u);
  variables_["EBLA_NO_MOUNT"] = "maybe";
  EXPECT_EQ(must_fail().code, Code::bad_configuration);
}

TEST_F(OptionsTest, VariablesThatMeanNothingAreSaid) {
  variables_["EBLA_STROE"] = "/x";
  const Options options = must();
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_NE(options.warnings[0].find("EBLA_STROE"), std::string::npos);
}

TEST_F(OptionsTest, SettingsMayBeWrittenAsPeopleDo) {
  configs_ = {config("c.conf",
                     "never = read_file, list\nsize_rule = chars4\nitem_window_share = 0.5\n"
                     "tool_result_tokens.web = 7\nhost_limit = {\"bytes\": 100}\n")};
  const Options options = must({"--set", "always=[\"x\"]"});
  EXPECT_EQ(options.settings.never, (std::set<std::string>{"list", "read_file"}));
  EXPECT_EQ(options.settings.always, (std::set<std::string>{"x"}));
  EXPECT_EQ(options.settings.size_rule, context::SizeRule::chars4);
  EXPECT_EQ(options.settings.tool_tokens.at("web"), 7u);
  EXPECT_EQ(options.settings.host_limit.bytes, 100u);
  EXPECT_EQ(setting_json("size_rule", "\"class\""), "\"class\"");
  EXPECT_EQ(setting_json("never", ""), "[]");
}

// ---- One table, three places.

std::string page(const char* name) {
  auto text = read_file(std::string(EBLA_SOURCE_FOLDER) + "/man/" + name, 1 << 20);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}

TEST(OptionTable, HelpAndManPageHaveEveryOptionAndNoOther) {
  const std::string help = help_text();
  const std::string man = page("eblad.8.scd");
  for (const OptionInfo& option : option_table()) {
    const std::string flag = "--" + std::string(option.name);
    EXPECT_NE(help.find("  " + flag), std::string::npos) << flag;
    EXPECT_NE(man.find("\n*" + flag + "*"), std::string::npos) << flag;
    if (option.variable.empty()) continue;
    EXPECT_NE(help.find("[" + std::string(option.variable) + "]"), std::string::npos);
    EXPECT_NE(man.find("_" + std::string(option.variable) + "_"), std::string::npos)
        << option.variable;
  }
  for (size_t at = man.find("\n*--"); at != std::string::npos; at = man.find("\n*--", at + 1)) {
    const std::string name = man.substr(at + 4, man.find('*', at + 4) - at - 4);
    EXPECT_EQ(std::ranges::count(option_table(), name, &OptionInfo::name), 1) << name;
  }
  for (const context::SettingInfo& setting : context::setting_table()) {
    std::string name(setting.name);
    EXPECT_NE(help.find("  " + name), std::string::npos) << name;
    if (name.ends_with(".*")) name = name.substr(0, name.size() - 1) + "TOOL";
    EXPECT_NE(man.find("|  " + name + "\n"), std::string::npos) << name;
  }
}

TEST(ManPages, ControlHasEveryMethodParameterErrorAndLimit) {
  const std::string man = page("ebla-control.7.scd");
  for (const rpc::Method& method : rpc::methods()) {
    const size_t at = man.find("\n## " + std::string(method.name) + "\n");
    ASSERT_NE(at, std::string::npos) << method.name;
    const std::string section = man.substr(at + 1, man.find("\n## ", at + 2) - at);
    for (const rpc::Param& param : method.params) {
      const size_t line = section.find("\n- *" + std::string(param.name) + "*: ");
      ASSERT_NE(line, std::string::npos) << method.name << " " << param.name;
      const std::string rest = section.substr(line + 1, section.find('\n', line + 1) - line);
      EXPECT_EQ(rest.find(", required") != std::string::npos, param.required) << rest;
    }
  }
  for (int code = 0; code <= static_cast<int>(Code::internal_error); ++code) {
    const CodeInfo& info = code_info(static_cast<Code>(code));
    const std::string row =
        "|  " + std::string(info.name) + "\n:  " + std::to_string(info.rpc_code) + "\n";
    EXPECT_NE(man.find(row), std::string::npos) << row;
  }
}

// limits.h: kFooBytes becomes foo_bytes.
TEST(ManPages, ControlHasEveryLimit) {
  const std::string man = page("ebla-control.7.scd");
  auto header = read_file(std::string(EBLA_SOURCE_FOLDER) + "/schema/base/limits.h", 1 << 20);
  ASSERT_TRUE(header);
  size_t found = 0;
  for (size_t at = header->find(" k"); at != std::string::npos; at = header->find(" k", at + 1)) {
    const size_t end = header->find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", at + 1);
    const std::string name = header->substr(at + 2, end - at - 2);
    if (header->substr(end, 3) != " = " || name == "KiB" || name == "MiB" || name == "GiB") {
      continue;
    }
    std::string snake;
    for (const char byte : name) {
      const bool capital = std::isupper(static_cast<unsigned char>(byte)) != 0;
      if (capital && !snake.empty()) snake += '_';
      snake += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    }
    EXPECT_NE(man.find("|  " + snake + "\n"), std::string::npos) << snake;
    ++found;
  }
  EXPECT_GT(found, 40u);
}

}  // namespace
}  // namespace ebla::daemon
