#!/usr/bin/env python3
"""Makes the named cases of `cmg generate --list` and compares them with cases.json.

Structures (rows, columns, entries, a hash of indptr and indices) have to be equal on every machine; norms of
values and right-hand sides may differ by rounding.

    python3 preassembled/check_cases.py --tool build/tools/cmg               all small ones (under 20 k unknowns)
    python3 preassembled/check_cases.py --tool build/tools/cmg NAME...       these; --all for all of cases.json
    python3 preassembled/check_cases.py --tool build/tools/cmg --write NAME...   measure them anew into cases.json
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE / "cases.json"
SMALL = 20000


def measure(tool, name):
    """Fingerprints of a case, made now."""
    done = subprocess.run([tool, "generate", "--case", name, "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr.strip()}")
    made = json.loads(done.stdout)
    return {"levels": made["levels"], "rhs_norm": made["rhs_norm"]}


def differences(stored, made, path=""):
    """Lines that say where two fingerprints differ."""
    if isinstance(stored, dict) and isinstance(made, dict):
        for key in sorted(stored.keys() | made.keys()):
            yield from differences(stored.get(key), made.get(key), f"{path}/{key}")
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for i, (a, b) in enumerate(zip(stored, made)):
            yield from differences(a, b, f"{path}/{i}")
    elif isinstance(stored, float) and isinstance(made, (float, int)):
        if not math.isclose(stored, made, rel_tol=1e-10):
            yield f"{path}: {made} instead of {stored}"
    elif stored != made:
        yield f"{path}: {made} instead of {stored}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases; without names the small ones")
    parser.add_argument("--tool", default=os.environ.get("CMG_TOOL", "cmg"), help="the command cmg")
    parser.add_argument("--all", action="store_true", help="all cases of cases.json")
    parser.add_argument("--write", action="store_true", help="store what is measured")
    arguments = parser.parse_args()
    stored = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    names = arguments.names or [
        name for name, case in stored.items() if arguments.all or case["levels"][0]["A"]["rows"] < SMALL
    ]
    bad = 0
    for name in names:
        made = measure(arguments.tool, name)
        if arguments.write:
            stored[name] = made
            print(f"{name}: stored")
            continue
        if name not in stored:
            sys.exit(f"{name} is not in {MANIFEST.name}")
        lines = list(differences(stored[name], made))
        bad += bool(lines)
        print(f"{name}: {'differs' if lines else 'the same'}")
        for line in lines:
            print(f"  {line}")
    if arguments.write:
        lines = [f"{json.dumps(name)}: {json.dumps(case)}" for name, case in sorted(stored.items())]
        MANIFEST.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    if not names:
        sys.exit("no cases")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
