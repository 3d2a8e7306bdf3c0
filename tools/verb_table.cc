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

constexpr std::array kGrepOptions = {
    kSession,
    Option{"glob", "GLOB", "only files whose names fit, such as *.log"},
    Option{"mode", "MODE", "content (default), files or count"},
    Option{"context", "N", "lines around each hit"},
    Option{"max-count", "N", "stop after N hits (default: the setting grep_max_count)"},
    Option{"regex", "", "PATTERN is a regular expression (RE2), not a text"},
    Option{"ignore-case", "", "upper and lower case are the same"},
    Option{"after", "PLACE", "go on where a search stopped, as it said"},
};

constexpr Option kIfEtag{"if-etag", "ETAG", "only if the file is still this, as stat shows it"};

constexpr std::array kWriteOptions = {
    kSession,
    Option{"append", "", "add at the end of the file, in place"},
    Option{"parents", "", "make the folders that are missing"},
    kIfEtag,
};

constexpr std::array kEditOptions = {
    kSession,
    Option{"all", "", "every place, not the only one"},
    Option{"old-file", "FILE", "take OLD from a file"},
    Option{"new-file", "FILE", "take NEW from a file"},
    kIfEtag,
};

constexpr std::array kMkdirOptions = {
    kSession,
    Option{"parents", "", "make all that are missing; one that is there is fine"},
    Option{"mode", "MODE", "octal (default: 0755)"},
};

constexpr std::array kMvOptions = {
    kSession,
    Option{"replace", "", "take the place of what has the new name"},
};

constexpr std::array kMountOptions = {
    Option{"read-only", "", "let nobody change anything there"},
    Option{"no-exec", "", "let nobody run programs from there"},
    Option{"allow-other", "", "let other users in, as far as modes and owners allow"},
};

constexpr std::array kSessionsOptions = {
    Option{"project", "PATH", "only those of this project"},
    Option{"close", "KEY", "mark this one as closed; its files stay readable"},
};

constexpr std::array kPrepareOptions = {
    Option{"session", "KEY", "id or key of the session; needed"},
    Option{"window", "N", "tokens of the model's window (default: what is known of the model)"},
    Option{"model", "M", "the model, where the input names none"},
    Option{"format", "F", "anthropic, openai, responses or langchain (default: detected)"},
    Option{"dry-run", "", "store nothing, and print what would be decided"},
};

constexpr std::array kHistoryOptions = {
    kSession,
    Option{"list", "", "show the sections in place of their text"},
    Option{"section", "N", "print one section"},
    Option{"message", "N", "print one message, the newest of that number"},
    Option{"append", "", "append the messages of FILE that the history does not hold"},
    Option{"format", "F", "format of FILE (default: detected)"},
};

constexpr std::array kEventsOptions = {
    Option{"session", "KEY", "only those of this session"},
    Option{"after", "ID", "those behind this event, oldest first"},
    Option{"limit", "N", "at most N at once (default 100)"},
    Option{"follow", "", "go on with those that come"},
};

constexpr std::array kFsckOptions = {
    Option{"repair", "", "mend what can be mended; no daemon may hold the store"},
    Option{"quick", "", "do not read the bytes of the files"},
};

