#!/usr/bin/env python3
"""Prints the measurements of a build. Usage: table.py BUILD [OPTION...]

Options go to the program `rows`: --row P1 (repeatable), --rounds N, --folder DIR on a real disk,
--passthrough FILE (libfuse's example passthrough_hp, which the distribution does not package).
"""
import pathlib
import subprocess
import sys

if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
build = pathlib.Path(sys.argv[1]).resolve()
rows = build / "tests/bench/rows"
if not rows.exists():
    sys.exit(f"{rows} is not built: meson setup {build} --buildtype=release && ninja -C {build}")
sys.exit(subprocess.run([rows, "--eblad", build / "daemon/eblad", "--nullfs",
                         build / "tests/bench/nullfs", *sys.argv[2:]]).returncode)
