"""Every n-th call of open, read, write, sync, close, rename, allocation, HDF5 and others fails in turn.

Whatever fails: the exit status is one of the documented ones and says so, a file that was there is as it was or
complete and new, input files are as they were, and no temporary file is left. A run that says it is done has
written the same bytes as one without a fault.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ["CMG_TOOL"]
INTERPOSER = os.environ["CMG_INTERPOSER"]
STEPS = int(os.environ.get("CMG_LADDER_STEPS", "14"))  # calls of a kind that fail one by one; then ever fewer
KINDS = {
    "open": errno.EMFILE,
    "close": errno.EIO,
    "pread": errno.EIO,
    "pwrite": errno.ENOSPC,
    "ftruncate": errno.EIO,
    "fsync": errno.EIO,
    "rename": errno.EACCES,
    "fwrite": errno.ENOSPC,
    "fflush": errno.ENOSPC,
    "fclose": errno.EDQUOT,
    "aligned": errno.ENOMEM,
    "h5": 0,  # any of the functions of HDF5 that the library calls
    "H5Dwrite": 0,
    "chmod": errno.EPERM,
    "flock": errno.ENOLCK,
    "stat": errno.EACCES,
    "fstat": errno.EIO,
    "opendir": errno.EMFILE,
    "readdir": errno.EIO,
    "mkdir": errno.EACCES,
    "realpath": errno.EIO,
    "fopen": errno.EMFILE,
    "fdopen": errno.ENOMEM,
}
MESH = ("MFEM mesh v1.0\n\ndimension\n2\n\nelements\n2\n1 3 0 1 4 3\n1 3 1 2 5 4\n\nboundary\n0\n\nvertices\n6\n2\n"
        "0 0\n1 0\n2 0\n0 1\n1 1\n2 1\n")


def run(folder, arguments, fault=None):
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    if fault is not None:
        env.update(LD_PRELOAD=INTERPOSER, CMG_FAULT=fault, CMG_FAULT_MARK=os.path.join(folder, "..", "mark"))
    return subprocess.run([TOOL, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def contents(folder):
    """{path below the folder: bytes}"""
    found = {}
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            with open(os.path.join(at, name), "rb") as f:
                found[os.path.relpath(os.path.join(at, name), folder)] = f.read()
    return found


def restore(folder, files):
    shutil.rmtree(folder)
    for name, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


def ladder():
    """1, 2, ... STEPS, then a quarter more every time."""
    n = 1
    while n < 5000:
        yield n
        n += 1 if n < STEPS else 1 + n // 4


class Ladder(unittest.TestCase):
    tries = 0

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.TemporaryDirectory()
        cls.folder = os.path.join(cls.top.name, "work")
        os.mkdir(cls.folder)
        made = run(cls.folder, ["generate", "--cells", "8", "a.cmg"])
        if made.returncode != 0:
            raise unittest.SkipTest("no containers in this build: " + made.stderr)
        run(cls.folder, ["smooth", "a.cmg", "--smoother", "spai"])
        run(cls.folder, ["convert", "a.cmg", "old.cmg", "--numbering", "random"])
        run(cls.folder, ["solve", "a.cmg", "--output", "x.mtx", "--rtol", "1e-4"])
        run(cls.folder, ["convert", "a.cmg", "old.petsc"])
        run(cls.folder, ["convert", "a.cmg", "folder"])
        run(cls.folder, ["info", "a.cmg", "--json", "i.json"])
        with open(os.path.join(cls.folder, "m.mesh"), "w", encoding="utf-8") as f:
            f.write(MESH)
        cls.before = contents(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.top.cleanup()
        print(f"{cls.tries} runs with a fault", file=sys.stderr)

    def climb(self, arguments, outputs):
        """Runs the command with one fault at a time; `outputs` are the files that it may change."""
        restore(self.folder, self.before)
        good = run(self.folder, arguments)
        self.assertEqual(good.returncode, 0, good.stderr)
        after = contents(self.folder)
        mark = os.path.join(self.top.name, "mark")
        for kind, number in KINDS.items():
            for n in ladder():
                restore(self.folder, self.before)
                if os.path.exists(mark):
                    os.unlink(mark)
                done = run(self.folder, arguments, f"{kind}:{n}:{number}")
                if not os.path.exists(mark):
                    break
                type(self).tries += 1
                with open(mark, encoding="utf-8") as f:
                    name = f.read()
                with self.subTest(n=n, call=name):
                    self.judge(f"{' '.join(arguments)}, {kind} {n}", done, outputs, after)

    def judge(self, what, done, outputs, after):
        now = contents(self.folder)
        if done.stderr.startswith("OMP: Error"):
            return  # the OpenMP runtime of LLVM ends the program at its start; nothing of ours has run
        self.assertIn(done.returncode, (0, 1, 2, 4), what + ": " + done.stderr)
        self.assertEqual(sorted(now), sorted(set(now) & (set(self.before) | set(after))), what + ": a temporary is left")
        for name, data in now.items():
            if name not in outputs:
                self.assertEqual(data, self.before.get(name), f"{what}: {name} has changed")
            elif name.endswith(".json") and data != self.before[name]:
                self.assertIsInstance(json.loads(data), dict, what)  # seconds and memory differ
            elif done.returncode == 0:
                self.assertTrue(data == after[name], f"{what}: {name} is not what it should be")
            else:
                self.assertTrue(data in (self.before.get(name), after[name]), f"{what}: {name} is neither old nor new")
        if done.returncode == 0:
            self.assertEqual(sorted(now), sorted(after), what + ": said to be done")
        else:
            lines = [line for line in done.stderr.splitlines() if not line.startswith("cmg: warning: ")]
            self.assertEqual(len(lines), 1, what + ": " + done.stderr)
            self.assertTrue(lines[0].startswith("cmg: "), what + ": " + done.stderr)

    def test_smooth_in_place(self):
        self.climb(["smooth", "a.cmg", "--smoother", "fsai"], ["a.cmg"])

    def test_convert_over_an_old_container(self):
        self.climb(["convert", "a.cmg", "old.cmg"], ["old.cmg"])

    def test_solve_over_an_old_vector(self):
        self.climb(["solve", "a.cmg", "--output", "x.mtx"], ["x.mtx"])

    def test_partition_over_an_old_container(self):
        self.climb(["convert", "a.cmg", "old.cmg", "--ranks", "3"], ["old.cmg"])

    def test_solve_by_ranks_over_an_old_vector(self):
        self.climb(["solve", "a.cmg", "--ranks", "3", "--output", "x.mtx"], ["x.mtx"])

    def test_solve_over_an_old_picture(self):
        self.climb(["solve", "a.cmg", "--output", "x.vtu"], ["x.vtu"])

    def test_convert_to_petsc(self):
        self.climb(["convert", "a.cmg", "old.petsc"], ["old.petsc"])

    def test_convert_from_petsc(self):
        self.climb(["convert", "old.petsc", "old.cmg"], ["old.cmg"])

    def test_convert_from_a_folder(self):
        self.climb(["convert", "folder", "old.cmg"], ["old.cmg"])

    def test_convert_to_a_folder(self):
        self.climb(["convert", "a.cmg", "new"], [f"new/{name}" for name in os.listdir(os.path.join(self.folder, "folder"))])

    def test_generate_on_a_mesh(self):
        self.climb(["generate", "--mesh", "m.mesh", "--levels", "2", "old.cmg"], ["old.cmg"])

    def test_coarsen_in_place(self):
        self.climb(["coarsen", "a.cmg"], ["a.cmg"])

    def test_transfer(self):
        self.climb(["transfer", "m.mesh", "m.mesh", "x.mtx"], ["x.mtx"])

    def test_info_over_old_json(self):
        self.climb(["info", "a.cmg", "--json", "i.json"], ["i.json"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