constexpr std::array kTryOptions = {
    Option{"window", "N", "tokens of the model's window (default: what is known of the model)"},
    Option{"model", "M", "the model, in place of the transcript's"},
    Option{"brief", "", "the totals alone"},
    Option{"price-input", "P", "for a million tokens of input (default, an example: 3.00)"},
    Option{"price-cache-read", "P", "for those read from a cache (default, an example: 0.30)"},
    Option{"price-cache-write", "P", "for those written to it (default, an example: 3.75)"},
    Option{"price-output", "P", "for a million tokens of output (default, an example: 15.00)"},
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
    Verb{"mount", "[SUBTREE=]DIR", "show the tree at one more folder",
         "Has the daemon that runs show the tree, or the part of it below SUBTREE, at DIR, until "
         "it is\n"
         "unmounted or the daemon ends.",
         kMountOptions, 1, Passing::none, run_mount},
    Verb{"unmount",
         "DIR",
         "take a mount of the daemon away",
         "Has the daemon that runs take its mount away from DIR, if nobody uses it.",
         {},
         1,
         Passing::none,
         run_unmount},
    Verb{"sessions", "", "list the sessions, or close one",
         "Lists the sessions with id, time, parent, folder, key and label; --close marks one as\n"
         "closed.",
         kSessionsOptions, 0, Passing::none, run_sessions},
    Verb{"evict", "[FILE]", "put a content away and print what the model should see",
         "Reads FILE, or the standard input, and prints what the model should see in its place,\n"
         "byte for byte: the replacement if it was put away, else the content itself. If anything\n"
         "fails, the content is printed as it came, and the exit status is not 0.",
         kEvictOptions, 1, Passing::filter, run_evict},
    Verb{"prepare", "[FILE]", "print the request that the model should get",
         "Reads a request that is about to be sent, or the list of its messages, and prints the\n"
         "one to send in its place. What was decided goes to the standard error. If anything\n"
         "fails, what came is printed, and the exit status is not 0.",
         kPrepareOptions, 1, Passing::filter, run_prepare},
    Verb{"history", "[FILE]", "show what was said before the summary, or add to it",
         "Prints the history of a session: whole, one section or one message of it, or the list\n"
         "of its sections.",
         kHistoryOptions, 1, Passing::none, run_history},
    Verb{"events", "", "show what was decided",
         "Prints one decision a line: id, time, session, what, tokens before and after, path.",
         kEventsOptions, 0, Passing::none, run_events},
    Verb{"try", "TRANSCRIPT", "show what Ebla would have saved you",
         "Replays a transcript of Claude Code or Codex, a request, a list of messages, or one\n"
         "message a line, on a daemon and store of its own that are gone afterwards, and shows\n"
         "what would have been put away, and tokens and prices with Ebla and without. All counts\n"
         "are estimates.",
         kTryOptions, 1, Passing::none, run_try},
    Verb{"read", "PATH", "print lines of a file",
         "Prints a page of a file of the tree. Where to go on is said on the standard error.",
         kReadOptions, 1, Passing::none, run_read},
    Verb{"grep", "PATTERN [PATH]", "find the lines that hold a text",
         "Prints a hit a line, PATH:LINE: first, of a file or of all below a folder (default: all\n"
         "that the session may see). Notes go to the standard error. Exits with 1 when no line\n"
         "holds the text.",
         kGrepOptions, 2, Passing::none, run_grep},
    Verb{"glob", "PATTERN [PATH]", "find files by name",
         "Prints the paths that fit a pattern: *.py at any depth, src/**/*.{c,h} from PATH on.\n"
         "Exits with 1 when there is none.",
         kPathOptions, 2, Passing::none, run_glob},
    Verb{"ls", "[PATH]", "list a folder",
         "Lists a folder of the tree (default: its root): kind, size, time, name.", kPathOptions, 1,
         Passing::none, run_ls},
    Verb{"stat", "PATH", "show what is known of a file",
         "Shows kind, size, times, owner and attributes of a file or folder of the tree.",
         kPathOptions, 1, Passing::none, run_stat},
    Verb{"write", "PATH [FILE]", "write a file of the tree",
         "Gives a file of the tree the content of FILE, or of the standard input, as a whole: who\n"
         "has it open goes on with the old one. Returns when it is on disk.",
         kWriteOptions, 2, Passing::none, run_write},
    Verb{"edit", "PATH OLD NEW", "replace one text of a file by another",
         "Puts NEW in the place of OLD, a text that is there exactly once, or everywhere.",
         kEditOptions, 3, Passing::none, run_edit},
    Verb{"rm", "PATH...", "remove files and folders",
         "Removes files, and folders with all that is in them. What Ebla keeps stays: histories,\n"
         "messages, its folders; the exit status is 1 then.",
         kPathOptions, 1'000, Passing::none, run_rm},
    Verb{"mkdir", "PATH", "make a folder", "Makes a folder in the tree.", kMkdirOptions, 1,
         Passing::none, run_mkdir},
    Verb{"mv", "OLD NEW", "give a file or folder another name",
         "Moves a file or folder of the tree; NEW is the whole new path.", kMvOptions, 2,
         Passing::none, run_mv},
    Verb{"stats",
         "",
         "show the counters of the daemon",
         "Shows what the store holds and what the daemon has done since its start.",
         {},
         0,
         Passing::none,
         run_stats},
    Verb{
        "fsck", "[STORE]", "check the files of a store, and mend them",
        "Checks all that must hold in a store, and prints a line for each problem, then a "
        "summary.\n"
        "Works without a daemon, and beside one as long as nothing is to be mended.\n"
        "Exits with 0 when the store is clean, 1 when all was mended, 4 when something is left, 8\n"
        "when it could not be checked, 16 when the command is wrong.",
        kFsckOptions, 1, Passing::none, run_fsck, fsck_status},
    Verb{"salvage",
         "STORE FOLDER",
         "copy what can be read of a damaged store",
         "Copies every file that can be read out of a store that no daemon opens any more into a "
         "new\n"
         "FOLDER, and lists what could not be read. The store is only read. Exits with 1 when\n"
         "something is missing.",
         {},
         2,
         Passing::none,
         run_salvage},
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
