// The one table against everything that is written about it: ebla(1), the completions, the enum.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "tests/kit/temp_dir.h"
#include "tools/completions.h"
#include "tools/verb.h"

namespace ebla::tools {
namespace {

using testing::HasSubstr;

std::string source(const std::string& path) {
  auto text = read_file(EBLA_SOURCE_ROOT "/" + path, limits::kMiB);
  EXPECT_TRUE(text) << path;
  return text.value_or("");
}

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

// The part of a page below "## ebla VERB", to the next heading.
std::string section(const std::string& page, std::string_view verb) {
  const std::string heading = "\n## ebla " + std::string(verb);
  const size_t start = std::min(page.find(heading + "\n"), page.find(heading + " "));
  if (start == std::string::npos) {
    return "";
  }
  return page.substr(start, page.find("\n#", start + 1) - start);
}

TEST(Docs, ManPageHasEveryVerbWithItsOptionsAndNoOther) {
  const std::string page = source("man/ebla.1.scd");
  std::set<std::string> names;
  for (const Verb& verb : verbs()) {
    names.emplace(verb.name);
    std::string heading = "## ebla " + std::string(verb.name);
    heading += verb.operands.empty() ? "" : " " + std::string(verb.operands);
    EXPECT_THAT(page, HasSubstr(heading + "\n"));
    std::set<std::string> options;
    for (const Option& option : verb.options) {
      options.emplace(option.name);
      if (!option.value.empty()) {
        EXPECT_THAT(section(page, verb.name), HasSubstr("*--" + std::string(option.name) + "* _" +
                                                        std::string(option.value) + "_\n"));
      }
    }
    EXPECT_EQ(all_matches(section(page, verb.name), "\n\\*--([a-z-]+)\\*"), options) << verb.name;
  }
  EXPECT_EQ(all_matches(page, "\n## ebla ([a-z]+)"), names);
  for (const Option& option : global_options()) {
    EXPECT_THAT(page, HasSubstr("\n*--" + std::string(option.name) + "*"));
  }
}

TEST(Docs, ManPageHasEveryExitStatusAndNoOther) {
  const auto promised = all_matches(source("schema/base/result.h"), "kExit[A-Za-z]+ = ([0-9]+),");
  EXPECT_EQ(all_matches(source("man/ebla.1.scd"), "\n\\|  ([0-9]+)\n"), promised);
  std::set<std::string> used = {"0"};
  for (int i = 0; i <= static_cast<int>(Code::not_running); ++i) {
    used.insert(std::to_string(code_info(static_cast<Code>(i)).exit_status));
  }
  EXPECT_EQ(used, promised);
}

TEST(Docs, CompletionsKnowEveryVerbAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completions(shell);
    ASSERT_TRUE(script);
    for (const Verb& verb : verbs()) {
      EXPECT_THAT(*script, HasSubstr(std::string(verb.name))) << shell;
      for (const Option& option : verb.options) {
        EXPECT_THAT(*script, HasSubstr(std::string(option.name))) << shell;
      }
    }
  }
  EXPECT_FALSE(completions("csh"));
}

// What bash itself offers for a half-written line.
std::string offered(const std::string& words, int at) {
  const kit::TempDir folder("completion");
  auto script = open_file(folder / "ebla", O_WRONLY | O_CREAT, 0600);
  EXPECT_TRUE(script && write_full(script->get(), *completions("bash")));
  const std::string line = "source " + (folder / "ebla") + "; COMP_WORDS=(" + words +
                           "); COMP_CWORD=" + std::to_string(at) +
                           "; _ebla; echo \"${COMPREPLY[*]}\"";
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execlp("bash", "bash", "--norc", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  const UniqueFd from(ends[0]);
  std::string text(4096, '\0');
  text.resize(read_full(from.get(), text.data(), text.size()).value_or(0));
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(Docs, BashCompletesVerbsAndOptions) {
  EXPECT_EQ(offered("ebla sta", 1), "start status stat stats\n");
  EXPECT_EQ(offered("ebla --json --socket /s evi", 4), "evict\n");
  EXPECT_EQ(offered("ebla help se", 2), "sessions\n");
  EXPECT_EQ(offered("ebla evict --li", 2), "--limit-tokens\n");
  EXPECT_EQ(offered("ebla read --j", 2), "--json\n");
  EXPECT_EQ(offered("ebla evict fi", 2), "\n") << "file names are left to the shell";
}

}  // namespace
}  // namespace ebla::tools
