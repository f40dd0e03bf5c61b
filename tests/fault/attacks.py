#!/usr/bin/env python3
"""Attacks on the command that are no tests because they take long; every row prints its tries and failures.

    tests/fault/attacks.py --tool build/tools/cmg                  # all rows; an hour of one core
    tests/fault/attacks.py --tool build-fuzz/tools/cmg --part 0.1 options attributes

A failure is an exit status that is not documented, a report of a sanitizer, a damaged or missing file, a temporary one
that is left, or an output that is said to be complete and is not. The last line of each row is a JSON object.
"""

import argparse
import glob
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

WRITERS = [
    ["generate", "--cells", "6", "new.cmg"], ["generate", "--cells", "4", "--element", "q2", "new.cmg"],
    ["generate", "--mesh", "m.mesh", "--levels", "2", "new.cmg"], ["info", "a.cmg"], ["info", "--compress", "a.cmg"],
    ["info", "mtx", "--json", "new.json"], ["solve", "a.cmg", "--output", "new.mtx"], ["solve", "mtx", "--rhs", "mtx/b.mtx"],
    ["solve", "a.cmg", "--format", "k1r", "--precision", "mixed"], ["solve", "a.petsc", "--smoother", "chebyshev"],
    ["solve", "a.cmg", "--output", "new.vtu"], ["plan", "a.cmg", "--cycle", "F"], ["convert", "a.cmg", "new.cmg", "--numbering", "rcm"],
    ["convert", "a.cmg", "new", "--to", "mtx"], ["convert", "mtx", "new.petsc"], ["smooth", "a.cmg", "--smoother", "spai"],
    ["compare", "a.cmg", "--smoother", "jacobi", "--repeat", "1"], ["coarsen", "flat.cmg"],
]
MESH = ("MFEM mesh v1.0\n\ndimension\n2\n\nelements\n4\n1 3 0 1 4 3\n1 3 1 2 5 4\n1 3 3 4 7 6\n1 3 4 5 8 7\n\nboundary\n0\n\n"
        "vertices\n9\n2\n0 0\n1 0\n2 0\n0 1\n1 1\n2 1\n0 2\n1 2\n2 2\n")


def put(f, name, data):
    kept = dict(f[name].attrs) if name in f else {}
    if name in f:
        del f[name]
    f[name] = data
    f[name].attrs.update(kept)


