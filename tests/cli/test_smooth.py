"""`cmg smooth`: what is kept is found again, and does what the method does."""

import os

import cli


class Smooth(cli.Case):
    def setUp(self):
        super().setUp()
        self.h = self.path("h")
        self.out = self.path("out.cmg")
        self.A = cli.write_poisson(self.h, 32, 3, cli.random_vector(31 * 31, 2))
        done = cli.run("convert", self.h, self.path("probe.cmg"))
        if done.returncode != 0 and "HDF5" in done.stderr:
            self.skipTest("no HDF5 in this build")

    def iterations(self, path, smoother):
        return self.json("solve", path, "--smoother", smoother)["iterations"]

    def test_kept_smoothers_are_found_again(self):
        for method in ("spai", "sainv:drop=0.1", "fsai:power=0:adaptive=3", "jacobi"):
            self.json("smooth", self.h, "--smoother", method, "--output", self.out, "--save-as", "m")
            kept = self.iterations(self.out, "file:m")
            self.assertEqual(kept, self.iterations(self.h, method))
            names = self.good("info", self.out)
            self.assertIn(" m ", names)

    def test_numbers_describe_what_is_kept(self):
        result = self.json("smooth", self.h, "--smoother", "spai:tau=0,fsai", "--output", self.out)
        self.assertEqual([s["name"] for s in result["smoothers"]], ["spai", "fsai"])
        for smoother in result["smoothers"]:
            self.assertEqual([level["level"] for level in smoother["levels"]], [0, 1, 2])
            for level in smoother["levels"]:
                self.assertTrue(0 < level["quality"] < 1)
                self.assertTrue(0 < level["lambda_max"] < 2)
        spai = result["smoothers"][0]["levels"][0]
        self.assertEqual((spai["entries"], spai["factors"]), (self.A.entries(), 1))
        self.assertEqual(result["smoothers"][1]["levels"][0]["factors"], 2)
        finest = self.json("smooth", self.h, "--finest", "--output", self.out)
        self.assertEqual(len(finest["smoothers"][0]["levels"]), 2)

    def test_a_container_is_extended_in_place(self):
        self.good("convert", self.h, self.out)
        self.good("smooth", self.out, "--smoother", "spai")
        self.good("smooth", self.out, "--smoother", "sainv")
        self.good("smooth", self.out, "--smoother", "spai:tau=0", "--save-as", "full")
        text = self.good("info", self.out)
        for name in ("spai", "sainv", "full"):
            self.assertIn(f" {name} ", text)
        self.iterations(self.out, "file:full")

    def test_refusals_leave_the_file_alone(self):
        self.good("convert", self.h, self.out)
        with open(self.out, "rb") as file:
            before = file.read()
        self.assertIn("--output", self.refused(1, "smooth", self.h))
        self.assertIn("dampings", self.refused(1, "smooth", self.out, "--smoother", "chebyshev"))
        self.assertIn("unknown smoother", self.refused(1, "smooth", self.out, "--smoother", "x"))
        self.assertIn("unknown key", self.refused(1, "smooth", self.out, "--smoother", "spai:x=1"))
        self.assertIn("--save-as", self.refused(1, "smooth", self.out, "--smoother", "spai,isai",
                                                "--save-as", "m"))
        self.assertIn("kept as spai", self.refused(1, "smooth", self.out, "--smoother",
                                                   "spai,spai:tau=0"))
        self.refused(1, "smooth", self.out, "--save-as", "a/b")
        self.refused(2, "smooth", self.path("absent.cmg"))
        with open(self.out, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["h", "out.cmg", "probe.cmg"])

    def test_list_names_methods_and_keys(self):
        text = self.good("smooth", "--list")
        for word in ("spai", ":tau=0.04", "chebyshev4-opt", ":base=SMOOTHER", "one|count", "omega"):
            self.assertIn(word, text)


if __name__ == "__main__":
    cli.main()
