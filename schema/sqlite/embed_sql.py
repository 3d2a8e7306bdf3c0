#!/usr/bin/env python3
"""Writes the numbered *.sql files given into one C++ file: embed_sql.py OUTPUT [INPUT...]"""

import pathlib
import re
import sys


def main(output, inputs):
    steps = []
    for path in sorted(map(pathlib.Path, inputs), key=lambda p: p.name):
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", path.name)
        if not match:
            return f"{path.name}: a migration is named NNNN_name.sql"
        version, sql = int(match[1]), path.read_text(encoding="utf-8")
        if version != len(steps) + 1:
            return f"{path.name}: migration {len(steps) + 1} is missing"
        if ')ebla_sql"' in sql:
            return f"{path.name}: contains the end mark of its literal"
        steps.append(f'    {{{version}, "{match[2]}", R"ebla_sql({sql})ebla_sql"}},\n')
    pathlib.Path(output).write_text(
        '#include <array>\n\n#include "schema/sqlite/migrations.h"\n\n'
        "namespace ebla::sqlite {\n\nstd::span<const Migration> migrations() {\n"
        f"  static const std::array<Migration, {len(steps)}> steps{{{{\n{''.join(steps)}  }}}};\n"
        "  return steps;\n}\n\n}  // namespace ebla::sqlite\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
