#!/usr/bin/env python3
"""Commands and programs that once broke something, as they were found; every row prints its tries and failures.

    tests/fault/cases.py --build build              # all rows, minutes
    tests/fault/cases.py --build build norms locks  # two of them

Each row is a function, named by what it is about. Residuals are computed here, in plain Python, from the matrix as the
command writes it. Files come from preassembled/ and from the folder of shared data; rows that need what is not here
(h5py, a compiler, strace, the shared folder) say "left out". The last line of a row is a JSON object.
"""

import argparse
import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "cli"))
import cli  # noqa: E402

TINY = os.path.join(TOP, "preassembled", "tiny")
ROWS_KEPT = os.path.join(TINY, "poisson_q1_2d_64_dirichlet_rows.cmg")


class LeftOut(Exception):
    """What the row needs is not here."""


class Cases:
    def __init__(self, build, shared):
        self.tool = os.path.join(build, "tools", "cmg")
        self.build = build
        self.faults = os.path.join(shared, "faults")
        self.shared = shared
        self.interposer = os.path.join(build, "tests", "fault", "libcmg_interpose.so")
        self.folder = tempfile.mkdtemp(prefix="cmg-cases-")
        self.tries = 0
        self.failures = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *arguments, timeout=120, **more):
        env = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", **more.pop("env", {}))
        try:
            return subprocess.run([self.tool, *map(str, arguments)], cwd=self.folder, env=env, capture_output=True, text=True,
                                  errors="replace", timeout=timeout, check=False, **more)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, -signal.SIGKILL, "", f"no end in {timeout} s")

    def need(self, *names):
        path = os.path.join(*names)
        if not os.path.exists(path):
            raise LeftOut(path)
        return path

    def expect(self, good, what):
        self.tries += 1
        if not good:
            self.failures.append(what)
            print("FAILED", what, flush=True)

    def expect_run(self, statuses, *arguments, says="", **more):
        """One command, its exit status among these, at most one line of error that has `says` in it."""
        done = self.run(*arguments, **more)
        lines = [line for line in done.stderr.splitlines() if "warning: " not in line]
        good = done.returncode in statuses and says in done.stderr and "Sanitizer" not in done.stderr
        self.expect(good and len(lines) <= 1, f"{' '.join(map(str, arguments))}: {done.returncode}, {done.stderr.strip()[-300:]}")
        return done

    # ------------------------------------------------------------------ wrong answers

    def matrix_of(self, hierarchy):
        folder = self.path("written")
        shutil.rmtree(folder, ignore_errors=True)
        done = self.run("convert", hierarchy, folder, "--to", "mtx")
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return cli.read_matrix(os.path.join(folder, "A0.mtx")), cli.read_vector(os.path.join(folder, "b.mtx"))

    def solve(self, hierarchy, A, b, *options, rtol=1e-8):
        """What is said to have converged has; only that is asked."""
        target = self.path("x.mtx")
        done = self.run("solve", hierarchy, *options, "--output", target)
        good = done.returncode in (0, 3)
        if done.returncode == 0:
            good = cli.relative_residual(A, cli.read_vector(target), b) <= 1.01 * rtol
        self.expect(good, f"solve {os.path.basename(hierarchy)} {' '.join(options)}: {done.returncode} {done.stderr.strip()}")

    def numberings_and_schedules(self):
        """Formats that renumber, with a schedule of precisions: the residual is that of A, not of P A P^T."""
        A, b = self.matrix_of(ROWS_KEPT)
        for kind in ("k1r", "k1rs", "k2r", "k2rs"):
            for schedule in ("A:fp16", "fp16", "fp8", "0:A:fp8"):
                self.solve(ROWS_KEPT, A, b, "--format", kind, "--precision-schedule", schedule)

    def lanes_of_ellpack(self):
        """Slices narrower than a vector of the processor."""
        cube = os.path.join(TINY, "poisson_q1_3d_16.cmg")
        A, b = self.matrix_of(cube)
        for kind in ("ellpack", "ellr", "tune"):
            for warp in ("4", "8", "32"):
                for precision in ("fp64", "mixed"):
                    self.solve(cube, A, b, "--format", kind, "--warp", warp, "--precision", precision)

    def norms(self):
        """Right-hand sides whose squares under- or overflow."""
        matrix = self.need(self.faults, "lap27.mtx")
        A = cli.read_matrix(matrix)
        for exponent in (-300, -165, -160, -158, -156, -100, 100, 152, 153, 155, 160, 300):
            scaled = [float(f"1e{exponent}")] * A.rows
            cli.write_vector(self.path("b.mtx"), scaled)
            for options in ([], ["--coarse", "smoother"]):
                done = self.run("solve", matrix, "--rhs", "b.mtx", "--output", "x.mtx", *options)
                good = done.returncode == 0
                if good:
                    unit = float(f"1e{-exponent}")
                    x = [t * unit for t in cli.read_vector(self.path("x.mtx"))]
                    good = cli.relative_residual(A, x, [1.0] * A.rows) <= 1.01e-8
                self.expect(good, f"b of 1e{exponent} {options}: {done.returncode} {done.stdout[-200:]} {done.stderr}")
        self.expect_run((0,), "solve", matrix, "--rhs", self.need(self.faults, "b-165.mtx"))

    def not_a_number(self):
        """NaN in b: no residual of 0 is reported."""
        matrix = self.need(self.faults, "lap27.mtx")
        cli.write_vector(self.path("nan.mtx"), [math.nan] + [1.0] * (cli.read_matrix(matrix).rows - 1))
        done = self.run("solve", matrix, "--rhs", "nan.mtx", "--json", "nan.json")
        told = {}
        if done.returncode == 3:
            with open(self.path("nan.json"), encoding="utf-8") as f:
                told = json.load(f)
        self.expect(done.returncode == 2 or (done.returncode == 3 and told.get("relative_residual") is None),
                    f"NaN in b: {done.returncode} {told.get('relative_residual')}")

    # ------------------------------------------------------------------ numberings

    def unsymmetric_patterns(self):
        """Numberings by graphs of matrices whose pattern is not symmetric, or uneven in blocks."""
        self.expect_run((0,), "info", "--compress", ROWS_KEPT)
        for numbering in ("metis", "rcm", "hierarchical", "random"):
            self.expect_run((0, 2), "convert", ROWS_KEPT, "n.cmg", "--numbering", numbering)
        for cells in (64, 200):
            for numbering in ("metis", "rcm"):
                self.expect_run((0,), "generate", "--cells", cells, "--dirichlet", "identity-keep", "--numbering", numbering, "g.cmg",
                                timeout=60)
        self.need(self.faults)
        for name in ("metis_block.cmg", "mesh_block.cmg", "unsym2.mtx"):
            path = os.path.join(self.faults, name)
            self.expect_run((0, 2), "info", "--compress", path)
            for numbering in ("metis", "rcm", "hierarchical", "random"):
                self.expect_run((0, 2), "convert", path, "n.cmg", "--numbering", numbering)
        for name in ("honei_pa2_q1_ell", "honei_poisson_q1"):
            found = [os.path.join(at, name) for at, folders, _ in os.walk(self.shared) if name in folders]
            for path in found:
                self.expect_run((0,), "info", "--compress", path, timeout=100)

    # ------------------------------------------------------------------ programs

    def programs(self):
        """Misuse of the interface in C is a status."""
        compiler = shutil.which("cc")
        library = os.path.join(self.build, "libcmg.a")
        if compiler is None or not os.path.exists(library):
            raise LeftOut("a compiler and a static library")
        with open(os.path.join(self.build, "build.ninja"), encoding="utf-8") as f:  # what the command is linked with
            text = f.read()
        at = text.index("build tools/cmg:")
        linked = text[text.index("LINK_LIBRARIES = ", at) + 17:].split("\n")[0].split()
        for name, argument, says in (("refresh.c", ROWS_KEPT, "CMG_ERR_STATE"), ("cg_null.c", None, None)):
            program = self.path(name[:-2])
            subprocess.run([compiler, "-I", os.path.join(TOP, "include"), self.need(self.faults, name), "-o", program, *linked],
                           cwd=self.build, check=True)
            done = subprocess.run([program, *([argument] if argument else [])], capture_output=True, text=True, check=False)
            good = done.returncode == 0 and says in done.stdout if says else 0 < done.returncode < 64
            self.expect(good, f"{name}: {done.returncode} {done.stdout}")

    # ------------------------------------------------------------------ the system

    def faulty(self, kind, n, number, *arguments):
        mark = self.path("mark")
        if os.path.exists(mark):
            os.unlink(mark)
        done = self.run(*arguments, env={"LD_PRELOAD": self.interposer, "CMG_FAULT": f"{kind}:{n}:{number}", "CMG_FAULT_MARK": mark})
        return done, os.path.exists(mark)

    def failing_reads(self):
        """Every read and every close of a container that fails: never a loss that is said to be none."""
        self.need(self.interposer)
        self.run("generate", "--cells", "16", "r.cmg")
        shutil.copy(self.path("r.cmg"), self.path("kept.cmg"))
        self.run("smooth", "r.cmg", "--smoother", "spai")
        with open(self.path("r.cmg"), "rb") as f:
            after = f.read()
        for kind, number in (("pread", errno.EIO), ("close", errno.EIO)):
            for n in range(1, 400):
                shutil.copy(self.path("kept.cmg"), self.path("r.cmg"))
                done, failed = self.faulty(kind, n, number, "smooth", "r.cmg", "--smoother", "spai")
                if not failed:
                    break
                with open(self.path("r.cmg"), "rb") as f:
                    now = f.read()
                with open(self.path("kept.cmg"), "rb") as f:
                    before = f.read()
                good = done.returncode in (0, 2, 4) and (now == after if done.returncode == 0 else now == before)
                self.expect(good, f"smooth, {kind} {n}: {done.returncode} {done.stderr}")

    def hostile_containers(self):
        """Headers of datasets that HDF5 of the 1.10 series divides by zero over, and filters that it would load."""
        self.expect_run((2,), "info", self.need(self.faults, "h5_layout2.h5"))
        self.expect_run((2,), "info", self.need(self.faults, "h5_hostile.cmg"))
        if shutil.which("strace"):
            log = self.path("trace")
            os.mkdir(self.path("plugins"))
            subprocess.run(["strace", "-f", "-o", log, "-e", "trace=openat,open", self.tool, "info", ROWS_KEPT], capture_output=True,
                           env=dict(os.environ, HDF5_PLUGIN_PATH=self.path("plugins")), check=False)
            with open(log, encoding="utf-8", errors="replace") as f:
                self.expect("plugins" not in f.read(), "a folder of plug-ins is looked at")
        try:
            import h5py  # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        for layout, statuses in (("latest", (0, 2)), (("v110", "v110"), (0,)), ("earliest", (0,))):
            for options in ({}, {"fletcher32": True}, {"compression": "gzip"}, {"shuffle": True, "compression": "gzip"}):
                with h5py.File(ROWS_KEPT, "r") as old, h5py.File(self.path("f.cmg"), "w", libver=layout) as new:
                    new.attrs.update(old.attrs)

                    def put(name, item, new=new, options=options):
                        if isinstance(item, h5py.Dataset):
                            made = new.create_dataset(name, data=item[()], **(options if item.shape else {}))
                        else:
                            made = new.require_group(name)
                        made.attrs.update(item.attrs)
                    old.visititems(put)
                self.expect_run(statuses, "solve", self.path("f.cmg"))

    def outputs_that_are_inputs(self):
        self.run("generate", "--cells", "16", "a.cmg")
        with open(self.path("a.cmg"), "rb") as f:
            before = f.read()
        os.link(self.path("a.cmg"), self.path("link.cmg"))
        os.symlink("a.cmg", self.path("soft.cmg"))
        for arguments in (["solve", "a.cmg", "--output", "a.cmg"], ["info", "a.cmg", "--json", "a.cmg"],
                          ["solve", "a.cmg", "--json", "link.cmg"], ["solve", "a.cmg", "--output", "soft.cmg"],
                          ["solve", "a.cmg", "--output", "x.h5"], ["plan", "a.cmg", "--json", "a.cmg"],
                          ["compare", "a.cmg", "--smoother", "jacobi", "--repeat", "1", "--csv", "a.cmg"],
                          ["compare", "a.cmg", "--smoother", "jacobi", "--repeat", "1", "--svg", "a.cmg"]):
            done = self.run(*arguments)
            with open(self.path("a.cmg"), "rb") as f:
                self.expect(done.returncode in (1, 2) and f.read() == before, f"{' '.join(arguments)}: {done.returncode} {done.stderr}")

    def full_streams(self):
        """A device without room is named as such, also where standard output is one."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([self.tool, "info", ROWS_KEPT], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.expect(done.returncode == 2 and "No space left" in done.stderr, f"/dev/full: {done.returncode} {done.stderr}")
        self.expect_run((1,), "info", ROWS_KEPT, "--threads", "65536", says="threads")

    def locks(self):
        """`smooth` in place: rights, links, and two of them at once."""
        self.run("generate", "--cells", "32", "s.cmg")
        os.chmod(self.path("s.cmg"), 0o600)
        os.symlink("s.cmg", self.path("s-link.cmg"))
        self.expect_run((0,), "smooth", "s-link.cmg", "--smoother", "spai")
        self.expect(os.path.islink(self.path("s-link.cmg")) and os.stat(self.path("s.cmg")).st_mode & 0o777 == 0o600, "link or rights are lost")
        for k in range(5):
            self.run("generate", "--cells", "32", "s.cmg")
            jobs = [subprocess.Popen([self.tool, "smooth", "s.cmg", "--smoother", name], cwd=self.folder, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL) for name in ("spai", "fsai")]
            done = [job.wait() for job in jobs]
            told = self.run("info", "s.cmg").stdout
            good = all(code in (0, 2) for code in done) and sum(code == 0 for code in done) == sum(n in told for n in ("spai", "fsai"))
            self.expect(good, f"two at once, {k}: {done}")

    def signals(self):
        """Interrupted while a directory is written: no temporary is left."""
        self.run("generate", "--cells", "128", "big.cmg")
        for k in range(12):
            job = subprocess.Popen([self.tool, "convert", "big.cmg", "out.mtx-folder", "--to", "mtx"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.02 + 0.03 * k)
            job.send_signal(signal.SIGINT if k % 2 else signal.SIGTERM)
            job.wait()
            left = [name for name in os.listdir(self.folder) if "tmp" in name]
            self.expect(not left, f"signal {k}: {left}")
            shutil.rmtree(self.path("out.mtx-folder"), ignore_errors=True)

    def locale(self):
        """In a locale with a decimal comma."""
        folder = self.path("locale")
        os.mkdir(folder)
        if subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True,
                          check=False).returncode not in (0, 1) or not os.listdir(folder):
            raise LeftOut("localedef")
        for program in ("core/test_core_number", "smoothers/test_smoothers_arguments", "fem/test_fem_generate"):
            path = os.path.join(self.build, "tests", program)
            if os.path.exists(path):
                done = subprocess.run([path, "cpu"], env=dict(os.environ, LOCPATH=folder, LC_ALL="de_DE.UTF-8"), capture_output=True,
                                      text=True, check=False)
                self.expect(done.returncode == 0, f"{program}: {done.stdout[-300:]}")

    # ------------------------------------------------------------------ time and sizes

    def quick(self, seconds, statuses, *arguments, **more):
        start = time.monotonic()
        self.expect_run(statuses, *arguments, timeout=10 * seconds, **more)
        took = time.monotonic() - start
        self.expect(took < seconds, f"{' '.join(map(str, arguments))}: {took:.1f} s")

    def many_names(self):
        """Tables of names that were searched from the start for every name."""
        names = "".join(f'2 {k} "n{k}"\n' for k in range(1, 40001))
        with open(self.path("names.msh"), "w", encoding="utf-8") as f:
            f.write(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n40000\n{names}$EndPhysicalNames\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n"
                    "3 1 1 0\n4 0 1 0\n$EndNodes\n$Elements\n1\n1 3 2 1 1 1 2 3 4\n$EndElements\n")
        self.quick(5, (0, 2), "generate", "--mesh", "names.msh", "--levels", "2", "n.cmg")
        cli.write_poisson(self.path("many"), 4, 1)
        with open(self.path("many", "M0_one.mtx"), "w", encoding="utf-8") as f:
            f.write("%%MatrixMarket matrix coordinate real general\n9 9 1\n1 1 1\n")
        for k in range(20000):
            os.link(self.path("many", "M0_one.mtx"), self.path("many", f"M0_name{k}.mtx"))
        self.quick(20, (0, 2), "info", "many")

    def empty_headers(self):
        self.quick(2, (2,), "info", self.need(self.faults, "ell_timeout.ell"))

    def sizes(self):
        """Numbers of unknowns that no 64 or 32 bits hold, memory that nobody has, no file at all."""
        for arguments in (["--dim", "3", "--cells", "16777216", "--dry-run"], ["--dim", "3", "--cells", "1300", "--dry-run"],
                          ["--dim", "3", "--cells", "1300", "x.cmg"], ["--dim", "3", "--cells", "1000", "x.cmg"],
                          ["--mesh", self.folder, "x.cmg"], ["--mesh", "m.mesh", "--levels", "31", "--dry-run"]):
            with open(self.path("m.mesh"), "w", encoding="utf-8") as f:
                f.write("MFEM mesh v1.0\n\ndimension\n2\n\nelements\n1\n1 3 0 1 2 3\n\nboundary\n0\n\nvertices\n4\n2\n0 0\n1 0\n1 1\n0 1\n")
            start = time.monotonic()
            done = self.run("generate", *arguments, timeout=30)
            good = done.returncode in (1, 2, 4) and "-" not in "".join(done.stdout.split()[:1]) and time.monotonic() - start < 5
            self.expect(good, f"generate {' '.join(arguments)}: {done.returncode} {done.stdout[-200:]} {done.stderr}")

    def pipes(self):
        os.mkfifo(self.path("pipe"))
        self.quick(2, (2,), "generate", "--mesh", "pipe", "x.cmg")
        self.quick(2, (2,), "info", "pipe")

    def threads(self):
        """More threads than the address space has room for."""
        for count in ("1024", "4096"):
            job = f"ulimit -v 3000000; exec '{self.tool}' solve '{ROWS_KEPT}' --threads {count}"
            done = subprocess.run(["bash", "-c", job], capture_output=True, text=True, timeout=120, check=False)
            self.expect(done.returncode in (0, 4) and "libgomp" not in done.stderr, f"{count} threads: {done.returncode} {done.stderr}")


def main():
    rows = [name for name in vars(Cases) if not name.startswith("_") and
            name not in ("path", "run", "need", "expect", "expect_run", "matrix_of", "solve", "faulty", "quick")]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--shared", default=os.environ.get("CMG_SHARED_DATA", os.path.join(TOP, "..", "shared", "data")))
    parser.add_argument("rows", nargs="*", choices=[[], *rows])
    a = parser.parse_args()
    failures = 0
    for row in a.rows or rows:
        cases = Cases(os.path.abspath(a.build), os.path.abspath(a.shared))
        left_out = None
        try:
            getattr(cases, row)()
        except LeftOut as e:
            left_out = str(e)
        finally:
            shutil.rmtree(cases.folder, ignore_errors=True)
        failures += len(cases.failures)
        line = {"bench": "cases", "attack": row, "tries": cases.tries, "failures": len(cases.failures)}
        if left_out:
            line["left_out"] = left_out
        print(json.dumps(line), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
