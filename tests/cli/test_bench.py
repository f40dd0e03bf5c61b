"""`cmg bench spmv`: every format is measured, checked and accounted for; mistakes are refused."""

import json
import math
import os
import subprocess
import sys
import xml.dom.minidom

import cli

QUICK = ("--samples", 3, "--sample-ms", 0)


class Bench(cli.Case):
    def test_every_format_is_measured(self):
        result = self.json("bench", "spmv", "--generate", "q1-2d:16,noisy-3d:6", *QUICK)
        self.assertEqual([m["matrix"] for m in result["matrices"]], ["q1-2d:16", "noisy-3d:6"])
        self.assertEqual([m["rows"] for m in result["matrices"]], [15 * 15, 5 * 5 * 5])
        # 3 n - 2 pairs of neighbours a direction
        self.assertEqual([m["entries"] for m in result["matrices"]], [43**2, 13**3])
        for matrix in result["matrices"]:
            names = {(f["format"], f["values"]) for f in matrix["formats"]}
            self.assertIn(("csr", "fp64"), names)
            self.assertIn(("k2rs", "fp32"), names)
            self.assertEqual(len(names), len(matrix["formats"]))
            for found in matrix["formats"]:
                self.assertIsNone(found["failure"])
                self.assertLess(found["relative_error"], 1e-14 if found["values"] == "fp64" else 1e-5)
                self.assertGreater(found["median_seconds"], 0)
                self.assertLessEqual(found["lower_quartile_seconds"], found["median_seconds"])
                self.assertLessEqual(found["median_seconds"], found["upper_quartile_seconds"])
                rate = found["traffic"] / found["median_seconds"] * 1e-9
                self.assertAlmostEqual(found["gb_per_second"] / rate, 1, places=9)

    def test_sweeps_go_through_all_values(self):
        swept = {"block": (("csr", "ellt", "k2", "sell", "pcsr"), (32, 64, 128, 256, 512, 1024)),
                 "threshold": (("k2",), (2, 4, 8, 12, 16, 24, 32, 64, 128)), "t": (("csr", "ellt"), (1, 2, 4, 8, 16, 32)),
                 "warp": (("sell",), (4, 8, 16, 32, 64, 128, 256, 512)), "pad": (("pcsr",), (1, 2, 4, 8)),
                 "prefetch": (("pcsr",), (1, 2, 4, 8))}
        options = ("--formats", "csr,ellt,k2,sell,pcsr", "--values", "fp64", "--sweep", ",".join(swept))
        result = self.json("bench", "spmv", "--generate", "noisy-2d:24", *options, *QUICK)
        rows = result["matrices"][0]["formats"]
        self.assertFalse(result["cold"])
        self.assertEqual([f["format"] for f in rows if f["swept"] is None], ["csr", "ellt", "k2", "sell", "pcsr"])
        for option, (formats, values) in swept.items():
            found = [(f["format"], f[option]) for f in rows if f["swept"] == option]
            self.assertEqual(found, [(name, value) for name in formats for value in values])
        for f in rows:
            self.assertIsNone(f["failure"])
            self.assertLess(f["relative_error"], 1e-14)
        # 529 rows of 4 to 9 entries, three lengths: what larger slices and longer multiples pad
        for option, name in (("warp", "sell"), ("pad", "pcsr")):
            stored = [f["stored"] for f in rows if f["swept"] == option and f["format"] == name]
            self.assertEqual(stored, sorted(stored))
            self.assertLess(stored[0], stored[-1])

    def test_cold_products_are_right_and_marked(self):
        result = self.json("bench", "spmv", "--generate", "q1-2d:16", "--formats", "csr,hyb,k1", "--cold", *QUICK)
        self.assertTrue(result["cold"])
        for f in result["matrices"][0]["formats"]:
            self.assertIsNone(f["failure"])
            self.assertLess(f["relative_error"], 1e-14 if f["values"] == "fp64" else 1e-5)
            self.assertGreater(f["median_seconds"], 0)

    def test_conversions_and_choices_are_printed(self):
        options = ("--formats", "auto,tune,csr,sell,k1,compressed", "--values", "fp64", "--conversion")
        (matrix,) = self.json("bench", "spmv", "--generate", "noisy-2d:40", *options, *QUICK)["matrices"]
        by_name = {f["format"]: f for f in matrix["formats"]}
        (choice,) = matrix["auto_and_tune"]
        ratio = by_name["auto"]["median_seconds"] / by_name["tune"]["median_seconds"]
        self.assertAlmostEqual(choice["auto_over_tune"] / ratio, 1)
        base = by_name["csr"]
        for name, found in by_name.items():
            self.assertGreater(found["convert_seconds"], 0)
            self.assertGreater(found["update_seconds"], 0)
            self.assertIsNone(found["update_from_device_seconds"])  # the CPU's memory is the host's
            saved = base["median_seconds"] - found["median_seconds"]
            for way in ("convert", "update"):
                products = found[f"{way}_products"]
                if name == "csr" or saved <= 0:
                    self.assertIsNone(products)
                else:
                    self.assertAlmostEqual(products, math.ceil(found[f"{way}_seconds"] / saved), delta=1)
        text = self.good("bench", "spmv", "--generate", "q1-2d:16", *options, *QUICK)
        self.assertRegex(text, r"auto took \w+.*, tune took \w+.*: auto needs [0-9.]+ times as long")
        self.assertIn("products to pay", text)

    def test_files_and_plot(self):
        h = self.path("h")
        A = cli.write_poisson(h, 8, 2, [1.0] * 49)
        result = self.json("bench", "spmv", h, "--formats", "sell,csr", "--values", "fp64", *QUICK)
        (matrix,) = result["matrices"]
        self.assertEqual((matrix["rows"], matrix["entries"]), (49, A.entries()))
        self.assertEqual([f["format"] for f in matrix["formats"]], ["sell", "csr"])
        self.assertEqual(matrix["formats"][1]["speedup"], 1)
        self.assertEqual(matrix["formats"][1]["stored"], A.entries())
        kept, plot = self.path("result.json"), self.path("bars.svg")
        with open(kept, "w") as file:
            json.dump(result, file)
        script = os.path.join(cli.SOURCE, "benchmarks", "plot.py")
        subprocess.run([sys.executable, script, kept, plot], check=True)
        told = "".join(node.firstChild.data for node in xml.dom.minidom.parse(plot).getElementsByTagName("text"))
        self.assertIn("sell fp64", told)

    def test_any_matrix(self):
        """Rectangular, with empty rows and zeros on the diagonal: right in every format, or refused with a reason."""
        for name, head, entries, least in (
            ("wide", "5 7 6", ((1, 1, 0), (1, 7, 2), (3, 2, 1.5), (3, 3, -1), (5, 5, 4), (5, 6, 1)), 12),
            ("odd", "6 6 6", ((1, 2, 1), (2, 1, 2), (3, 3, 0), (4, 6, -1), (6, 4, 4), (6, 6, 1)), 17),
        ):
            path = self.path(name + ".mtx")
            with open(path, "w", encoding="ascii") as file:
                file.write("%%MatrixMarket matrix coordinate real general\n" + head + "\n")
                file.writelines(f"{i} {j} {v}\n" for i, j, v in entries)
            formats = "csr,ellpack,ellr,ellt,sell,k1,k1r,k2,k2r,hyb,pcsr,bell,sbell,compressed,nbn,dbd,ebe,ebesym"
            (matrix,) = self.json("bench", "spmv", path, "--formats", formats, "--values", "fp64", *QUICK)["matrices"]
            self.assertEqual((matrix["rows"], matrix["cols"]), tuple(map(int, head.split()[:2])))
            right = [f for f in matrix["formats"] if f["failure"] is None]
            self.assertGreaterEqual(len(right), least, [f["failure"] for f in matrix["formats"]])
            self.assertTrue(all(f["relative_error"] < 1e-15 for f in right))

    def test_mistakes_are_refused(self):
        for wrong in (
            ("spmv",),
            ("spmm", "--generate", "q1-2d:4"),
            ("spmv", "--generate", "q1-4d:4"),
            ("spmv", "--generate", "q1-2d:1"),
            ("spmv", "--generate", "q1-3d:100000"),
            ("spmv", "--generate", "q1-2d:4", "--formats", "csr,none"),
            ("spmv", "--generate", "q1-2d:4", "--values", "fp4"),
        ):
            with self.subTest(wrong=wrong):
                result = cli.run("bench", *wrong)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    cli.main()
