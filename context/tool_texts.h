// What a model reads of the reading tools: their definitions, and the lines that Ebla adds to what
// they return. Short, since definitions stand in every request; golden files hold them. The others
// are fmt patterns.
#pragma once

namespace ebla::context::texts {

// Definitions.
inline constexpr char kReadFile[] =
    "Read lines of a stored file; the first line says which, and where to go on";
inline constexpr char kReadPath[] = "as a notice or search names it";
inline constexpr char kReadOffset[] = "lines to skip";
inline constexpr char kReadLimit[] = "lines to read";
inline constexpr char kReadColumn[] = "bytes to skip in the first line";
inline constexpr char kGrepLines[] = "Find lines that hold a text; prints PATH:LINE:text";
inline constexpr char kGrepPattern[] = "taken literally";
inline constexpr char kGrepPath[] = "file or folder; default: all that is stored for you";
inline constexpr char kGrepGlob[] = "only such files: *.log";
inline constexpr char kGrepRegex[] = "pattern is a regular expression";
inline constexpr char kGrepIgnoreCase[] = "";
inline constexpr char kGrepContext[] = "lines around each hit";
inline constexpr char kGrepMode[] = "";
inline constexpr char kListFolder[] = "List a stored folder";
inline constexpr char kListPath[] = "default: /";
inline constexpr char kFindFiles[] = "Find stored files by name: *.log, /a/**/b*, *.{c,h}";
inline constexpr char kFindPath[] = "folder; default: all that is stored for you";
inline constexpr char kAfter[] = "as the last page said";

// read_file. First line of the page.
inline constexpr char kPageLines[] = "lines {}-{} of {}";
inline constexpr char kPageLine[] = "line {} of {}";
inline constexpr char kPageColumn[] = ", from byte {}";
inline constexpr char kPageNone[] = "no line of {}";
inline constexpr char kPageNext[] = "next offset {}";
inline constexpr char kPageNextColumn[] = ", column {}";
inline constexpr char kPageMarked[] = "\\xHH is a byte that is no UTF-8";
inline constexpr char kPageBinary[] = "[{}, {} bytes: no text]\n";
inline constexpr char kIsFolder[] = "{} is a folder: list it with ls";

// grep.
inline constexpr char kRegexHint[] =
    "The pattern was searched as it is written; with regex: true it is a regular expression.";
inline constexpr char kNoHit[] = "No line holds this, in {} {}.\n";
inline constexpr char kNoMatch[] = "No line matches, in {} {}.\n";
inline constexpr char kNearest[] = "Nearest lines, not the text itself:\n";
inline constexpr char kStopped[] = "[there is more: {} {} shown; narrow pattern, path or glob]\n";
inline constexpr char kTimedOut[] = "[out of time: this is not everything; narrow path or glob]\n";
inline constexpr char kUnreadable[] = "[{} {} could not be read: {}]\n";

// ls and glob.
inline constexpr char kEntries[] = "[{} of {} {}{}]\n";
inline constexpr char kNextAfter[] = "; next: after {}";
inline constexpr char kNoName[] = "No name matches.\n";

// Faults of a call.
inline constexpr char kUnknownTool[] = "There is no tool {}; there are {}.";
inline constexpr char kUnknownArgument[] = "{} takes no {}{}; it takes {}.";
inline constexpr char kDidYouMean[] = ": did you mean {}?";
inline constexpr char kMissingArgument[] = "{} needs {}.";
inline constexpr char kWrongArgument[] = "{}: {} is not {}.";
inline constexpr char kWrongArguments[] = "The arguments must be one JSON object{}.";

}  // namespace ebla::context::texts
