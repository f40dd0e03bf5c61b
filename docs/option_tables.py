#!/usr/bin/env python3
"""The tables of options in docs/cli.md, made from the help of the tool, which is made from the option tables.

    docs/option_tables.py CMG           write them anew (CMG: path of the command)
    docs/option_tables.py CMG --check   only say whether they differ, by the exit status

A table holds the headings of the help that any of its options belongs to. Tables under "Shared options" come
from the help of `cmg solve`.
"""

import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli.md")
TABLE = re.compile(r"(?<=\|---\|---\|---\|\n)(?:\| `--[^\n]*\n)+")


def groups(tool, command):
    """[[(name, value, default, meaning)]] of `cmg COMMAND --help`, by heading."""
    text = subprocess.run([tool, command, "--help"], capture_output=True, encoding="utf-8", check=True).stdout
    found = []
    for block in text.split("\n\n"):
        rows = []
        for head in re.finditer(r"^  --([a-z0-9-]+)((?: |\n)[^\n]*(?:\n {20,}[^\n]*)?)$", block, re.M):
            rest = head.group(2)
            value = re.match(r" (\S+)(?:\s|$)", rest)
            default = re.search(r" \[([^\]]*)\]\s*$", rest)
            meaning = rest[value.end() if value else 0:default.start() if default else len(rest)]
            rows.append((head.group(1), value.group(1) if value else "", default.group(1) if default else "",
                         " ".join(meaning.split())))
        if rows:
            found.append(rows)
    return found


def line(name, value, default, meaning):
    """A row of a table; norms have lines of their own, as a bar would end the cell."""
    option = f"--{name} {value}".rstrip().replace("|", "\\|")
    return f"| `{option}` | {default} | {meaning.replace('||', '‖').replace('|', chr(92) + '|')} |\n"


def rewritten(text, tool):
    help_of = {}
    parts = re.split(r"^(## .*\n)", text, flags=re.M)
    for k in range(1, len(parts), 2):
        title = parts[k][3:].strip()
        command = title[4:] if title.startswith("cmg ") else "solve"
        if command not in help_of:
            help_of[command] = groups(tool, command)

        def table(match):
            here = set(re.findall(r"^\| `--([a-z0-9-]+)", match.group(0), re.M))
            return "".join(line(*row) for rows in help_of[command] if any(row[0] in here for row in rows)
                           for row in rows)

        parts[k + 1] = TABLE.sub(table, parts[k + 1])
    return "".join(parts)


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    made = rewritten(text, sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        sys.exit(0 if made == text else "docs/cli.md: the tables of options are not those of the help; "
                 "docs/option_tables.py CMG writes them anew")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(made)


if __name__ == "__main__":
    main()
