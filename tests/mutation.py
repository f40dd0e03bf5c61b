"""Flips operators in the sources at random, builds, runs tests, and prints what no test noticed.

    python3 tests/mutation.py --number 300 --seed 1 --log mutants.jsonl --most 3    # tests of up to 3 s
    python3 tests/mutation.py --again --log mutants.jsonl                           # survivors once more, all tests
    python3 tests/mutation.py --again --log mutants.jsonl --part 3/16               # every 16th of them, in a copy

The first run builds and times every test. A mutant costs one compilation and the links of the shared libraries; what it
changed is then put back from copies, also after an interrupt. The tests of the folder of the flipped line run first,
then all others, those first that noticed most a second; the first that fails ends a mutant, and so does one that takes
several times its processor time. Verdicts: not built (the file is not in this build), not compiled, same (as machine
code), survived, or the test that noticed. Every verdict goes to the log as it is known, and a run goes on behind what
its log has; the last line of a mutant counts. One that a reader finds to change nothing gets the verdict "equivalent"
and a "reason" there by hand. Work in a clone: other programs see the mutants while they are built.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "++": "--", "--": "++",
}  # fmt: skip
# an operator between blanks, as clang-format sets them; or an increment
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+*/-])(?= )|(\+\+|--)")
MEMORY = 8 << 30  # a mutant that asks for more address space is ended, and so noticed
CHANGES_NOTHING = ("not built", "not compiled", "same", "equivalent")
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
    blank = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'|^[ \t]*#(\\\n|[^\n])*",
                   lambda m: re.sub(r"[^\n]", "_", m.group()), text, flags=re.S | re.M)
    return text, [(m.start(), m.group()) for m in OPERATOR.finditer(blank) if m.group() in SWAPS]


class Test:
    """One test of ctest, run without it."""

    def __init__(self, entry, sanitized):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry["command"]
        self.folder = properties.get("WORKING_DIRECTORY")
        self.env = dict(os.environ, **dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", [])))
        self.passes = {0, properties.get("SKIP_RETURN_CODE", 0)}
        self.seconds = None  # of processor time
        self.noticed = 0
        self.memory = resource.RLIM_INFINITY if sanitized else MEMORY

    def run(self, most=None):
        """Whether it passes in so many seconds of processor time, and those it took with its children."""
        most = math.ceil(2 + 4 * self.seconds) if most is None else math.ceil(most)

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))

        job = subprocess.Popen(self.command, cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
        late = threading.Timer(20 + 10 * most, os.killpg, (job.pid, signal.SIGKILL))  # one that sleeps for ever
        late.daemon = True
        late.start()
        _, status, used = os.wait4(job.pid, 0)
        late.cancel()
        try:
            os.killpg(job.pid, signal.SIGKILL)  # what it left running
        except ProcessLookupError:
            pass
        job.returncode = os.waitstatus_to_exitcode(status)
        return job.returncode in self.passes, used.ru_utime + used.ru_stime


class Build:
    """A build folder, copies of its libraries without a mutant, and its tests."""

    def __init__(self, folder, skip, most, near, sanitize, jobs, cmake):
        self.folder = os.path.abspath(folder)
        self.jobs = jobs
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            subprocess.run(["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMG_WITH_CUDA=OFF", "-DCMG_INSTALL=OFF",
                            "-DCMG_NESTED_TESTS=OFF", "-DCMG_EXAMPLES=OFF", "-DBUILD_SHARED_LIBS=ON",
                            "-DCMG_INTERNAL_TYPE=SHARED", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DCMG_BENCHMARKS=OFF",
                            f"-DCMG_SANITIZE={'ON' if sanitize else 'OFF'}",
                            f"-DPython3_EXECUTABLE={sys.executable}", *cmake], check=True)
        if not self.make():
            sys.exit("the build fails without a mutant")
        self.objects = self.dependents()
        self.copies = os.path.join(self.folder, "mutation.copies")
        self.libraries = [os.path.join(at, n) for at, _, names in os.walk(self.folder) for n in names
                          if re.search(r"\.so(\.[0-9.]+)?$", n) and not os.path.islink(os.path.join(at, n))
                          and not at.startswith(self.copies)]
        os.makedirs(self.copies, exist_ok=True)
        self.keep(self.libraries)
        self.clean = self.digest()
        listed = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
        tests = [Test(t, sanitize) for t in json.loads(listed.stdout)["tests"] if not re.search(skip, t["name"])]
        self.time(tests, min(max(most, near), 300))
        self.near = [t for t in tests if t.seconds <= max(most, near) and not math.isinf(t.seconds)]
        self.tests = [t for t in self.near if t.seconds <= most]
        print(f"{len(self.tests)} of {len(tests)} tests, {sum(t.seconds for t in self.tests):.0f} s of processor time", flush=True)

    def make(self):
        job = subprocess.Popen(["cmake", "--build", self.folder, "-j", str(self.jobs)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return job.wait() == 0
        except BaseException:
            os.killpg(job.pid, signal.SIGKILL)  # a compiler left alone would write its object later
            job.wait()
            raise

    def dependents(self):
        """{source: objects that are made from it}, from ninja's own records."""
        found, target = collections.defaultdict(list), None
        for line in subprocess.run(["ninja", "-C", self.folder, "-t", "deps"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n"):
            if line and not line.startswith(" "):
                target = os.path.join(self.folder, line.split(": ")[0])
            elif line.strip():
                path = os.path.relpath(os.path.join(self.folder, line.strip()), TOP)
                if path.startswith("src" + os.sep):
                    found[path].append(target)
        return found

    def copy_of(self, path):
        return os.path.join(self.copies, os.path.relpath(path, self.folder).replace(os.sep, "@"))

    def keep(self, paths):
        for path in paths:
            shutil.copyfile(path, self.copy_of(path))

    def put_back(self, paths):
        """The copies, with the times of what they replace, so that ninja sees nothing to do."""
        for path in paths:
            if os.path.exists(path):
                now = os.stat(path)
                shutil.copyfile(self.copy_of(path), path)
                os.utime(path, ns=(now.st_atime_ns, now.st_mtime_ns))

    def digest(self):
        found = hashlib.sha256()
        for path in self.libraries:
            with open(path, "rb") as f:
                found.update(f.read())
        return found.hexdigest()

    def time(self, tests, most):
        """Seconds of every test without a mutant, as measured once for these libraries."""
        name = os.path.join(self.folder, "mutation.seconds")
        known = {}
        if os.path.exists(name):
            with open(name, encoding="utf-8") as f:
                known = json.load(f)
        if known.get("libraries") != self.clean:
            known = {"libraries": self.clean}
        fresh = [test for test in tests if test.name not in known]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, (passed, seconds) in zip(fresh, pool.map(lambda test: test.run(most), fresh)):
                known[test.name] = seconds if passed else math.inf
                if not passed:
                    print("fails or takes too long without a mutant, left out:", test.name, flush=True)
        for test in tests:
            test.seconds = known[test.name]
        with open(name, "w", encoding="utf-8") as f:
            json.dump(known, f)

    def noticed_by(self, path):
        """
        The test that fails, or None: those of the folder and of a word of the file's name, then all; those first that
        share a word or noticed most a second.
        """
        folder = {"mpi": "dist"}.get(path.split(os.sep)[1], path.split(os.sep)[1])
        words = {w for w in re.split("[_.]", os.path.basename(path)) if len(w) > 3}

        def kin(test):
            return not words.isdisjoint(re.split("[_.]", test.name))

        near = [t for t in self.near if kin(t) or t.name.startswith(folder + ".")]
        for left in near, [t for t in self.tests if t not in near]:
            while left:
                test = min(left, key=lambda t: (0.05 + t.seconds) / (1 + t.noticed) / (20 if kin(t) else 1))
                left.remove(test)
                if not test.run()[0]:
                    test.noticed += 1
                    return test.name
        return None

    def judge(self, path, at, op):
        """Verdict of one mutant."""
        objects = self.objects[path]
        if not objects:
            return "not built"
        text, _ = places(path)
        before = os.stat(path)
        self.keep(objects)
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text[:at] + SWAPS[op] + text[at + len(op):])
            if not self.make():
                return "not compiled"
            if self.digest() == self.clean:
                return "same"
            return self.noticed_by(path) or "survived"
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.put_back(objects + self.libraries)


def identity(m):
    """What names a mutant when lines were moved."""
    return m["path"], m["line"], m["op"], m["nth"]


def describe(path, at, op):
    text, every = places(path)
    lines = text.splitlines()
    number = text.count("\n", 0, at)
    same = [p for p, o in every if o == op and lines[text.count("\n", 0, p)] == lines[number]]
    column = at - text.rfind("\n", 0, at)
    line = lines[number].strip()
    return {"what": f"{path}:{number + 1}:{column}: {op} -> {SWAPS[op]}: {line}", "path": path, "op": op, "line": line,
            "nth": same.index(at)}


def wanted(a, known):
    """(path, position, operator) of the mutants to try: random ones, or the survivors of the log."""
    if not a.again:
        every = [(path, at, op) for path in sources(a.under) for at, op in places(path)[1]]
        chosen = random.Random(a.seed).sample(every, min(a.number, len(every)))
        return [c for c in chosen if identity(describe(*c)) not in known]
    found = []
    for m in known.values():
        if m["verdict"] == "survived" and os.path.exists(m["path"]):
            found += [(m["path"], at, op) for at, op in places(m["path"])[1] if identity(describe(m["path"], at, op)) == identity(m)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=30, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="src", help="folder of the sources")
    parser.add_argument("--build", default="build-mutation", help="folder of the build, made if it is not there")
    parser.add_argument("--skip", default="^(package|docs|fault|fuzz)[.]", help="regular expression of tests that are not run")
    parser.add_argument("--most", type=float, default=1e9, help="leave out tests that take more seconds: a lower bound of what is noticed")
    parser.add_argument("--near", type=float, default=10, help="the same for tests of the folder of the flipped line")
    parser.add_argument("--sanitize", action="store_true", help="make the build with the address sanitizer")
    parser.add_argument("--log", default="mutants.jsonl", help="a line a verdict")
    parser.add_argument("--jobs", type=int, default=2, help="compilers side by side, and tests while they are timed")
    parser.add_argument("--part", default="1/1", help="K/N: every N-th mutant, from the K-th on")
    parser.add_argument("--cmake", action="append", default=[], help="an argument of cmake for a new build")
    parser.add_argument("--again", action="store_true", help="the survivors of the log instead of random mutants")
    a = parser.parse_args()
    os.chdir(TOP)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # by way of `finally`, which puts the sources back
    known = {}
    if os.path.exists(a.log):
        with open(a.log, encoding="utf-8") as f:
            known = {identity(m): m for m in map(json.loads, f)}
    build = Build(a.build, a.skip, a.most, a.near, a.sanitize, a.jobs, a.cmake)
    part, parts = map(int, a.part.split("/"))
    for path, at, op in wanted(a, known)[part - 1::parts]:
        m = describe(path, at, op)
        m["verdict"] = build.judge(path, at, op)
        known[identity(m)] = m
        with open(a.log, "a", encoding="utf-8") as f:
            f.write(json.dumps(m) + "\n")
        if m["verdict"] == "survived":
            print("survived:", m["what"], flush=True)
    kinds = collections.Counter(m["verdict"] if m["verdict"] in (*CHANGES_NOTHING, "survived") else "noticed" for m in known.values())
    count = kinds["noticed"] + kinds["survived"]
    print(f"{len(known)} mutants: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    print(f"{kinds['noticed']} of {count} that change anything noticed: {100 * kinds['noticed'] / max(1, count):.1f} %")


if __name__ == "__main__":
    main()
