"""Usage: help, refusals that name the key, exit status 1."""

import cli


class Usage(cli.Case):
    def test_help_and_version(self):
        self.assertIn("solve", self.good("--help"))
        version = self.good("--version")
        self.assertRegex(version, r"\Acmg \d+\.\d+\.\d+\n")
        for what in ("commit", "compiler", "parts"):
            self.assertRegex(version, rf"\n{what} +\S")
        for command in cli.commands():
            text = self.good(command, "--help")
            self.assertTrue(text.startswith(f"usage: cmg {command}"), text)
            self.assertEqual(text, self.good(command, "-h"))
            self.assertGreater(len(cli.help_options(command)), 0)

    def test_help_and_version_are_commands_too(self):
        version = self.good("--version")
        self.assertEqual((self.good("-V"), self.good("version")), (version, version))
        self.assertEqual(self.good("help"), self.good("--help"))
        for command in cli.commands():
            self.assertEqual(self.good("help", command), self.good(command, "--help"))
        self.assertIn("did you mean solve?", self.refused(1, "help", "slove"))

    def test_no_command_prints_help_on_standard_error(self):
        done = cli.run()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("usage: cmg COMMAND", done.stderr)

    def test_unknown_commands_get_a_suggestion(self):
        self.assertIn("did you mean solve?", self.refused(1, "slove"))
        self.assertIn("did you mean convert?", self.refused(1, "convertt"))
        self.assertNotIn("did you mean", self.refused(1, "qqqqqqqqqq"))

    def test_unknown_options_are_named(self):
        for command in ("solve", "info", "plan", "convert"):
            error = self.refused(1, command, "FILE", "--zzzzzzzz", "3")
            self.assertIn("--zzzzzzzz", error)
        self.assertIn("did you mean --rtol?", self.refused(1, "solve", "FILE", "--rtoll", "1"))
        self.assertIn("did you mean --smoother?", self.refused(1, "solve", "FILE", "--smooth=x"))
        self.assertIn("did you mean --max-it?", self.refused(1, "solve", "FILE", "--max_it", "3"))
        self.assertIn("-r", self.refused(1, "solve", "FILE", "-r", "1"))

    def test_numbers_are_checked_fully(self):
        for option, text in (
            ("--rtol", "1e-8x"),
            ("--rtol", "nan"),
            ("--rtol", "inf"),
            ("--rtol", ""),
            ("--rtol", "-1"),
            ("--rtol", " 1"),
            ("--max-it", " 1"),
            ("--dtol", "0.5"),
            ("--max-it", "1.5"),
            ("--max-it", "ten"),
            ("--max-it", "99999999999999999999"),
            ("--pre", "-1"),
            ("--threads", "4294967297"),
            ("--coarse-limit", "2k"),
        ):
            error = self.refused(1, "solve", "FILE", option, text)
            self.assertIn(option, error)
            error = self.refused(1, "solve", "FILE", f"{option}={text}")
            self.assertIn(option, error)

    def test_enumerations_list_what_is_known(self):
        for option, known in (
            ("--cycle", ("V", "W", "F", "none")),
            ("--krylov", ("none", "cg", "fcg", "defect")),
            ("--backend", ("cpu", "cuda")),
            ("--precision", ("fp64", "mixed")),
            ("--format", ("csr", "sell", "k1rs")),
            ("--dirichlet", ("zero", "keep")),
            ("--coarse", ("auto", "inverse", "smoother")),
        ):
            error = self.refused(1, "solve", "FILE", option, "nonsense")
            for word in (option, "nonsense", *known):
                self.assertIn(word, error)
        self.assertIn("container", self.refused(1, "convert", "IN", "OUT", "--to", "nonsense"))

    def test_values_and_arguments(self):
        self.assertIn("needs a value", self.refused(1, "solve", "FILE", "--rtol"))
        self.assertIn("takes no value", self.refused(1, "solve", "FILE", "--fmg=yes"))
        self.assertIn("FILE", self.refused(1, "solve"))
        self.assertIn("too many", self.refused(1, "solve", "FILE", "OTHER"))
        self.assertIn("IN OUT", self.refused(1, "convert", "IN"))
        self.assertIn("--galerkin", self.refused(1, "info", "F", "--galerkin", "--no-galerkin"))

    def test_double_dash_ends_the_options(self):
        self.assertIn("--rtol: ", self.refused(2, "solve", "--", "--rtol"))

    def test_the_solver_refuses_what_only_it_can_judge(self):
        cli.write_poisson(self.path("h"), 8, 2)
        for option, text in (
            ("--smoother", "file:absent"),
            ("--smoother", "spai:nonsense=1"),
            ("--level", "2"),
            ("--drop-coarsest", "2"),
        ):
            error = self.refused(1, "solve", self.path("h"), option, text)
            self.assertIn(self.path("h"), error)

    def test_ranges_and_words_are_checked_before_files_are_read(self):
        for option, text, words in (
            ("--smoother", "fsia", ("fsai",)),
            ("--smoother", "nonsense", ("jacobi", "spai")),
            ("--rtol", "1.5", ("1.5", "below 1")),
            ("--dtol", "1", ("over 1",)),
            ("--warp", "5", ("4", "64")),
            ("--block", "33", ("32", "1024")),
            ("--krylov", "gc", ("cg",)),
        ):
            error = self.refused(1, "solve", self.path("absent"), option, text)
            self.assertIn(option, error)
            for word in words:
                self.assertIn(word, error)

    def test_options_come_from_files(self):
        cli.write_poisson(self.path("h"), 16, 3)
        with open(self.path("good"), "w", encoding="utf-8") as file:
            file.write('# a comment\npre = 2  no-fuse\n\nsmoother="spai:tau=0.5" # another\nmax-it=50\n')
        result = self.json("solve", self.path("h"), "--options", self.path("good"), "--max-it", "60")
        options = result["options"]
        self.assertEqual((options["pre"], options["fuse"], options["max_it"]), (2, False, 60))
        self.assertEqual(options["smoother"], "spai:tau=0.5")
        self.assertEqual(options["fallback"], True)
        later = self.json("solve", self.path("h"), "--max-it", "60", "--options", self.path("good"))
        self.assertEqual(later["options"]["max_it"], 50)
        with open(self.path("bad"), "w", encoding="utf-8") as file:
            file.write("pre = 2\nsmother = fsai\n")
        error = self.refused(2, "solve", self.path("h"), "--options", self.path("bad"))
        for word in (self.path("bad"), "line 2", "smother", "smoother"):
            self.assertIn(word, error)
        self.assertIn(self.path("absent"), self.refused(2, "solve", "h", "--options", self.path("absent")))

    def test_cuda_says_what_is_missing(self):
        cli.write_poisson(self.path("h"), 8, 2)
        done = cli.run("solve", self.path("h"), "--backend", "cuda")
        if done.returncode == 0:
            self.skipTest("there is a CUDA device")
        self.assertIn(done.returncode, (1, 4))
        self.assertIn("--backend cuda", done.stderr)


if __name__ == "__main__":
    cli.main()
