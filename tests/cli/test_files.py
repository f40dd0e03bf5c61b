"""What the command does to files: nothing that is read is replaced, and what is replaced keeps its rights."""

import os
import random
import resource
import signal
import subprocess
import time

import cli


class Files(cli.Case):
    def setUp(self):
        super().setUp()
        self.a = self.path("a.cmg")
        made = cli.run("generate", "--cells", "16", self.a)
        if made.returncode != 0:
            self.skipTest("no containers in this build")

    def read(self, path):
        with open(path, "rb") as f:
            return f.read()

    def test_inputs_are_not_replaced(self):
        before = self.read(self.a)
        link = self.path("link.cmg")
        os.symlink(self.a, link)
        for arguments in (
            ["solve", self.a, "--output", self.a],
            ["solve", self.a, "--output", link],
            ["solve", self.a, "--json", self.a],
            ["info", self.a, "--json", self.a],
            ["plan", self.a, "--json", link],
            ["compare", self.a, "--csv", self.a],
        ):
            done = cli.run(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("would replace", done.stderr)
            self.assertEqual(self.read(self.a), before)
        options = self.path("o.txt")
        second = self.path("second.txt")
        for path in (options, second):
            self.write(os.path.basename(path), "rtol=1e-6\n")
        for output in (options, os.path.join(os.path.dirname(options), ".", "o.txt")):
            for arguments in (["solve", self.a, "--options", options, "--options", second, "--output", output],
                              ["solve", self.a, f"--options={options}", "--json", output],
                              ["plan", self.a, "--options", options, "--json", output]):
                done = cli.run(*arguments)
                self.assertEqual(done.returncode, 1, arguments)
                self.assertIn("would replace", done.stderr)
                self.assertEqual(self.read(options), b"rtol=1e-6\n")
        folder = self.path("matrices")
        self.assertEqual(cli.run("convert", self.a, folder).returncode, 0)
        self.assertEqual(cli.run("solve", folder, "--output", os.path.join(folder, "b.mtx")).returncode, 1)
        self.assertEqual(cli.run("solve", folder, "--output", os.path.join(folder, "new.mtx")).returncode, 0)

    def test_outputs_do_not_replace_each_other(self):
        """Files that are not there yet are compared by name and folder."""
        new = self.path("z.npy")
        again = os.path.join(os.path.dirname(new), ".", "z.npy")
        for arguments in (["solve", self.a, "--output", new, "--json", new], ["solve", self.a, "--output", new, "--json", again],
                          ["compare", self.a, "--json", new, "--csv", again], ["coarsen", self.a, new, "--json", again],
                          ["smooth", self.a, "--smoother", "fsai", "--output", new, "--json", again]):
            done = cli.run(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("would replace", done.stderr)
            self.assertFalse(os.path.exists(new))
        self.assertEqual(cli.run("solve", self.a, "--output", new, "--json", self.path("z.json")).returncode, 0)
        self.assertEqual(cli.run("compare", self.a, "--quick", "--json", "/dev/null", "--csv", "/dev/null").returncode, 0)

    def test_a_vector_is_no_container(self):
        done = cli.run("solve", self.a, "--output", self.path("x.cmg"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse(os.path.exists(self.path("x.cmg")))

    def test_rights_and_links_stay(self):
        os.chmod(self.a, 0o600)
        link = self.path("link.cmg")
        os.symlink("a.cmg", link)
        self.assertEqual(cli.run("smooth", link, "--smoother", "fsai").returncode, 0)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(os.stat(self.a).st_mode & 0o777, 0o600)
        self.assertIn("fsai", cli.run("info", self.a).stdout)
        x = self.path("x.mtx")
        for mode in (0o640, 0o444):
            self.assertEqual(cli.run("solve", self.a, "--output", x).returncode, 0)
            os.chmod(x, mode)
            self.assertEqual(cli.run("solve", self.a, "--output", x).returncode, 0)
            self.assertEqual(os.stat(x).st_mode & 0o777, mode)

    def test_two_at_once_lose_nothing(self):
        """Whoever says it is done has left its smoother in the file."""
        names = ["one", "two", "three", "four"]
        command = [cli.TOOL, "smooth", self.a, "--smoother", "fsai", "--save-as"]
        jobs = [subprocess.Popen([*command, n], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for n in names]
        done = []
        for name, job in zip(names, jobs):
            error = job.communicate()[1].decode()
            if job.returncode == 0:
                done.append(name)
            else:
                self.assertEqual(job.returncode, 2, error)
                self.assertIn("another cmg smooth", error)
        self.assertTrue(done)
        kept = cli.run("info", self.a).stdout
        for name in done:
            self.assertIn(name, kept)

    def test_signals_leave_old_or_new(self):
        """SIGTERM, SIGINT at random moments: the old file or the new one, and nothing beside it."""
        big = self.path("big.cmg")
        self.assertEqual(cli.run("generate", "--cells", "96", big).returncode, 0)
        target = self.path("target.cmg")
        old = self.read(self.a)
        begin = time.monotonic()
        self.assertEqual(cli.run("convert", big, target).returncode, 0)
        length = time.monotonic() - begin
        new = self.read(target)
        before = sorted(os.listdir(os.path.dirname(target)))
        rng = random.Random(1)
        for k in range(int(os.environ.get("CMG_SIGNALS", "12"))):
            with open(target, "wb") as f:
                f.write(old)
            job = subprocess.Popen([cli.TOOL, "convert", big, target], stderr=subprocess.PIPE)
            time.sleep(rng.random() * length)
            job.send_signal((signal.SIGTERM, signal.SIGINT)[k % 2])
            job.communicate()
            now = self.read(target)
            self.assertIn(now, (old, new))
            if job.returncode == 0:
                self.assertEqual(now, new)
            self.assertEqual(sorted(os.listdir(os.path.dirname(target))), before)

    def test_a_limit_of_file_sizes_is_an_error(self):
        target = self.path("limited.cmg")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        before = sorted(os.listdir(os.path.dirname(target)))
        for arguments in (["convert", self.a, target], ["convert", self.a, target + ".d", "--to", "mtx"],
                          ["solve", self.a, "--output", self.path("x.mtx"), "--json", self.path("j.json")]):
            done = cli.run(*arguments, preexec_fn=limit)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("File too large", done.stderr)
            left = [name for name in sorted(os.listdir(os.path.dirname(target))) if name not in before + ["j.json"]]
            self.assertEqual(left, [])

    def test_special_files(self):
        pipe = self.path("pipe.msh")
        os.mkfifo(pipe)
        done = cli.run("generate", "--mesh", pipe, self.path("m.cmg"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a regular file", done.stderr)
        done = cli.run("generate", "--mesh", os.path.dirname(pipe), self.path("m.cmg"))
        self.assertEqual(done.returncode, 2)
        with open("/dev/full", "w", encoding="utf-8") as full:
            job = subprocess.run([cli.TOOL, "info", self.a], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(job.returncode, 2)
        self.assertNotIn(b"No such file", job.stderr)

    def test_sizes_that_cannot_be(self):
        mesh = self.write("one.mesh", "MFEM mesh v1.0\n\ndimension\n2\n\nelements\n1\n1 3 0 1 2 3\n\nboundary\n0\n\n"
                          "vertices\n4\n2\n0 0\n1 0\n1 1\n0 1\n")
        for arguments in (["--dim", "3", "--cells", "16777216"], ["--dim", "3", "--cells", "1300"],
                          ["--mesh", mesh, "--levels", "31"]):
            done = cli.run("generate", *arguments, "--dry-run")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("2^31 - 1", done.stderr)


if __name__ == "__main__":
    cli.main()
