#!/usr/bin/env python3
"""Rules of the house that a machine can check. Usage: tidy.py SOURCE_ROOT [BUILD_ROOT]

Prints one line per breach, `file:line: rule`, and exits 1 when there is any.
"""
import json
import pathlib
import re
import subprocess
import sys

FILE_LINES = 500
FUNCTION_LINES = 70
FOLDERS = ("schema", "fs", "context", "daemon", "tools", "tests")
# Which folders a folder may include. The arrows of ARCHITECTURE.md.
ARROWS = {
    "schema": {"schema"},
    "fs": {"fs", "schema"},
    "context": {"context", "schema"},
    "daemon": {"daemon", "fs", "context", "schema"},
    "tools": {"tools", "schema"},
    "tests": set(FOLDERS),
}
# Header: where it may be included. A folder name, or a file suffix.
ONLY_IN = {
    "fuse3/fuse_lowlevel.h": ("fs/", "tests/fs/", "tests/bench/", "tests/kit/"),
    "fuse_lowlevel.h": ("fs/", "tests/fs/", "tests/bench/", "tests/kit/"),
    "sqlite3.h": ("schema/sqlite/", "tests/schema/", "tests/kit/", "tests/bench/"),
    "simdjson.h": (".cc",),
    "rapidjson/": (".cc",),
    "boost/asio": (".cc",),
}
BANNED = [
    (r"\bstrcpy\s*\(|\bstrcat\s*\(|\bsprintf\s*\(|\bgets\s*\(", "unbounded C string call"),
    (r"(?<![\w:.>])(std::)?system\s*\(|\bpopen\s*\(", "a shell from the program"),
    (r"(?<![\w:.>])rand\s*\(|\bsrand\s*\(", "hidden randomness: pass it in"),
    (r"\busing namespace std\s*;", "using namespace std"),
    (r"\bTODO\b|\bFIXME\b|\bXXX\b(?!XXX)", "unfinished work belongs in the tracker"),
    (r"\bthread\s*\([^)]*\)\s*\.detach\s*\(|\.detach\(\)", "a thread that nobody joins"),
    (r"\bstd::endl\b", "std::endl flushes: use a newline"),
    (r"\bgetenv\s*\(", None),  # only at the edges, see below
]
GETENV_FOLDERS = ("daemon/", "tools/", "tests/", "schema/default_paths")
CATCH_FOLDERS = ("fs/", "daemon/", "tools/", "tests/", "schema/sqlite/writer", "schema/sqlite/")

breaches = []


def breach(path, line, text):
    breaches.append(f"{path}:{line}: {text}")


def check_length(path, lines):
    if len(lines) > FILE_LINES:
        breach(path, len(lines), f"file has {len(lines)} lines, {FILE_LINES} at most: split it")


OPENER = re.compile(r"^(?P<indent> {0,4})(?!namespace\b|class\b|struct\b|enum\b|union\b|extern\b|else\b|\})\S.*\{$")
TYPE = re.compile(r"\b(class|struct|enum|union|namespace)\b[^()]*\{$")


def check_functions(path, lines):
    """A body that opens at indent 0, 2 or 4 at the end of a line ends with a brace at that indent."""
    start, indent = None, ""
    for number, line in enumerate(lines, 1):
        if start is None:
            match = OPENER.match(line)
            is_code = match and "(" in "".join(lines[max(0, number - 6):number])
            if match and is_code and not TYPE.search(line) and not line.rstrip().endswith("= {"):
                start, indent = number, match["indent"]
        elif line.rstrip() in (indent + "}", indent + "};", indent + "});"):
            if number - start > FUNCTION_LINES:
                breach(path, start, f"function has {number - start} lines, {FUNCTION_LINES} at most")
            start = None


INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]')


def check_includes(path, lines):
    folder = path.split("/")[0]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match[1]
        room = target.split("/")[0]
        if '"' in line and "/" in target and room in FOLDERS and room not in ARROWS[folder]:
            breach(path, number, f"wrong arrow: {folder} may not include {room}")
        if '"' in line and room not in FOLDERS and not target.endswith(".inc"):
            breach(path, number, "include our own headers by their path from the root")
        for header, places in ONLY_IN.items():
            if not target.startswith(header):
                continue
            if not any(path.startswith(p) or path.endswith(p) for p in places):
                breach(path, number, f"{header} only in {' '.join(places)}")


def strip_comment(line):
    return re.sub(r"//.*$", "", re.sub(r'"(\\.|[^"\\])*"', '""', line))


def check_calls(path, lines):
    for number, line in enumerate(lines, 1):
        code = strip_comment(line)
        for pattern, text in BANNED:
            if text is None:
                if re.search(pattern, code) and not path.startswith(GETENV_FOLDERS):
                    breach(path, number, "the environment is read at the edges only")
            elif re.search(pattern, line if "unfinished" in text else code):
                breach(path, number, text)
        if re.search(r"\bcatch\s*\(", code) and not path.startswith(CATCH_FOLDERS):
            breach(path, number, "exceptions are caught at a thread's top and at the edges only")
        if path.startswith("tests/") is False and re.search(r"sleep_for|usleep\s*\(|\bsleep\s*\(", code):
            breach(path, number, "product code waits for an event, never for time to pass")


def check_header(path, lines):
    if path.endswith(".h") and not any(line.strip() == "#pragma once" for line in lines):
        breach(path, 1, "header without #pragma once")


PRIVATE_WORDS = re.compile(r"\bissue #?\d", re.IGNORECASE)


def check_words(path, lines):
    if path.startswith("tests/tidy/"):
        return
    for number, line in enumerate(lines, 1):
        match = PRIVATE_WORDS.search(line)
        if match:
            breach(path, number, f"the project speaks of itself alone: {match[0]!r}")


def check_built(files, build_root):
    """Every .cc belongs to a target (the fuzzers are built only on request)."""
    out = subprocess.run(["meson", "introspect", "--targets", build_root], check=True,
                         capture_output=True, text=True).stdout
    built = {str(pathlib.Path(source).resolve())
             for target in json.loads(out)
             for group in target["target_sources"]
             for source in group.get("sources", [])}
    for path in files:
        if path.endswith(".cc") and not path.startswith("tests/fuzz/"):
            if str(pathlib.Path(path).resolve()) not in built:
                breach(path, 1, "no target builds this file")


def main():
    root = pathlib.Path(sys.argv[1])
    build_root = str(pathlib.Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else None
    import os
    os.chdir(root)
    files = sorted(str(p) for folder in FOLDERS for p in pathlib.Path(folder).rglob("*")
                   if p.suffix in (".h", ".cc"))
    if len(files) < 20:
        print(f"only {len(files)} source files below {root}: wrong folder?")
        return 1
    for path in files:
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        for check in (check_length, check_functions, check_includes, check_calls, check_header,
                      check_words):
            check(path, lines)
    texts = [str(p) for folder in ("man", "packaging", ".") for p in pathlib.Path(folder).glob("*")
             if p.is_file() and p.name != ".git" and p.suffix in (".scd", ".md", ".sh", "", ".build")]
    for path in texts:
        check_words(path, pathlib.Path(path).read_text(encoding="utf-8").splitlines())
    if build_root:
        check_built(files, build_root)
    print("\n".join(breaches))
    print(f"{len(files)} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
