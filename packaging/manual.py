"""Manual page and shell completions of the command, from what the command says of itself.

    manual.py TOOL FOLDER     writes cmg.1, cmg.bash, _cmg (zsh) and cmg.fish into FOLDER

Everything comes from `cmg --help` and `cmg COMMAND --help`, so that an option is written down once, in its table.
"""

import os
import re
import subprocess
import sys


class Option:
    def __init__(self, name, value, text):
        self.name = name  # with its dashes
        self.value = value  # "" for a flag
        self.text = text
        plain = re.fullmatch(r"[\w.+-]+(\|[\w.+-]+)+", value)
        self.choices = value.split("|") if plain and not re.search(r"[A-Z]{2}", value) else []

    def takes_file(self):
        return bool(re.search(r"FILE|OUT|DIR", self.value))


class Command:
    def __init__(self, name, summary, text):
        self.name = name
        self.summary = summary
        head, *blocks = text.split("\n\n")
        self.usage = head.removeprefix("usage: ")
        self.about = []
        self.groups = []  # (heading, options)
        for block in blocks:
            first, *rest = block.split("\n")
            options = parse_options(rest if first.endswith(":") else [first, *rest])
            if first.endswith(":") and options:
                self.groups.append((first[:-1], options))
            elif options:
                self.groups.append(("Other", options))
            else:
                self.about.append(block)

    def options(self):
        return [option for _, group in self.groups for option in group]


def parse_options(lines):
    """Rows `  --name VALUE   text`, or the text on a line of its own after a long left side."""
    options = []
    for line in lines:
        row = re.match(r"  (?:-\w, )?(--[\w-]+)(?: (\S+))?(?:\s{2,}(\S.*))?$", line)
        if row:
            options.append(Option(row[1], row[2] or "", row[3] or ""))
        elif options and line.startswith(" " * 8):
            options[-1].text = f"{options[-1].text} {line.strip()}".strip()
    return options


def ask(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, encoding="utf-8", check=True).stdout


def read(tool):
    """The help of the tool, and the commands that this build has."""
    text = ask(tool, "--help")
    rows = re.findall(r"^  ([a-z]+) {2,}(\S.*)$", text[text.index("Commands:") :], re.M)
    commands = []
    for name, summary in rows:
        try:
            commands.append(Command(name, summary, ask(tool, name, "--help")))
        except subprocess.CalledProcessError:
            pass  # not in this build
    return text, commands


# ---------------------------------------------------------------- manual page


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def manual(version, text, commands):
    about = text.split("\n\n")[1]
    status = text[text.index("Exit status:") :].split(":", 1)[1]
    out = [
        f'.TH CMG 1 "" "CascadeMG {version}" "User commands"',
        ".SH NAME",
        "cmg \\- " + roff(about.rstrip(".").replace("\n", " ")),
        ".SH SYNOPSIS",
        ".B cmg\n.I COMMAND\n[\\fIoptions\\fR] [\\fIFILE\\fR...]",
        ".SH COMMANDS",
    ]
    for command in commands:
        out += [".TP", f".B {command.name}", roff(command.summary)]
    for command in commands:
        out += [f".SH CMG {command.name.upper()}", f".B {roff(command.usage)}"]
        for block in command.about:
            if not block.startswith("Defaults are"):
                out += [".PP", roff(block)]
        for heading, options in command.groups:
            out += [f".SS {roff(heading)}"]
            for o in options:
                value = f" \\fI{roff(o.value)}\\fR" if o.value else ""
                out += [".TP", f"\\fB{roff(o.name)}\\fR{value}", roff(o.text)]
    out += [".SH EXIT STATUS", roff(" ".join(status.split()))]
    out += [".SH FILES", "Hierarchies are HDF5 containers (.cmg, .h5), directories of Matrix Market or PETSc files, or"]
    out += ["a single matrix; container.md and files.md of the documentation describe them."]
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- completions


def bash(commands):
    out = [
        "# bash completion of cmg",
        "_cmg() {",
        '    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options=',
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{" ".join(c.name for c in commands)} --help --version" -- "$current"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $previous" in',
    ]
    for c in commands:
        for o in c.options():
            if o.choices:
                words = " ".join(o.choices)
                out.append(f'    "{c.name} {o.name}") COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;')
    out += ["    esac", '    case "${COMP_WORDS[1]}" in']
    for c in commands:
        out.append(f'    {c.name}) options="{" ".join(o.name for o in c.options())}" ;;')
    out += [
        "    esac",
        '    if [[ $current == -* ]]; then',
        '        COMPREPLY=($(compgen -W "$options" -- "$current"))',
        "    else",
        '        COMPREPLY=($(compgen -f -- "$current"))',
        "    fi",
        "}",
        "complete -o filenames -F _cmg cmg",
    ]
    return "\n".join(out) + "\n"


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(commands):
    out = ["#compdef cmg", "_cmg() {", "  local -a commands=("]
    out += [f"    '{c.name}:{quoted(c.summary)}'" for c in commands]
    out += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "  fi", "  case $words[2] in"]
    for c in commands:
        rows = []
        for o in c.options():
            text = quoted(re.sub(r"([\[\]:])", r"\\\1", o.text))
            value = ""
            if o.choices:
                value = f":value:({' '.join(o.choices)})"
            elif o.value:
                value = ":value:_files" if o.takes_file() else ":value:"
            rows.append(f"    '{o.name}[{text}]{value}'")
        out += [f"  {c.name}) shift words; (( CURRENT-- )); _arguments \\", *[row + " \\" for row in rows], "    '*:file:_files' ;;"]
    out += ["  esac", "}", '_cmg "$@"']
    return "\n".join(out) + "\n"


def fish(commands):
    names = " ".join(c.name for c in commands)
    out = ["# fish completion of cmg"]
    for c in commands:
        out.append(f"complete -c cmg -f -n 'not __fish_seen_subcommand_from {names}' -a {c.name} -d '{quoted(c.summary)}'")
    for c in commands:
        for o in c.options():
            value = ""
            if o.choices:
                value = f" -x -a '{' '.join(o.choices)}'"
            elif o.value:
                value = " -r -F" if o.takes_file() else " -x"
            text = quoted(o.text)
            out.append(f"complete -c cmg -n '__fish_seen_subcommand_from {c.name}' -l {o.name[2:]}{value} -d '{text}'")
    return "\n".join(out) + "\n"


def main():
    tool, folder = sys.argv[1:]
    version = ask(tool, "--version").split()[1]
    text, commands = read(tool)
    os.makedirs(folder, exist_ok=True)
    files = {
        "cmg.1": manual(version, text, commands),
        "cmg.bash": bash(commands),
        "_cmg": zsh(commands),
        "cmg.fish": fish(commands),
    }
    for name, content in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)


if __name__ == "__main__":
    main()
