"""Flips operators in the sources at random, builds, runs tests, and prints what no test noticed.

    python3 tests/mutation.py --number 300 --seed 1 --build build-mutation [--tests REGEX] [--under src/mg]

A mutant that does not compile, or compiles to the same object, does not count. Sources are put back, also after an
interrupt. Work in a clone: other programs see the mutants while they are built.
"""

import argparse
import hashlib
import os
import random
import re
import signal
import subprocess
import sys

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "++": "--", "--": "++",
}  # fmt: skip
# an operator between blanks, as clang-format sets them; or an increment
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+*/-])(?= )|(\+\+|--)")


def sources(top, under):
    for folder, _, names in sorted(os.walk(os.path.join(top, under))):
        for name in sorted(names):
            if name.endswith((".c", ".inc")):
                yield os.path.join(folder, name)


def places(path):
    """(position, operator) of every operator outside comments, texts and preprocessor lines."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    blank = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'|^[ \t]*#[^\n]*(\\\n[^\n]*)*",
                   lambda m: re.sub(r"[^\n]", "_", m.group()), text, flags=re.S | re.M)
    return text, [(m.start(), m.group()) for m in OPERATOR.finditer(blank) if m.group() in SWAPS]


def run(command, seconds):
    """Exit status of a command, or None where it took too long; the whole group is ended then."""
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return job.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return None


def archive_hash(build):
    found = hashlib.sha256()
    for name in ("libcmg.a", "libcmgfem.a"):
        for folder, _, names in os.walk(build):
            if name in names:
                with open(os.path.join(folder, name), "rb") as f:
                    found.update(f.read())
    return found.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=30, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="src", help="folder of the sources")
    parser.add_argument("--build", default="build-mutation", help="folder of the build, made if it is not there")
    parser.add_argument("--tests", default=".", help="regular expression of the tests to run")
    parser.add_argument("--seconds", type=int, default=900, help="for the tests of one mutant")
    a = parser.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.chdir(top)
    if not os.path.exists(os.path.join(a.build, "CMakeCache.txt")):
        subprocess.run(["cmake", "-S", ".", "-B", a.build, "-DCMG_WITH_CUDA=OFF", "-DCMG_NESTED_TESTS=OFF"], check=True)
    build = ["cmake", "--build", a.build, "-j", str(os.cpu_count())]
    test = ["ctest", "--test-dir", a.build, "--stop-on-failure", "-j", str(os.cpu_count()), "-R", a.tests]
    if run(build, 3600) != 0 or run(test, 3600) != 0:
        sys.exit("the tests fail without a mutant")
    clean = archive_hash(a.build)
    rng = random.Random(a.seed)
    every = [(path, at, op) for path in sources(top, a.under) for at, op in places(path)[1]]
    noticed, survived = 0, []
    for path, at, op in rng.sample(every, min(a.number, len(every))):
        text, _ = places(path)
        line = text.count("\n", 0, at) + 1
        what = f"{os.path.relpath(path, top)}:{line}: {op} -> {SWAPS[op]}: {text.splitlines()[line - 1].strip()}"
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text[:at] + SWAPS[op] + text[at + len(op):])
            if run(build, 1800) != 0 or archive_hash(a.build) == clean:
                continue
            if run(test, a.seconds) == 0:
                survived.append(what)
                print("survived:", what, flush=True)
            else:
                noticed += 1
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    run(build, 3600)
    print(f"{noticed + len(survived)} mutants that change anything, {noticed} noticed, {len(survived)} survived")


if __name__ == "__main__":
    main()