def damage(f, rng):
    """One odd part of a container."""
    import numpy as np  # noqa: PLC0415
    level = rng.choice(sorted(f["levels"]))
    group = rng.choice([f"/levels/{level}/{r}" for r in "APR" if f"/levels/{level}/{r}" in f])
    part = rng.choice(["indptr", "indices", "data"])
    data = np.atleast_1d(f[group][part][()])
    at = rng.choice([0, -1, len(data) // 2])
    kind = rng.randrange(8) if data.size > 1 else 5
    if kind == 0:
        data[at] = rng.choice([0, 1, 2, 7, 49, 2**31 - 1, len(data), data[at] + 1, data[0]])
    elif kind == 1 and part == "data":
        data[at] = rng.choice([float("nan"), float("inf"), 0, 1e300, 5e-324])
    elif kind == 2:
        data = data.astype(rng.choice(["f8", "u8", "i2", "f4", ">i8", ">f8"]))
    elif kind == 3:
        data = rng.choice([data[:-1], data.reshape(1, -1), data.reshape(-1, 1), data[:0], data[0]])
    elif kind == 4:
        shape = f[group].attrs["shape"]
        f[group].attrs["shape"] = rng.choice([shape + 1, shape - 1, -shape, shape * 2**40, shape[:1]])
    elif kind == 5:
        rows = min(1000, abs(int(f[f"/levels/{level}/A"].attrs["shape"][0])))
        cuts = sorted(rng.randrange(rows + 1) for _ in range(rng.randrange(5)))
        odd = [[0, *cuts, rows], [0, *cuts, rows + 1], [rows, *cuts, 0], [0.5, *cuts, rows], [], [0], [0, 2**62, rows], 3]
        put(f, f"/levels/{level}/partition", np.array(rng.choice(odd)))
    elif kind == 6:
        n = min(1000, abs(int(f["/levels/0/A"].attrs["shape"][0])))
        put(f, rng.choice(["rhs/a", "rhs/b"]),
            rng.choice([np.ones(n), np.ones(n - 1), np.full(n, np.nan), np.arange(n), np.ones(9)]))
    put(f, f"{group}/{part}", data)


class Attacks:
    def __init__(self, a):
        self.a = a
        self.rng = random.Random(a.seed)
        self.tries = 0
        self.failures = []
        self.top = tempfile.mkdtemp(prefix="cmg-attacks-")
        self.good = os.path.join(self.top, "good")
        self.work = os.path.join(self.top, "work")
        os.mkdir(self.good)
        with open(os.path.join(self.good, "m.mesh"), "w", encoding="utf-8") as f:
            f.write(MESH)
        self.run(["generate", "--cells", "6", "a.cmg"], self.good)
        self.run(["generate", "--cells", "28", "--levels", "1", "flat.cmg"], self.good)
        self.run(["convert", "a.cmg", "mtx", "--to", "mtx"], self.good)
        self.run(["convert", "a.cmg", "a.petsc"], self.good)
        self.fresh()

    def fresh(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.good, self.work)

    def run(self, arguments, folder=None, **more):
        env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
                   ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1", **more.pop("env", {}))
        command = [self.a.tool, *arguments]
        try:
            return subprocess.run(command, cwd=folder or self.work, env=env, capture_output=True, text=True, errors="replace",
                                  timeout=60, check=False, **more)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "no end in a minute")

    def judge(self, what, done, allowed=(0, 1, 2, 3, 4), others_write=False):
        self.tries += 1
        bad = done.returncode not in allowed or "Sanitizer" in done.stderr or "runtime error" in done.stderr
        left = glob.glob(os.path.join(self.work, "*.tmp-*"))
        if bad or (left and not others_write):
            self.failures.append(f"{what}: status {done.returncode}, {left} {done.stderr[-300:]}")

    def share(self, n):
        return max(1, int(n * self.a.part))

    # ------------------------------------------------------------------ rows

    def allocations(self):
        """The n-th allocation of the library fails, once and from then on, in 18 commands."""
        mark = os.path.join(self.top, "mark")
        for arguments in WRITERS:
            for again in ("", "+"):
                n = 1
                while n < 100000:
                    self.fresh()
                    if os.path.exists(mark):
                        os.unlink(mark)
                    fault = {"LD_PRELOAD": self.a.interposer, "CMG_FAULT": f"aligned:{n}:12{again}", "CMG_FAULT_MARK": mark}
                    done = self.run(arguments, env=fault)
                    if not os.path.exists(mark):
                        break
                    self.judge(f"{' '.join(arguments)}, allocation {n}{again}", done)
                    n += max(1, int((1 + n // 20) / self.a.part))

    def memory(self):
        """Little address space: one line and a status."""
        for arguments in WRITERS:
            for kilobytes in [400000, 250000, 200000, 150000, 120000, 100000][:self.share(6)]:
                self.fresh()
                done = self.run(arguments, preexec_fn=lambda k=kilobytes: resource.setrlimit(resource.RLIMIT_AS, (k * 1024, k * 1024)))
                # 127 and 1: the loader or a run-time library found no room before main
                self.judge(f"{' '.join(arguments)}, {kilobytes} kB", done, (0, 1, 2, 3, 4, 127))

    def options(self):
        """Random options of generate."""
        choices = {
            "--element": ["q1", "q2", "p1", "p2", "x"], "--dim": ["2", "3", "0", "7"], "--levels": ["0", "1", "3", "31", "-1"],
            "--cells": ["1", "2", "3", "5", "8", "16777216", "2147483648", "-4"], "--numbering": ["rcm", "random", "metis", "cells"],
            "--shape": ["square", "cube", "lshape", "beam", "holes", "ring", "fichera"], "--distort": ["0", "0.3", "0.5", "nan"],
            "--grading": ["1", "100", "0"], "--aspect": ["1", "1000", "1e300"], "--length": ["0", "2.5", "1e9"],
            "--problem": ["poisson", "heat", "elasticity", "convection", "anisotropic"], "--contrast": ["1", "1e8", "inf"],
            "--columns": ["1", "3", "1000000000"], "--rows": ["1", "2"], "--dirichlet": ["eliminate", "identity", "identity-keep"],
            "--order-coarsening": [None], "--general": [None], "--elements": [None], "--smooth": [None], "--quadrature": ["1", "6", "7"],
            "--velocity": ["1", "1e6"], "--young": ["1e-300", "1e300"], "--poisson-ratio": ["0.3", "0.49999", "0.5"],
        }
        for _ in range(self.share(2700)):
            arguments = ["generate"]
            for key in self.rng.sample(sorted(choices), self.rng.randrange(1, 7)):
                value = self.rng.choice(choices[key])
                arguments += [key] if value is None else [key, value]
            large = any(v in arguments for v in ("16777216", "1000000000", "2147483648"))
            arguments += ["--dry-run"] if large or self.rng.random() < 0.3 else ["--cells", "4", "new.cmg"]
            done = self.run(arguments)
            self.judge(" ".join(arguments), done, (0, 1, 2, 4))
            if "--dry-run" in arguments and done.returncode == 0 and " -" in done.stdout.replace(" - ", " "):
                self.failures.append(" ".join(arguments) + ": a negative size")

    def attributes(self):
        """Attributes with odd values, in containers."""
        import h5py  # noqa: PLC0415
        import numpy as np  # noqa: PLC0415
        values = ["0", "-3", "abc", "", "99999999999999999999", "2147483648", "1e9", "nan", -1, 2**62, 5, 0, 1e300, float("nan"),
                  np.array([1, 2]), b"\xff\xfe"]
        commands = [["info", "a.cmg"], ["info", "a.cmg", "--compress"], ["solve", "a.cmg", "--smoother", "block-jacobi"],
                    ["solve", "a.cmg", "--smoother", "patches"], ["convert", "a.cmg", "new.cmg", "--numbering", "random"],
                    ["convert", "a.cmg", "new", "--to", "mtx"], ["smooth", "a.cmg", "--output", "new.cmg"],
                    ["solve", "a.cmg", "--output", "new.vtu"], ["coarsen", "a.cmg", "--output", "new.cmg"]]
        trials = [(key, value, c) for key in ("block_size", "dim", "symmetric", "element", "numbering", "problem", "levels", "version")
                  for value in values for c in commands]
        for key, value, arguments in self.rng.sample(trials, self.share(len(trials))):
            self.fresh()
            with h5py.File(os.path.join(self.work, "a.cmg"), "a") as f:
                f.attrs[key] = value
            self.judge(f"{key} = {value!r}, {' '.join(arguments)}", self.run(arguments))

    def files(self):
        """All files of a folder of inputs, made by others or odd, read by info and solve."""
        for path in sorted(glob.glob(os.path.join(self.a.data, "**"), recursive=True)):
            if os.path.isfile(path) and os.path.getsize(path) < 2_000_000 and self.rng.random() < self.a.part:
                mesh = path.endswith((".msh", ".mesh"))
                arguments = ["generate", "--mesh", path, "--levels", "1", "--dry-run"] if mesh else ["info", path]
                done = self.run(arguments)
                self.judge(" ".join(arguments), done, (0, 1, 2, 4))
                lines = [line for line in done.stderr.split("\n") if line and not line.startswith("cmg: warning: ")]
                if done.returncode != 0 and len(lines) != 1:
                    self.failures.append(f"{path}: {done.stderr}")

    def rewritten(self):
        """A file is rewritten while it is read, and replaced by `convert` while it is read."""
        target = os.path.join(self.work, "a.cmg")
        with open(target, "rb") as f:
            data = f.read()
        stop = threading.Event()

        def rewrite():
            rng = random.Random(1)
            while not stop.is_set():
                with open(target, "r+b") as f:
                    f.seek(rng.randrange(len(data)))
                    f.write(bytes([rng.randrange(256)]))
                    f.seek(0)
                    f.write(data[:rng.randrange(len(data))])
                with open(target, "r+b") as f:
                    f.write(data)

        writer = threading.Thread(target=rewrite)
        writer.start()
        for k in range(self.share(1100)):
            self.judge(f"reading while it changes, {k}", self.run([["info", "a.cmg"], ["solve", "a.cmg"]][k % 2]))
        stop.set()
        writer.join()
        self.fresh()
        stop.clear()

        def replace():
            while not stop.is_set():
                self.run(["convert", "mtx", "b.cmg"])

        self.run(["convert", "mtx", "b.cmg"])
        writer = threading.Thread(target=replace)
        writer.start()
        for k in range(self.share(50)):
            self.judge(f"reading while it is replaced, {k}", self.run(["solve", "b.cmg"]), (0,), others_write=True)
        stop.set()
        writer.join()

    def ranks(self):
        """Containers with odd parts, read as a whole and by ranks: the same verdict, the same solution."""
        import h5py  # noqa: PLC0415
        import numpy as np  # noqa: PLC0415
        made = [["--cells", "8"], ["--cells", "8", "--problem", "elasticity", "--dirichlet", "identity-keep"],
                ["--cells", "4", "--dim", "3", "--element", "q2"]]
        names = []
        for k, arguments in enumerate(made):
            self.run(["generate", *arguments, f"r{k}.cmg"], self.good)
            self.run(["convert", f"r{k}.cmg", f"r{k + 3}.cmg", "--ranks", str(k + 2)], self.good)
            names += [f"r{k}.cmg", f"r{k + 3}.cmg"]

        for k in range(self.share(600)):
            self.fresh()
            name = os.path.join(self.work, self.rng.choice(names))
            with h5py.File(name, "a") as f:
                for _ in range(self.rng.choice([1, 1, 2])):
                    damage(f, self.rng)
            ranks = self.rng.choice(["1", "2", "3", "4", "7", "64"])
            more = self.rng.choice([[], ["--smoother", "spai"], ["--gather", "3"], ["--rhs", "ones.mtx"]])
            with open(os.path.join(self.work, "ones.mtx"), "w", encoding="utf-8") as f:
                f.write("\n".join(["%%MatrixMarket matrix array real general", "49 1", *["1"] * 49, ""]))
            done = [self.run(["solve", name, "--output", out, *more, *also])
                    for out, also in (("w.mtx", []), ("r.mtx", ["--ranks", ranks]))]
            codes = [d.returncode for d in done]
            what = f"{k}: {os.path.basename(name)}, {ranks} ranks, {more}, whole {done[0].stderr!r}"
            self.judge(what, done[1])
            if (codes[0] in (1, 2)) != (codes[1] in (1, 2)):  # refused by the one and not by the other
                self.failures.append(f"{what}: {codes} {done[1].stderr}")
            if codes == [0, 0]:
                x, y = (np.loadtxt(os.path.join(self.work, out), skiprows=2, ndmin=1) for out in ("w.mtx", "r.mtx"))
                if not np.linalg.norm(x - y) <= 1e-4 * np.linalg.norm(x):
                    self.failures.append(f"{what}: another solution")


ROWS = ["allocations", "memory", "options", "attributes", "files", "rewritten", "ranks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/tools/cmg")
    parser.add_argument("--interposer", help="default: libcmg_interpose.so beside the tool's tests")
    parser.add_argument("--data", default=os.environ.get("CMG_SHARED_DATA", "../shared/data"))
    parser.add_argument("--part", type=float, default=1, help="of the tries")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("rows", nargs="*", metavar="row", help=" ".join(ROWS))
    a = parser.parse_args()
    a.tool = os.path.abspath(a.tool)
    a.interposer = os.path.abspath(a.interposer or os.path.join(os.path.dirname(a.tool), "../tests/fault/libcmg_interpose.so"))
    failed = 0
    for row in a.rows or ROWS:
        attacks = Attacks(a)
        getattr(attacks, row)()
        for failure in attacks.failures[:20]:
            print("failed:", failure, file=sys.stderr)
        print(json.dumps({"attack": row, "what": getattr(Attacks, row).__doc__, "tries": attacks.tries,
                          "failures": len(attacks.failures)}), flush=True)
        failed += len(attacks.failures)
        shutil.rmtree(attacks.top, ignore_errors=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
