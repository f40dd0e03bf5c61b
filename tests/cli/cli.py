"""What the command line tests share: running the tool, small hierarchies, Matrix Market by hand.

Everything is plain Python, so that residuals and products are computed independently of the library.
"""

import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ.get("CMG_TOOL", "cmg")
SOURCE = os.environ.get("CMG_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.environ.get("CMG_SHARED_DATA") or os.environ.get("CMG_SHARED_DATA_DEFAULT", "")


def run(*arguments, env=None, **options):
    """Runs the tool; the result has returncode, stdout and stderr (text)."""
    # threads that wait by spinning would slow down tests that run side by side
    environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
    environment.update(env or {})
    return subprocess.run(
        [TOOL, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
        env=environment,
        **options,
    )


# ---------------------------------------------------------------- matrices


class Matrix:
    """A sparse matrix as one dictionary a row."""

    def __init__(self, rows, cols):
        self.rows = rows
        self.cols = cols
        self.row = [{} for _ in range(rows)]

    def entries(self):
        return sum(len(row) for row in self.row)

    def apply(self, x):
        return [sum(v * x[j] for j, v in row.items()) for row in self.row]


def norm(v):
    return math.sqrt(math.fsum(t * t for t in v))


def relative_residual(A, x, b):
    return norm([s - t for s, t in zip(b, A.apply(x))]) / norm(b)


def stiffness(n):
    """Bilinear elements on n x n squares, inner nodes: (1/3) [-1 -1 -1; -1 8 -1; -1 -1 -1]."""
    m = n - 1
    A = Matrix(m * m, m * m)
    for y in range(m):
        for x in range(m):
            for v in range(max(y - 1, 0), min(y + 2, m)):
                for u in range(max(x - 1, 0), min(x + 2, m)):
                    A.row[y * m + x][v * m + u] = 8 / 3 if (u, v) == (x, y) else -1 / 3
    return A


def interpolation(n):
    """Bilinear, from n/2 to n squares a side."""
    m = n - 1
    c = n // 2 - 1
    P = Matrix(m * m, c * c)
    for y in range(1, n):
        for x in range(1, n):
            for v in {y // 2, (y + 1) // 2}:
                for u in {x // 2, (x + 1) // 2}:
                    if 0 < u <= c and 0 < v <= c:
                        weight = (0.5 if x % 2 else 1.0) * (0.5 if y % 2 else 1.0)
                        P.row[(y - 1) * m + x - 1][(v - 1) * c + u - 1] = weight
    return P


def write_matrix(path, A):
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix coordinate real general\n")
        file.write(f"{A.rows} {A.cols} {A.entries()}\n")
        for i, row in enumerate(A.row):
            for j, v in sorted(row.items()):
                file.write(f"{i + 1} {j + 1} {v!r}\n")


def read_matrix(path):
    """Matrix Market, coordinate, real or integer, general or symmetric."""
    with open(path) as file:
        banner = file.readline().lower().split()
        lines = (line for line in file if not line.startswith("%") and line.strip())
        rows, cols, _ = map(int, next(lines).split())
        A = Matrix(rows, cols)
        for line in lines:
            i, j, v = line.split()
            A.row[int(i) - 1][int(j) - 1] = float(v)
            if "symmetric" in banner:
                A.row[int(j) - 1][int(i) - 1] = float(v)
    return A


def write_vector(path, v):
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix array real general\n")
        file.write(f"{len(v)} 1\n")
        file.writelines(f"{t!r}\n" for t in v)


def read_vector(path):
    """Matrix Market array, or text with one number a line."""
    with open(path) as file:
        lines = [line for line in file if line[0] not in "%#" and line.strip()]
    if len(lines[0].split()) == 2:
        lines = lines[1:]
    return [float(line) for line in lines]


def random_vector(n, seed):
    generator = random.Random(seed)
    return [generator.uniform(-1, 1) for _ in range(n)]


def write_poisson(folder, n, levels, rhs=None):
    """A directory A0.mtx P0.mtx ...; returns the finest matrix."""
    os.makedirs(folder, exist_ok=True)
    for l in range(levels):
        A = stiffness(n >> l)
        if l == 0:
            finest = A
        write_matrix(os.path.join(folder, f"A{l}.mtx"), A)
        if l + 1 < levels:
            write_matrix(os.path.join(folder, f"P{l}.mtx"), interpolation(n >> l))
    if rhs is not None:
        write_vector(os.path.join(folder, "b.mtx"), rhs)
    return finest


# ---------------------------------------------------------------- test cases


class Case(unittest.TestCase):
    """A folder of its own, and the promises that every failure keeps."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cmg-cli-")
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def good(self, *arguments, status=0, **options):
        """Runs; the status is as expected and standard error is empty."""
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr or done.stdout)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def refused(self, status, *arguments, **options):
        """Runs; exactly one line `cmg: ...` on standard error, nothing on standard output."""
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr or done.stdout)
        self.assertRegex(done.stderr, r"\Acmg: [^\n]+\n\Z")
        self.assertEqual(done.stdout, "")
        return done.stderr

    def json(self, *arguments, status=0):
        """Runs with --json; the parsed object. NaN and Infinity are not JSON."""
        path = self.path("out.json")
        self.good(*arguments, "--json", path, status=status)

        def not_json(text):
            self.fail(f"{text} is not JSON")

        with open(path, encoding="utf-8") as file:
            return json.load(file, parse_constant=not_json)


def shared(*names):
    """A path in the data made by others; skips the test, visibly, without it."""
    path = os.path.join(SHARED, *names)
    if not SHARED or not os.path.exists(path):
        raise unittest.SkipTest(f"no shared data {'/'.join(names)}")
    return path


def main():
    """Like unittest.main, but 77 (CTest: skipped) when everything was skipped."""
    program = unittest.main(exit=False, verbosity=2, argv=sys.argv[:1])
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)


def help_options(command):
    """Options of `cmg COMMAND --help` as {name: (value, default)}, in order."""
    text = run(command, "--help").stdout
    found = {}
    heads = list(re.finditer(r"^  --([a-z0-9-]+)((?: |\n)[^\n]*(?:\n {20,}[^\n]*)?)$", text, re.M))
    for head in heads:
        name = head.group(1)
        rest = head.group(2)
        default = re.search(r" \[([^\]]*)\]\s*$", rest)
        value = re.match(r" (\S+)(?:\s|$)", rest)
        found[name] = (value.group(1) if value else "", default.group(1) if default else "")
    return found


def commands():
    """Names of the subcommands, from `cmg --help`."""
    text = run("--help").stdout
    block = text.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in block.splitlines()]
