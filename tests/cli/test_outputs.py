"""Files in and out of `cmg`: names tried before the work, warnings shown, NumPy's formats."""

import json
import os
import signal
import struct
import subprocess
import time
import zipfile

import cli


def npy(values, kind="<d", descr="<f8", shape=None):
    """A NumPy file, version 1.0, by the book."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape or (len(values),)}, }}"
    text = text.ljust(117 - len(text) % 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + b"".join(
        struct.pack(kind, v) for v in values)


def word(text, wide=False):
    """One word as NumPy keeps it, of bytes or of UTF-32."""
    return npy([], descr=f"<U{len(text)}" if wide else f"|S{len(text)}", shape="()") + text.encode("utf-32-le" if wide else "ascii")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = 10 + struct.unpack("<H", data[8:10])[0]
    assert size % 64 == 0 and b"'<f8'" in data[:size] and b"False" in data[:size]
    return list(struct.unpack(f"<{(len(data) - size) // 8}d", data[size:]))


def processor_time(pid):
    """Seconds of a process, as Linux tells them."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Outputs(cli.Case):
    def setUp(self):
        super().setUp()
        self.b = cli.random_vector(15 * 15, 1)
        self.h = self.path("h")
        self.A = cli.write_poisson(self.h, 16, 3, self.b)

    def test_outputs_are_tried_before_the_work(self):
        absent = self.path("no", "x.mtx")
        for option in ("--output", "--json"):
            done = cli.run("solve", self.h, option, absent)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(absent, done.stderr)
        os.mkdir(self.path("folder"))
        done = cli.run("solve", self.h, "--json", self.path("folder"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("irectory", done.stderr)
        for name in ("x.foo", "x.csv", "x.cmg"):
            error = self.refused(1, "solve", self.h, "--output", self.path(name))
            for word in (name, ".mtx", ".npy"):
                self.assertIn(word, error)
            self.assertFalse(os.path.exists(self.path(name)))
        for command in (("generate", "--cells", "64", "--dim", "3"), ("convert", self.h)):
            if command[0] not in cli.commands():
                continue  # a build without finite elements
            done = cli.run(*command, self.path("out.tar"))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("out.tar", done.stderr)
            done = cli.run(*command, self.path("no", "out.mtx"))
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_results_are_shown_before_files_are_written(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = cli.run("solve", self.h, "--json", "/dev/full")
        self.assertEqual(done.returncode, 2)
        self.assertIn("relative residual", done.stdout)

    def test_vectors_come_from_and_go_to_numpy(self):
        plain = self.json("solve", self.h)
        with open(self.path("b.npy"), "wb") as file:
            file.write(npy(self.b))
        x = self.path("x.npy")
        result = self.json("solve", self.h, "--rhs", self.path("b.npy"), "--output", x)
        self.assertEqual(result["history"], plain["history"])
        self.assertAlmostEqual(cli.relative_residual(self.A, read_npy(x), self.b), result["relative_residual"],
                               delta=1e-13)
        again = self.json("solve", self.h, "--x0", x)
        self.assertEqual(again["iterations"], 0)
        whole = [k % 7 for k in range(225)]
        for kind, descr in (("<i", "<i4"), ("<q", "<i8"), ("<f", "<f4"), ("<d", "<f8")):
            with open(self.path("k.npy"), "wb") as file:
                file.write(npy(whole, kind, descr, "(225, 1)"))
            norms = self.json("solve", self.h, "--rhs", self.path("k.npy"))["rhs_norm"]
            self.assertAlmostEqual(norms, sum(k * k for k in whole) ** 0.5, places=9)

    def test_a_name_that_is_nothing_lists_the_vectors(self):
        message = self.refused(2, "solve", self.h, "--rhs", "nope")
        self.assertIn("no such file", message)
        self.assertIn("vectors b", message)
        self.assertIn("no vectors", self.refused(2, "solve", self.h, "--x0", "nope"))

    def test_bad_arrays_are_refused(self):
        good = npy(self.b)
        bad = {"short": good[:-1], "head": good[:60], "type": npy(self.b, descr="<c8"), "order": good.replace(b"<f8", b">f8"),
               "columns": npy(self.b, shape="(75, 3)"), "scalar": npy(self.b, shape="()"), "version": good[:6] + b"\x09" + good[7:],
               "many": npy(self.b, shape="(99999999999999,)"), "negative": npy(self.b, shape="(-1,)")}
        length = int.from_bytes(good[8:10], "little")  # of the header; one that ends behind the file, by one byte
        bad["behind"] = good[:8] + (length + 1).to_bytes(2, "little") + good[10:10 + length]
        for name, data in bad.items():
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(data)
            with self.subTest(name=name):
                message = self.refused(2, "solve", self.h, "--rhs", path)
                self.assertIn(path, message)
                if name == "behind":
                    self.assertIn(f"the header of an array has {length + 1} bytes", message)

    def matrix(self, path, compression=zipfile.ZIP_STORED, **change):
        A = self.A
        indptr = [0]
        for row in A.row:
            indptr.append(indptr[-1] + len(row))
        columns = [j for row in A.row for j in sorted(row)]
        values = [row[j] for row in A.row for j in sorted(row)]
        parts = {"indices": npy(columns, "<i", "<i4"), "indptr": npy(indptr, "<i", "<i4"), "data": npy(values),
                 "shape": npy([A.rows, A.cols], "<q", "<i8"), "format": word("csr")}
        parts.update(change)
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, data in parts.items():
                if data is not None:
                    archive.writestr(name + ".npy", data)

    def test_matrices_come_from_scipy(self):
        self.matrix(self.path("A.npz"))
        facts = self.json("info", self.path("A.npz"))
        self.assertEqual(facts["levels"][0]["rows"], 225)
        with open(self.path("b.npy"), "wb") as file:
            file.write(npy(self.b))
        result = self.json("solve", self.path("A.npz"), "--rhs", self.path("b.npy"), "--coarse", "inverse",
                           "--output", self.path("x.npy"))
        x = read_npy(self.path("x.npy"))
        self.assertLess(cli.relative_residual(self.A, x, self.b), 1e-8)
        self.assertEqual(result["levels"], 1)

    def test_columns_of_scipy_are_transposed(self):
        """The same arrays are one matrix by rows and its transpose by columns."""
        path, x = self.path("c.npz"), self.path("cx.npy")
        parts = {"indptr": npy([0, 2, 5, 6], "<i", "<i4"), "indices": npy([0, 2, 0, 1, 2, 2], "<i", "<i4"),
                 "data": npy([2.0, 5.0, 1.0, 3.0, 6.0, 7.0]), "shape": npy([3, 3], "<q", "<i8")}
        dense = {"csr": [[2, 0, 5], [1, 3, 6], [0, 0, 7]], "csc": [[2, 1, 0], [0, 3, 0], [5, 6, 7]]}
        for form, wide in (("csr", False), ("csc", False), ("csc", True)):
            with self.subTest(form=form, wide=wide):
                self.matrix(path, format=word(form, wide), **parts)
                with open(self.path("cb.npy"), "wb") as file:
                    file.write(npy([sum(a * k for a, k in zip(row, (1, 2, 3))) for row in dense[form]]))
                self.good("solve", path, "--rhs", self.path("cb.npy"), "--output", x)
                for k, value in enumerate(read_npy(x)):
                    self.assertAlmostEqual(value, k + 1, places=6)

    def test_other_forms_of_scipy_are_refused(self):
        path = self.path("c.npz")
        for form in ("bsr", "dia", "coo"):
            self.matrix(path, format=word(form))
            message = self.refused(2, "solve", path)
            self.assertIn(f"'{form}'", message)
            self.assertIn("A.tocsr()", message)
        self.matrix(path, format=None)
        self.assertIn("no format.npy", self.refused(2, "solve", path))

    def test_headers_are_read_as_by_python(self):
        """Of a key that is there twice the last counts; an array has one order or the other."""
        values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        turned = [values[i % 2 * 3 + i // 2] for i in range(6)]
        good = npy(values, shape="(3, 2)")
        path = self.path("twice.npy")
        A = self.path("i.mtx")
        self.write("i.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n")
        for key, expected in ((b"'fortran_order': True, 'fortran_order': False,", values),
                              (b"'fortran_order': False, 'fortran_order' : True,", turned),
                              (b"'fortran_order' : True,", turned), (b"", None), (b"'fortran_order': Maybe,", None)):
            text = good[10:].replace(b"'fortran_order': False,", key)
            with open(path, "wb") as file:
                file.write(good[:8] + struct.pack("<H", text.index(b"\n") + 1) + text)
            with self.subTest(key=key):
                if expected is None:
                    self.refused(2, "solve", A, "--rhs", path)
                    continue
                self.good("solve", A, "--rhs", path, "--output", self.path("tx.npy"))
                self.assertEqual(read_npy(self.path("tx.npy")), expected)

    def test_bad_archives_are_refused(self):
        A = self.path("A.npz")
        self.matrix(A, zipfile.ZIP_DEFLATED)
        self.assertIn("compressed=False", self.refused(2, "solve", A))
        for change in ({"data": None}, {"indptr": npy([0, 1], "<i", "<i4")}, {"shape": npy([3], "<q", "<i8")},
                       {"indices": npy([9] * 3, "<i", "<i4")}, {"shape": npy([-1, 5], "<q", "<i8")}):
            self.matrix(A, **change)
            self.assertIn(A, self.refused(2, "solve", A))
        self.matrix(A)
        with open(A, "rb") as file:
            data = file.read()
        for cut in (4, 21, 60, len(data) // 2, len(data) - 10):
            with open(A, "wb") as file:
                file.write(data[:cut])
            self.assertIn(A, self.refused(2, "solve", A))

    def test_an_interrupt_ends_with_the_best_iterate(self):
        """Jacobi of hardly any damping does not converge in a lifetime."""
        out, x = self.path("out.json"), self.path("x.npy")
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
        started = subprocess.Popen(
            [cli.TOOL, "solve", self.h, "--krylov", "none", "--cycle", "none", "--omega", "1e-9", "--max-it", "50000000",
             "--json", out, "--output", x], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while started.poll() is None and processor_time(started.pid) < 2:  # it is solving by then, however slow the machine
            time.sleep(0.1)
        started.send_signal(signal.SIGINT)
        text = started.communicate(timeout=100)[0].decode()
        self.assertEqual(started.returncode, 3)
        self.assertIn("interrupted", text)
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual((result["reason"], result["converged"]), ("interrupted", False))
        self.assertGreater(result["iterations"], 0)
        self.assertEqual(len(result["history"]), result["iterations"] + 1)
        self.assertLess(cli.relative_residual(self.A, read_npy(x), self.b), 1)

    def test_warnings_of_the_library_are_shown(self):
        """A PETSc matrix with nothing below its diagonal looks like half of a symmetric one."""
        n = 6
        lengths = [2] * (n - 1) + [1]
        columns = [j for i in range(n) for j in ((i, i + 1) if i + 1 < n else (i,))]
        values = [4.0 if k % 2 == 0 else -1.0 for k in range(len(columns))]
        path = self.path("A.petsc")
        with open(path, "wb") as file:
            file.write(struct.pack(f">4i{n}i{len(columns)}i{len(columns)}d", 1211216, n, n, len(columns), *lengths,
                                   *columns, *values))
        done = cli.run("solve", path, "--krylov", "none", "--json", self.path("out.json"))
        self.assertIn("cmg: warning: ", done.stderr)
        self.assertIn("SBAIJ", done.stderr)
        with open(self.path("out.json"), encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual(len(result["warnings"]), 1)
        self.assertIn("SBAIJ", result["warnings"][0])
        self.assertEqual(result["schema"], 1)
        quiet = cli.run("solve", path, "--krylov", "none", "--log-level", "error")
        self.assertNotIn("warning", quiet.stderr)
        self.assertEqual(self.json("solve", self.h)["warnings"], [])


if __name__ == "__main__":
    cli.main()
