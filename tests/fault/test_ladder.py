"""Every n-th call of open, read, write, sync, close, rename and allocation fails in turn.

Whatever fails: the exit status is one of the documented ones and says so, a file that was there is as it was or
complete and new, input files are as they were, and no temporary file is left. A run that says it is done has
written the same bytes as one without a fault.
"""

import errno
import os
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
}


def run(folder, arguments, fault=None):
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    if fault is not None:
        env.update(LD_PRELOAD=INTERPOSER, CMG_FAULT=fault, CMG_FAULT_MARK=os.path.join(folder, "..", "mark"))
    return subprocess.run([TOOL, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def contents(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def restore(folder, files):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for name, data in files.items():
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
                self.judge(f"{' '.join(arguments)}, {kind} {n}", done, outputs, after)

    def judge(self, what, done, outputs, after):
        now = contents(self.folder)
        if done.stderr.startswith("OMP: Error"):
            return  # the OpenMP runtime of LLVM ends the program at its start; nothing of ours has run
        self.assertIn(done.returncode, (0, 1, 2, 4), what + ": " + done.stderr)
        self.assertEqual(sorted(now), sorted(set(now) & (set(self.before) | set(after))), what + ": a temporary is left")
        for name, data in now.items():
            if name not in outputs:
                self.assertEqual(data, self.before[name], f"{what}: {name} has changed")
            elif done.returncode == 0:
                self.assertEqual(data, after[name], f"{what}: {name} is not what it should be")
            else:
                self.assertIn(data, (self.before.get(name), after[name]), f"{what}: {name} is neither old nor new")
        if done.returncode == 0:
            self.assertEqual(sorted(now), sorted(after), what + ": said to be done")
        else:
            self.assertTrue(done.stderr.startswith("cmg: "), what + ": " + done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, what + ": " + done.stderr)

    def test_smooth_in_place(self):
        self.climb(["smooth", "a.cmg", "--smoother", "fsai"], ["a.cmg"])

    def test_convert_over_an_old_container(self):
        self.climb(["convert", "a.cmg", "old.cmg"], ["old.cmg"])

    def test_solve_over_an_old_vector(self):
        self.climb(["solve", "a.cmg", "--output", "x.mtx"], ["x.mtx"])

    def test_solve_over_an_old_picture(self):
        self.climb(["solve", "a.cmg", "--output", "x.vtu"], ["x.vtu"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
