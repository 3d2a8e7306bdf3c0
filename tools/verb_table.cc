// The one table of verbs and options. Parser, help, completions and ebla(1) follow it.
#include <algorithm>
#include <array>

#include "tools/verb.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

constexpr Option kSession{"session", "KEY", "id or key of the session (default: the shared one)"};

constexpr std::array kGlobal = {
    Option{"socket", "PATH", "socket of the daemon (default: $EBLA_SOCKET, else this user's)"},
    Option{"json", "", "print the daemon's answer as JSON; errors too"},
    Option{"help", "", "show how the verb is used"},
    Option{"version", "", "show the version"},
};

constexpr std::array kEvictOptions = {
    kSession,
    Option{"id", "ID", "id of the tool call, as it is"},
    Option{"tool", "TOOL", "name of the tool, for its own limit and the notice"},
    Option{"kind", "KIND", "tool_result (default) or human"},
    Option{"limit-tokens", "N", "put away above N tokens instead of the session's limit"},
    Option{"force", "", "put away whatever the size, if that makes it shorter"},
};

constexpr std::array kReadOptions = {
    kSession,
    Option{"offset", "N", "lines to skip (default 0)"},
    Option{"limit", "N", "lines to read (default: the setting read_limit)"},
    Option{"column", "N", "bytes to skip in the first line"},
    Option{"numbered", "", "put its number before each line"},
};

constexpr std::array kPathOptions = {kSession};

constexpr std::array kSessionsOptions = {
    Option{"project", "PATH", "only those of this project"},
};

constexpr std::array kVerbs = {
    Verb{"start",
         "[OPTIONS OF EBLAD]",
         "start a daemon that outlives the shell",
         "Starts eblad, waits until it is ready, and prints its mount, store and socket. All\n"
         "options of eblad(8) are passed on. Mounts ~/.ebla unless options or configuration say "
         "otherwise.\n"
         "A daemon that runs already is fine, if it is the one that was asked for.",
         {},
         0,
         Passing::options,
         run_start},
    Verb{"stop",
         "",
         "stop the daemon and wait for its end",
         "Asks the daemon to end, waits until it has, and checks that its mounts are gone.",
         {},
         0,
         Passing::none,
         run_stop},
    Verb{"status",
         "",
         "show what the daemon is and how it is",
         "Shows state, places, mounts, health and warnings of the daemon, and the options and\n"
         "settings that are not at their defaults; --json has all of them.",
         {},
         0,
         Passing::none,
         run_status},
    Verb{"ping",
         "",
         "check that the daemon answers",
         "Connects, says hello, and shows how long the answer took.",
         {},
         0,
         Passing::none,
         run_ping},
    Verb{"sessions", "", "list the sessions", "Lists the sessions with id, time, key and label.",
         kSessionsOptions, 0, Passing::none, run_sessions},
    Verb{"evict", "[FILE]", "put a content away and print what the model should see",
         "Reads FILE, or the standard input, and prints what the model should see in its place,\n"
         "byte for byte: the replacement if it was put away, else the content itself. If anything\n"
         "fails, the content is printed as it came, and the exit status is not 0.",
         kEvictOptions, 1, Passing::filter, run_evict},
    Verb{"read", "PATH", "print lines of a file",
         "Prints a page of a file of the tree. Where to go on is said on the standard error.",
         kReadOptions, 1, Passing::none, run_read},
    Verb{"ls", "[PATH]", "list a folder",
         "Lists a folder of the tree (default: its root): kind, size, time, name.", kPathOptions, 1,
         Passing::none, run_ls},
    Verb{"stat", "PATH", "show what is known of a file",
         "Shows kind, size, times, owner and attributes of a file or folder of the tree.",
         kPathOptions, 1, Passing::none, run_stat},
    Verb{"stats",
         "",
         "show the counters of the daemon",
         "Shows what the store holds and what the daemon has done since its start.",
         {},
         0,
         Passing::none,
         run_stats},
    Verb{"help",
         "[VERB]",
         "show how a verb is used",
         "Shows all verbs, or one of them.",
         {},
         1,
         Passing::none,
         run_help},
    Verb{"version",
         "",
         "show the version",
         "Shows the version of ebla.",
         {},
         0,
         Passing::none,
         run_version},
};

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  const auto* at = std::ranges::find(kVerbs, name, &Verb::name);
  return at == kVerbs.end() ? nullptr : at;
}

std::span<const Option> global_options() {
  return kGlobal;
}

}  // namespace ebla::tools
