#!/usr/bin/env python3
"""A rule that cannot fail is worthless: plants one breach of each kind and expects tidy.py to see it."""
import pathlib
import subprocess
import sys
import tempfile

TIDY = pathlib.Path(__file__).with_name("tidy.py")
LONG_FUNCTION = "int long_one(int a) {\n" + "  ++a;\n" * 80 + "}\n"
PLANTED = {
    "fs/wrong.cc": ('#include "context/item/evict.h"\n', "wrong arrow"),
    "daemon/lowlevel.cc": ("#include <fuse3/fuse_lowlevel.h>\n", "only in fs/"),
    "tools/database.cc": ("#include <sqlite3.h>\n", "only in schema/sqlite/"),
    "schema/tree.h": ("#pragma once\n#include <simdjson.h>\n", "only in .cc"),
    "context/long.cc": (LONG_FUNCTION, "function has"),
    "context/file.cc": ("int x;\n" * 501, "file has 501 lines"),
    "daemon/shell.cc": ('int f() { return system("ls"); }\n', "a shell from the program"),
    "fs/env.cc": ('const char* f() { return getenv("X"); }\n', "at the edges only"),
    "context/later.cc": ("// TODO: later\n", "unfinished work"),
    "schema/guard.h": ("int x;\n", "without #pragma once"),
    "schema/local.cc": ('#include "guard.h"\n', "by their path from the root"),
    "tools/wait.cc": ("void f() { usleep(5); }\n", "never for time to pass"),
    "context/try.cc": ("void f() { try { } catch (int) { } }\n", "exceptions are caught"),
}


def run(folder):
    return subprocess.run([sys.executable, TIDY, folder], capture_output=True, text=True)


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            path = pathlib.Path(folder, "tests", f"clean{number}.cc")
            path.parent.mkdir(exist_ok=True)
            path.write_text("int clean();\n")
        clean = run(folder)
        if clean.returncode != 0:
            print("a clean tree is refused:", clean.stdout)
            failures += 1
        for name, (text, expected) in PLANTED.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            out = run(folder)
            if out.returncode != 1 or f"{name}:" not in out.stdout or expected not in out.stdout:
                print(f"{name}: planted breach not seen ({expected}):\n{out.stdout}")
                failures += 1
            path.unlink()
    print(f"{len(PLANTED)} planted breaches, {failures} missed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
