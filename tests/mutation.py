"""Flips operators in the sources at random, builds, runs tests, and prints what no test noticed.

    python3 tests/mutation.py --number 300 --seed 1 --build build-mutation --log mutants.jsonl [--under src/mg]
    python3 tests/mutation.py --again mutants.jsonl     # the survivors of an earlier run once more

The tests of the folder of the flipped line run first, then all others, the quick ones before the slow; the first that
fails ends a mutant. One that does not compile, or compiles to the same library, does not count. The tests link the
library as a shared one, so that a mutant costs one compilation and few links. Every verdict goes to
the log as it is known, and a run goes on behind what its log has. Sources are put back, also after an interrupt. Work
in a clone: other programs see the mutants while they are built.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import xml.etree.ElementTree

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "++": "--", "--": "++",
}  # fmt: skip
# an operator between blanks, as clang-format sets them; or an increment
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+*/-])(?= )|(\+\+|--)")
QUICK = 1.0  # seconds
MEMORY = 8 << 30  # a mutant that asks for more address space is ended, and so noticed
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources(under):
    for folder, _, names in sorted(os.walk(os.path.join(TOP, under))):
        for name in sorted(names):
            if name.endswith((".c", ".inc")):
                yield os.path.relpath(os.path.join(folder, name), TOP)


def places(path):
    """The text of a file, and (position, operator) outside comments, texts and preprocessor lines."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    blank = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'|^[ \t]*#[^\n]*(\\\n[^\n]*)*",
                   lambda m: re.sub(r"[^\n]", "_", m.group()), text, flags=re.S | re.M)
    return text, [(m.start(), m.group()) for m in OPERATOR.finditer(blank) if m.group() in SWAPS]


def run(command, seconds, memory=False):
    """Exit status of a command, or None where it took too long; the whole group is ended then."""
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                           preexec_fn=limit)
    try:
        return job.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return None


class Build:
    """A build folder, the tests in it and how long each of them takes."""

    def __init__(self, folder, skip, only_near):
        self.folder = folder
        self.only_near = only_near
        if not os.path.exists(os.path.join(folder, "CMakeCache.txt")):
            subprocess.run(["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMG_WITH_CUDA=OFF",
                            "-DCMG_NESTED_TESTS=OFF", "-DCMG_EXAMPLES=OFF", "-DBUILD_SHARED_LIBS=ON",
                            "-DCMG_INTERNAL_TYPE=SHARED", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DCMG_BENCHMARKS=OFF",
                            f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
        report = os.path.join(os.path.abspath(folder), "mutation.xml")
        if self.make() != 0:
            sys.exit("the build fails without a mutant")
        self.clean = self.archives()
        tested = os.path.join(folder, "mutation.tested")  # the archives that the report is of
        if not os.path.exists(tested) or open(tested, encoding="utf-8").read() != self.clean:
            if run(["ctest", "--test-dir", folder, "-E", skip, "--output-junit", report, "-j", str(os.cpu_count())], 3600, True) != 0:
                sys.exit("the tests fail without a mutant, see " + report)
            with open(tested, "w", encoding="utf-8") as f:
                f.write(self.clean)
        cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
        self.seconds = {c.get("name"): float(c.get("time")) for c in cases if c.get("status") == "run"}

    def make(self):
        return run(["cmake", "--build", self.folder, "-j", str(os.cpu_count())], 1800)

    def archives(self):
        found = hashlib.sha256()
        for folder, _, names in os.walk(self.folder):
            for name in sorted({"libcmg_internal.so", "libcmgfem_internal.so"}.intersection(names)):
                with open(os.path.join(folder, name), "rb") as f:
                    found.update(f.read())
        return found.hexdigest()

    def noticed_by(self, folder):
        """The group of tests of which one fails, or None: those of the folder, the quick ones, the others."""
        order = sorted(self.seconds, key=self.seconds.get)
        near = [n for n in order if n.startswith(folder + ".") and self.seconds[n] < 10 * QUICK]
        quick = [n for n in order if self.seconds[n] < QUICK and n not in near]
        groups = {"near": near, "quick": quick, "slow": [n for n in order if n not in near and n not in quick]}
        for group, names in groups.items():
            if self.only_near and group != "near":
                break
            regex = "^(" + "|".join(map(re.escape, names)) + ")$"
            seconds = 60 + 10 * sum(self.seconds[n] for n in names)
            if names and run(["ctest", "--test-dir", self.folder, "-R", regex, "--stop-on-failure", "-j", str(os.cpu_count()),
                              "--timeout", "200"], seconds, True) != 0:
                return group
        return None


def judge(build, path, at, op):
    """Verdict of one mutant: "same", "survived", or the test that noticed it."""
    text, _ = places(path)
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text[:at] + SWAPS[op] + text[at + len(op):])
        if build.make() != 0 or build.archives() == build.clean:
            return "same"
        return build.noticed_by(path.split(os.sep)[1]) or "survived"
    finally:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def wanted(a, known):
    """(path, position, operator) of the mutants to try: random ones, or the survivors of an earlier log."""
    if not a.again:
        every = [(path, at, op) for path in sources(a.under) for at, op in places(path)[1]]
        return random.Random(a.seed).sample(every, min(a.number, len(every)))
    found = []
    with open(a.again, encoding="utf-8") as f:
        for m in map(json.loads, f):
            if m["verdict"] == "survived" and os.path.exists(m["path"]):
                text, all_places = places(m["path"])
                lines = text.splitlines()
                same = [(at, op) for at, op in all_places
                        if op == m["op"] and lines[text.count("\n", 0, at)].strip() == m["line"]]
                found += [(m["path"], *same[min(m["nth"], len(same) - 1)])] if same else []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=30, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="src", help="folder of the sources")
    parser.add_argument("--build", default="build-mutation", help="folder of the build, made if it is not there")
    parser.add_argument("--skip", default="^(package|docs|fault)[.]", help="regular expression of tests that are not run")
    parser.add_argument("--near", action="store_true", help="tests of the folder alone: quick, and a lower bound of what is noticed")
    parser.add_argument("--log", default="mutants.jsonl", help="a line a mutant")
    parser.add_argument("--again", help="an earlier log: its survivors instead of random mutants")
    a = parser.parse_args()
    os.chdir(TOP)
    known = {}
    if os.path.exists(a.log):
        with open(a.log, encoding="utf-8") as f:
            known = {m["what"]: m for m in map(json.loads, f)}
    build = Build(a.build, a.skip, a.near)
    for path, at, op in wanted(a, known):
        text, every = places(path)
        number = text.count("\n", 0, at) + 1
        line = text.splitlines()[number - 1]
        start = text.rfind("\n", 0, at) + 1
        what = f"{path}:{number}:{at - start + 1}: {op} -> {SWAPS[op]}: {line.strip()}"
        if what in known:
            continue
        nth = [p for p, o in every if o == op and text.splitlines()[text.count("\n", 0, p)] == line].index(at)
        known[what] = {"what": what, "path": path, "op": op, "line": line.strip(), "nth": nth,
                       "verdict": judge(build, path, at, op)}
        with open(a.log, "a", encoding="utf-8") as f:
            f.write(json.dumps(known[what]) + "\n")
        if known[what]["verdict"] == "survived":
            print("survived:", what, flush=True)
    build.make()
    count = [m for m in known.values() if m["verdict"] != "same"]
    survived = [m for m in count if m["verdict"] == "survived"]
    print(f"{len(count)} mutants that change anything, {len(count) - len(survived)} noticed, {len(survived)} survived")


if __name__ == "__main__":
    main()
