#!/usr/bin/env python3
"""`cmg solve` with random options over systems of this test's own, judged by an oracle outside.

    tests/attacks/commands.py --tool build/tools/cmg --tries 4000
    tests/attacks/commands.py --tool build/tools/cmg --only 1234       # one try again, its files kept

The residual of the x that was written is computed in long double from the arrays that the systems were made of; the
library is asked for nothing. Said to have converged: that residual is within the tolerance. In any case: the residual
that is told is that one, the exit status fits the outcome, no signal, no report of a sanitizer, an end. The same seed
gives the same commands. The last line is a JSON object.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import systems

EPS = 2.0**-52
TINY = 2.0**-1074
CONVERGED = ("converged_rtol", "converged_atol", "rounding")
SUITED = {"--smoother", "--format", "--block-rows", "--drop-coarsest", "--ranks"}  # what not every system can have
REAL = np.longdouble
OWN = {"--rhs", "--x0", "--output", "--json", "--history", "--repeat", "--ranks", "--level", "--options", "--backend",
       "--threads", "--device", "--log-level", "--help", "--smoother", "--format"}
VALUES = {
    "--rtol": "1e-4 1e-8 1e-8 1e-11 1e-15 0", "--atol": "0 1e-9 1e3 1e-200", "--dtol": "2 1e5 1e300", "--max-it": "0 1 2 7 40 300",
    "--restart": "1 4 30", "--inner-rtol": "0.5 0.1 1e-6", "--pre": "0 1 2 5", "--post": "0 1 2 5", "--omega": "0.3 1 1.9 1e300",
    "--coarse-limit": "0 10 1000", "--coarse-steps": "0 1 8", "--collapse": "-1 0 20 1000", "--gather": "0 10 100",
    "--threshold": "0 1 3", "--block": "0 32 256", "--block-rows": "0 1 2 3", "--drop-coarsest": "1 2",
    "--precision-schedule": "A:fp16 fp8 0:A:fp16 M:fp16,A:full 1-:P:fp16,R:fp16 full inverse:fp8;0:M:fp8 0-1:M:fp8;2-:full",
}
KEYS = ["", "", "", ":omega=auto", ":omega=0.7", ":omega=1.9"]
BY_ELEMENTS = ["nbn", "dbd", "ebe", "ebesym"]


def tables(tool):
    """Options of `cmg solve` with their values, names of smoothers, names of formats, from what the tool prints."""
    text = subprocess.run([tool, "solve", "--help"], capture_output=True, text=True, check=True).stdout
    options = {}
    for name, value, rest in re.findall(r"^  (--[a-z0-9-]+) ?(\S*)(.*)$", text, re.M):
        some = re.search(r"one of ([0-9 ]+)\)", rest)
        choices = value.split("|") if "|" in value else some[1].split() if some else VALUES.get(name, "").split()
        if name in VALUES or choices or not re.match(r"[A-Z]", value):
            options[name] = choices or [None]
    text_smooth = subprocess.run([tool, "smooth", "--list"], capture_output=True, text=True, check=True).stdout
    smoothers = [s for s in re.findall(r"^([a-z0-9-]+) ", text_smooth, re.M) if s != "file"]
    formats = options["--format"]
    return {k: v for k, v in options.items() if k not in OWN}, smoothers, formats


def right_sides(rng, A, columns):
    n = A.shape[0]
    B = np.empty((n, columns))
    for c in range(columns):
        kind = rng.choice(["any", "any", "ones", "range", "range", "zero", "one", "waves", "any"])
        r = np.random.default_rng(rng.randrange(2**32))
        B[:, c] = {"any": r.standard_normal(n), "ones": np.ones(n), "range": A @ r.standard_normal(n), "zero": np.zeros(n),
                   "one": np.eye(1, n, r.integers(n))[0], "waves": (-1.0) ** np.arange(n)}[kind]
    scale = rng.choice([1] * 12 + [1e-310, 1e-200, 1e-100, 1e200, 1e300, 1e305])
    with np.errstate(over="ignore"):
        B = B * scale
    return B if np.isfinite(B).all() else right_sides(rng, A, columns)


def norm(v):
    return np.sqrt((v * v).sum())


def times(A, x):
    return np.add.reduceat(A.data.astype(REAL) * x.astype(REAL)[A.indices], A.indptr[:-1])


def judge_column(s, b, x, told, reason, rtol, atol, least, roundings=1):
    """What is wrong with one column, or None. least: the least residual is what was asked for."""
    big = b.astype(REAL)
    with np.errstate(all="ignore"):
        r = big - times(s.A, x)
        sized = times(abs(s.A), abs(x)) + abs(big)
        true, rhs, size = norm(r), norm(big), norm(sized)
        relative = true / rhs if rhs > 0 else (REAL(0) if true == 0 else REAL(np.inf))
        row = int(np.diff(s.A.indptr).max())
        slack = roundings * (row + 8) * EPS * size / rhs if rhs > 0 else REAL(0)
        coarse = (row + 2) * TINY * norm(times(abs(s.A), np.ones_like(x)) + 1) / rhs if rhs > 0 else REAL(0)
        slack += coarse if coarse < 0.01 else 0  # x, b near the least numbers there are
        what = f"{reason}: told {told!r}, true {float(relative):.3e}, slack {float(slack):.1e}, ||b|| {float(rhs):.2e}"
        converged = reason in CONVERGED
        if not np.isfinite(x).all():
            return None if not converged and reason != "least_squares" and not np.isfinite(np.float64(told if told is not None else np.nan)) \
                else f"{what}: x is not finite"
        if rhs == 0 and converged:
            return None if true <= atol * (1 + 1e-6) else f"{what}: b = 0"
        if rhs > 0 and (told is None or not abs(relative - told) <= 1e-6 * relative + slack) and not (told is None and (relative > 1e140 or rhs > 1.7e308)):
            return f"{what}: not the residual of what was written"
        symmetric = abs(s.A - s.A.T).max() == 0
        left = norm(times(s.A.T.tocsr(), r)) / norm(s.A.data.astype(REAL))
        outside = symmetric and least and reason in CONVERGED and relative > rtol and not true <= atol
        if (outside or (reason == "least_squares" and symmetric)) and not left <= rhs * (10 * rtol + 4 * slack):
            return f"{what}: A^T (b - A x) is {float(left):.2e}"
        if outside:
            return None
        if reason == "converged_rtol" and not relative <= rtol * (1 + 1e-6) + slack:
            return f"{what}: not within rtol {rtol}"
        if reason == "converged_atol" and not true <= atol * (1 + 1e-6) + slack * rhs:
            return f"{what}: not within atol {atol}"
        if reason == "rounding" and not (true <= 5 * EPS * size and relative <= 0.0101):
            return f"{what}: more than rounding, {float(true / (EPS * size)):.2g} eps"
    return None


class Attack:
    def __init__(self, a):
        self.a = a
        self.folder = tempfile.mkdtemp(prefix="cmg-commands-")
        self.systems = systems.make(self.folder)
        self.options, self.smoothers, self.formats = tables(a.tool)
        self.counts = {}

    def draw(self, rng, s, k):
        """Arguments of a try, and its right-hand sides."""
        columns = rng.choice([1] * 6 + [2, 3, 5, 64])
        B = right_sides(rng, s.A, columns)
        np.save(self.name(k, "b"), B[:, 0] if columns == 1 else B)
        args = ["solve", s.path, "--rhs", self.name(k, "b"), "--output", self.name(k, "x"), "--json", self.name(k, "json")]
        for name in rng.sample(sorted(self.options), rng.choice([0, 0, 1, 2, 3, 4, 6, 9])):
            value = rng.choice(self.options[name])
            args += [name] if value is None else [name, value]
        if rng.random() < 0.6:
            args += ["--smoother", rng.choice(self.smoothers) + rng.choice(KEYS)]
        if s.elements is not None and rng.random() < 0.7:
            args += ["--format", rng.choice(BY_ELEMENTS)]
        elif rng.random() < 0.3:
            args += ["--format", rng.choice(self.formats)]
        if rng.random() < 0.25:
            args += ["--repeat", "2"]
        if rng.random() < 0.15:
            args += ["--ranks", str(rng.choice([1, 2, 3, 5, 13]))]
        if rng.random() < 0.15:
            np.save(self.name(k, "x0"), np.random.default_rng(k).standard_normal(B.shape[0] if columns == 1 else B.shape))
            args += ["--x0", self.name(k, "x0")]
        return [*args, "--backend", self.a.backend], B

    def name(self, k, what):
        return os.path.join(self.folder, f"{k}.{what}" + ("" if what == "json" else ".npy"))

    def run(self, args):
        env = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
                   ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:hard_rss_limit_mb=4000")
        limit = [] if self.a.sanitized else ["prlimit", f"--as={4 << 30}"] if self.a.backend == "cpu" else []
        try:
            return subprocess.run([*limit, self.a.tool, *args], env=env, capture_output=True, text=True, errors="replace",
                                  timeout=self.a.timeout, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(args, -99, "", f"no end in {self.a.timeout} s")

    def judge(self, s, k, args, B, done):
        """What is wrong with a run, or None."""
        if "Sanitizer" in done.stderr or "runtime error" in done.stderr or done.returncode not in (0, 1, 2, 3):
            return f"status {done.returncode} {done.stderr[-600:]}"
        if done.returncode in (1, 2):
            self.counts["refused"] = self.counts.get("refused", 0) + 1
            lines = [line for line in done.stderr.split("\n") if line and not line.startswith("cmg: warning: ")]
            if done.returncode == 2 and not s.refused and not SUITED.intersection(args):
                return f"a valid file is refused: {done.stderr[-300:]}"
            return None if len(lines) == 1 else f"not one line: {done.stderr[-300:]}"
        with open(self.name(k, "json"), encoding="utf-8") as f:
            told = json.load(f)
        x = np.load(self.name(k, "x"))
        if x.shape != ((B.shape[0],) if B.shape[1] == 1 else B.shape):
            return f"x of shape {x.shape}"
        good = told["converged"] or (told["reason"] == "least_squares" and "--least-squares" in args)
        if good != (done.returncode == 0) or told["converged"] != (told["reason"] in CONVERGED):
            return f"status {done.returncode}, {told['reason']}, converged {told['converged']}"
        self.counts[told["reason"]] = self.counts.get(told["reason"], 0) + 1
        return self.judge_columns(s, B, x.reshape(B.shape), told)

    @staticmethod
    def judge_columns(s, B, x, told):
        """The same of each column; ranks tell of one alone, so that others are asked for the tolerances."""
        options, columns = told["options"], told["columns"] or [told]
        # a GPU has the elements in place of A: its residuals round as sums over them (docs/formats/matfree.md)
        roundings = 4 if told["backend"] == "cuda" and options["format"] in ("nbn", "dbd", "ebe", "ebesym") else 1
        if told["converged"] != all(c["reason"] in CONVERGED for c in columns):
            return "columns and the whole do not agree"
        wrong = [judge_column(s, B[:, c], x[:, c], column["relative_residual"], column["reason"], options["rtol"], options["atol"],
                              s.exact or options.get("least_squares", False), roundings)
                 for c in range(B.shape[1]) for column in [columns[min(c, len(columns) - 1)]]]
        if len(columns) == B.shape[1]:
            return next((f"column {c}: {w}" for c, w in enumerate(wrong) if w), None)
        return None if told["ranks"] > 1 and None in wrong else f"one column for {B.shape[1]}: {wrong}"

    def attempt(self, k):
        rng = random.Random(self.a.seed * 1_000_003 + k)
        s = self.systems[k % len(self.systems)]
        args, B = self.draw(rng, s, k)
        done = self.run(args)
        wrong = self.judge(s, k, args, B, done)
        if wrong:
            print(f"failed: try {k}, {s.name}: {shlex.join(args)}\n        {wrong}", file=sys.stderr, flush=True)
            if self.a.only is not None:
                print(done.stdout, done.stderr)
        elif self.a.only is None:
            for what in ("b", "x", "x0", "json"):
                if os.path.exists(self.name(k, what)):
                    os.unlink(self.name(k, what))
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default=os.environ.get("CMG_TOOL", "build/tools/cmg"))
    parser.add_argument("--tries", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="this try, and print all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further try after this time")
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--sanitized", action="store_true", help="the tool has sanitizers: no limit of its address space")
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    a = parser.parse_args()
    a.tool = os.path.abspath(a.tool)
    attack = Attack(a)
    tries = range(a.first, a.first + a.tries) if a.only is None else [a.only]
    end = time.monotonic() + a.seconds
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        found = list(pool.map(lambda k: attack.attempt(k) if time.monotonic() < end else 0, tries))
    ran = [f for f in found if f != 0]
    failures = [f for f in ran if f]
    if not failures and a.only is None:
        shutil.rmtree(attack.folder)
    elif failures:
        print("files:", attack.folder, file=sys.stderr)
    print(json.dumps({"bench": "attacks", "attack": "commands", "systems": len(attack.systems), "tries": len(ran), "failures": len(failures),
                      "backend": a.backend, **attack.counts}))
    sys.exit(len(failures) > 0)


if __name__ == "__main__":
    main()
