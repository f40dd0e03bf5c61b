"""What the mutators share: runs of the command on a damaged file, and what counts as a failure of it.

A mutator makes file number k from a fixed seed, so that a failure is made again by its number. A failure is a signal, a
sanitizer's report, an exit status that is not one of the documented ones, no end within two minutes, or a file that
is taken and has other numbers than the mutator itself reads from it.
"""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

TOOL = os.environ.get("CMG_TOOL", "cmg")
REPORT = re.compile("Sanitizer|runtime error|infinite loop closing|HDF5-DIAG|Assertion")
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", OPENBLAS_NUM_THREADS="1",
                   ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:exitcode=99",
                   UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:exitcode=99")


class Wrong(Exception):
    """The command has taken a file for what it is not."""


def run(*words, limit=120):
    """Runs the command; returns its status and what it printed."""
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=limit,
                          env=ENVIRONMENT, check=False)
    said = done.stderr + done.stdout
    if done.returncode not in (0, 1, 2, 3, 4) or REPORT.search(said):
        raise Wrong(f"cmg {' '.join(map(str, words))}: exit {done.returncode}\n{said[-3000:]}")
    return done.returncode, done.stdout


def attempt(make, number, seed, keep):
    """Failure of mutant `number` as text, or whether it was taken."""
    rng = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory(prefix="cmg_mutant_") as folder:
        what = f"{seed}/{number}"
        try:
            what, look = make(rng, folder)
            return look()
        except Exception as error:  # noqa: BLE001
            if keep:
                shutil.copytree(folder, os.path.join(keep, str(number)), dirs_exist_ok=True)
            return f"--seed {seed} --only {number} ({what}): {error}"


def main(make, count):
    """make(rng, folder) -> (what was done, a function that looks at it and returns whether the file was taken)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=count, help="mutants [%(default)s]")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="number of a mutant to make again")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for the files that failed")
    a = parser.parse_args()
    numbers = range(a.count) if a.only is None else [a.only]
    taken = failures = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for found in pool.map(lambda number: attempt(make, number, a.seed, a.keep), numbers):
            if isinstance(found, str):
                print(found, flush=True)
                failures += 1
            else:
                taken += found
    print(f"{len(numbers)} mutants, {taken} taken, {failures} failures")
    sys.exit(failures > 0)
