"""docs/cli.md lists the options of --help: names, values and defaults, for every command."""

import os
import re
import subprocess
import sys

import cli

ROW = re.compile(r"^\| `--([a-z0-9-]+)(?: ([^`]*))?` \| ([^|]*) \|", re.M)


def sections():
    """Text of docs/cli.md by heading, lower case."""
    with open(os.path.join(cli.SOURCE, "docs", "cli.md"), encoding="utf-8") as file:
        parts = re.split(r"^##+ (.*)$", file.read(), flags=re.M)
    found = {title.strip().lower(): body for title, body in zip(parts[1::2], parts[2::2])}
    found[""] = parts[0]  # the introduction
    return found


def documented(text):
    """Options of a section's tables, and of the shared sections it links to."""
    found = {}
    for name, value, default in ROW.findall(text):
        found[name] = (value.replace("\\|", "|"), default.strip().strip("`"))
    return found


class Docs(cli.Case):
    def test_options_are_those_of_the_help(self):
        everything = sections()
        for command in cli.commands():
            with self.subTest(command=command):
                self.assertTrue(f"cmg {command}" in everything, f"no section ## cmg {command}")
                text = everything[f"cmg {command}"]
                found = documented(text)
                for link in re.findall(r"\(#([a-z-]+)\)", text):
                    found.update(documented(everything.get(link.replace("-", " "), "")))
                options = cli.help_options(command)
                for name in sorted(options.keys() | found.keys()):
                    message = f"cmg {command} --{name}: documented, in the help"
                    self.assertEqual(found.get(name), options.get(name), message)

    def test_tables_are_made_from_the_help(self):
        script = os.path.join(cli.SOURCE, "docs", "option_tables.py")
        done = subprocess.run([sys.executable, "-B", script, cli.TOOL, "--check"], capture_output=True, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_json_keys_are_named(self):
        h = self.path("h")
        cli.write_poisson(h, 8, 2, cli.random_vector(49, 1))
        for command in ("info", "solve", "plan"):
            text = sections()[""] + sections()[f"cmg {command}"]
            named = set(re.findall(r"`([a-z0-9_]+)`", text))
            for key in self.json(command, h):
                self.assertTrue(key in named, f"cmg {command}: JSON key {key} is not documented")


if __name__ == "__main__":
    cli.main()
