"""Every command that writes, on a full device and ended by signals.

Whatever happens: the file that was there is as it was, or complete and new; no temporary file is left; and the exit
status is 0 only where the new one is there. The full device is a tmpfs of 256 kB in a mount namespace of this test's
own, skipped where the system gives none. CMG_SIGNALS is the number of signals a command, 200 for a thorough run;
CMG_COMMANDS, names with commas between them, leaves out the other commands.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.environ["CMG_TOOL"]
SIGNALS = int(os.environ.get("CMG_SIGNALS", "4"))
MESH = ("MFEM mesh v1.0\n\ndimension\n2\n\nelements\n{n}\n{cells}\nboundary\n0\n\nvertices\n{m}\n2\n{points}\n")
ASKED = os.environ.get("CMG_COMMANDS")
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")


def square(cells):
    """A mesh of cells x cells quadrilaterals on the unit square."""
    lines = ["1 3 " + " ".join(str(v) for v in (j * (cells + 1) + i, j * (cells + 1) + i + 1,
             (j + 1) * (cells + 1) + i + 1, (j + 1) * (cells + 1) + i)) for j in range(cells) for i in range(cells)]
    points = [f"{i / cells} {j / cells}" for j in range(cells + 1) for i in range(cells + 1)]
    return MESH.format(n=len(lines), cells="\n".join(lines) + "\n", m=len(points), points="\n".join(points))


# name -> (arguments, output; what is compared: "same" bytes, or "json" that can be read). IN is the folder of the
# inputs, OUT that of the outputs; an output that is an input as well is changed in place.
COMMANDS = {
    "convert": (["convert", "IN/a.cmg", "OUT/y.cmg"], "y.cmg", "same"),
    "partition": (["convert", "IN/a.cmg", "OUT/y.cmg", "--ranks", "3"], "y.cmg", "same"),
    "solve by ranks": (["solve", "IN/a.cmg", "--ranks", "3", "--output", "OUT/y.mtx"], "y.mtx", "same"),
    "convert to petsc": (["convert", "IN/a.cmg", "OUT/y.petsc"], "y.petsc", "same"),
    "generate": (["generate", "--cells", "32", "OUT/y.cmg"], "y.cmg", "same"),
    "smooth": (["smooth", "OUT/small.cmg", "--smoother", "spai"], "small.cmg", "same"),
    "coarsen": (["coarsen", "OUT/flat.cmg"], "flat.cmg", "same"),
    "solve": (["solve", "IN/a.cmg", "--output", "OUT/y.mtx"], "y.mtx", "same"),
    "solve, picture": (["solve", "IN/a.cmg", "--output", "OUT/y.vtu"], "y.vtu", "same"),
    "solve, json": (["solve", "IN/a.cmg", "--json", "OUT/y.json"], "y.json", "json"),
    "transfer": (["transfer", "IN/coarse.mesh", "IN/fine.mesh", "OUT/y.mtx"], "y.mtx", "same"),
    "compare": (["compare", "IN/a.cmg", "--smoother", "jacobi", "--repeat", "1", "--json", "OUT/y.json"], "y.json", "json"),
    "bench": (["bench", "spmv", "--generate", "q1-2d:16", "--formats", "csr", "--samples", "3", "--sample-ms", "0",
               "--json", "OUT/y.json"], "y.json", "json"),
    "plan": (["plan", "IN/a.cmg", "--json", "OUT/y.json"], "y.json", "json"),
    "info": (["info", "IN/a.cmg", "--json", "OUT/y.json"], "y.json", "json"),
}
COMMANDS = {name: row for name, row in COMMANDS.items() if ASKED is None or name in ASKED.split(",")}


class Writes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.TemporaryDirectory()
        cls.inputs = os.path.join(cls.top.name, "in")
        os.mkdir(cls.inputs)
        made = cls.tool("generate", "--cells", "32", os.path.join(cls.inputs, "a.cmg"))
        if made.returncode != 0:
            raise unittest.SkipTest("no containers in this build: " + made.stderr)
        cls.tool("generate", "--cells", "16", os.path.join(cls.inputs, "small.cmg"))
        cls.tool("generate", "--cells", "28", "--levels", "1", os.path.join(cls.inputs, "flat.cmg"))
        for name, cells in (("coarse", 8), ("fine", 16)):
            with open(os.path.join(cls.inputs, name + ".mesh"), "w", encoding="utf-8") as f:
                f.write(square(cells))

    @classmethod
    def tearDownClass(cls):
        cls.top.cleanup()

    @staticmethod
    def tool(*arguments):
        return subprocess.run([TOOL, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)

    def arguments(self, name, folder):
        return [a.replace("IN/", self.inputs + "/").replace("OUT/", folder + "/") for a in COMMANDS[name][0]]

    def prepare(self, name, folder):
        """An empty folder but for the file that is to be replaced, whose content is returned."""
        for old in os.listdir(folder):
            os.unlink(os.path.join(folder, old))
        output = COMMANDS[name][1]
        target = os.path.join(folder, output)
        if output in os.listdir(self.inputs):
            shutil.copyfile(os.path.join(self.inputs, output), target)
        else:
            with open(target, "w", encoding="utf-8") as f:
                f.write('{"old": true}\n')
        with open(target, "rb") as f:
            return f.read()

    def fresh(self, name, folder):
        """What the command writes when nothing goes wrong, and how long it takes."""
        self.prepare(name, folder)
        start = time.monotonic()
        done = self.tool(*self.arguments(name, folder))
        length = time.monotonic() - start
        self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        with open(os.path.join(folder, COMMANDS[name][1]), "rb") as f:
            return f.read(), length

    def judge(self, what, name, folder, done, old, new):
        """The rules of this test; `done` is (status, standard error)."""
        status, error = done
        output, kind = COMMANDS[name][1:]
        self.assertEqual([f for f in os.listdir(folder) if f != "filler"], [output], f"{what}: a temporary file is left")
        with open(os.path.join(folder, output), "rb") as f:
            now = f.read()
        if now == old:
            self.assertNotEqual(status, 0, f"{what}: said to be done, but the file is the old one")
        elif kind == "json":
            self.assertIsInstance(json.loads(now), (dict, list), what)
        elif not (status == 3 and "solve" in name):  # an interrupted solve writes its best iterate
            self.assertEqual(now, new, f"{what}: neither the old nor the new file")
        if status == 0 and kind == "same":
            self.assertEqual(now, new, what)
        self.assertNotIn("Sanitizer", error, what)

    def test_signals(self):
        folder = os.path.join(self.top.name, "signals")
        os.mkdir(folder)
        rng = random.Random(18)
        sent = 0
        for name in COMMANDS:
            new, length = self.fresh(name, folder)
            for k in range(SIGNALS):
                old = self.prepare(name, folder)
                job = subprocess.Popen([TOOL, *self.arguments(name, folder)], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
                # half of the moments lie in the last quarter, where files are written
                time.sleep(length * (rng.random() if k % 2 == 0 else 0.75 + 0.3 * rng.random()))
                number = signal.SIGTERM if k % 4 < 3 else signal.SIGINT
                job.send_signal(number)
                error = job.communicate(timeout=120)[1]
                sent += 1
                self.assertIn(job.returncode, (0, 3, -number), f"{name}, signal {k}: {error}")
                self.judge(f"{name}, signal {k}", name, folder, (job.returncode, error), old, new)
        print(f"{sent} signals", file=sys.stderr)

    def test_full_device(self):
        if os.environ.get("CMG_OWN_MOUNTS") != "yes":
            self.skipTest("no mount namespace")
        folder = os.path.join(self.top.name, "full")
        os.mkdir(folder)
        tries = 0
        for name in COMMANDS:
            new, _ = self.fresh(name, folder)
            for old in os.listdir(folder):
                os.unlink(os.path.join(folder, old))
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "cmg-test", folder], check=True)
            try:
                if not self.is_small(folder):
                    self.skipTest("a tmpfs of 256 kB takes more or less than that here")
                for left in (0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160):
                    old = self.prepare(name, folder)
                    self.fill(os.path.join(folder, "filler"), folder, left)
                    done = self.tool(*self.arguments(name, folder))
                    tries += 1
                    what = f"{name}, {left} kB left: status {done.returncode}, {done.stderr}"
                    self.assertIn(done.returncode, (0, 2), what)
                    self.judge(what, name, folder, (done.returncode, done.stderr), old, new)
                    if done.returncode != 0:
                        self.assertTrue(done.stderr.splitlines()[-1].startswith("cmg: "), what)
            finally:
                subprocess.run(["umount", folder], check=True)
        print(f"{tries} runs on a full device", file=sys.stderr)

    @staticmethod
    def is_small(folder):
        """Does the device take what it says, and nothing more?"""
        path, written = os.path.join(folder, "filler"), []
        for length in (248 << 10, 264 << 10):
            try:
                with open(path, "wb") as f:
                    written.append(f.write(b"\0" * length))
            except OSError:
                written.append(0)
            os.unlink(path)
        return written == [248 << 10, 0]

    @staticmethod
    def fill(filler, folder, left):
        """Takes what is free but for `left` kB."""
        room = os.statvfs(folder)
        with open(filler, "wb") as f:
            f.write(b"\0" * max(0, room.f_bavail * room.f_frsize - left * 1024))


def main():
    if "CMG_OWN_MOUNTS" not in os.environ:
        for options in (["-m"], ["-rm"]):
            if subprocess.run(["unshare", *options, "mount", "-t", "tmpfs", "cmg-test", "/mnt"], capture_output=True,
                              check=False).returncode == 0:
                env = dict(os.environ, CMG_OWN_MOUNTS="yes")
                sys.exit(subprocess.run(["unshare", *options, sys.executable, "-B", *sys.argv], env=env, check=False).returncode)
    unittest.main(verbosity=1)


if __name__ == "__main__":
    main()
