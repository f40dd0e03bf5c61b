"""cmg transfer: P between meshes that do not nest takes linear functions to themselves; mistakes are named."""

import os

import cli


def square(n, bend, shift=0):
    """gmsh 2.2 mesh of [0, 1]^2, moved along x by `shift`, in 2 n^2 triangles whose lines are bent inside; its nodes."""
    nodes = [
        (shift + x + bend * x * (1 - x) * y * (1 - y), y - bend * x * (1 - x) * y * (1 - y))
        for y in (j / n for j in range(n + 1))
        for x in (i / n for i in range(n + 1))
    ]
    cells = []
    for j in range(n):
        for i in range(n):
            a, b = j * (n + 1) + i + 1, (j + 1) * (n + 1) + i + 1
            cells += [(a, a + 1, b + 1), (a, b + 1, b)]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(nodes))]
    lines += [f"{k} {x:.17g} {y:.17g} 0" for k, (x, y) in enumerate(nodes, 1)]
    lines += ["$EndNodes", "$Elements", str(len(cells))]
    lines += [f"{k} 2 2 1 1 {a} {b} {c}" for k, (a, b, c) in enumerate(cells, 1)]
    return "\n".join([*lines, "$EndElements", ""]), nodes


class Transfer(cli.Case):
    def meshes(self):
        made = []
        for name, n, bend in (("coarse.msh", 5, 0.3), ("fine.msh", 13, -0.2)):
            text, nodes = square(n, bend)
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(text)
            made.append(nodes)
        return made

    def test_linear_functions_stay(self):
        coarse, fine = self.meshes()
        out = self.path("P.mtx")
        for components in (1, 2):
            self.good("transfer", self.path("coarse.msh"), self.path("fine.msh"), out, "--components", components)
            with open(out, encoding="ascii") as file:
                rows, cols, entries = map(int, [line for line in file if line[0] != "%"][0].split())
            with open(out, encoding="ascii") as file:
                triples = [line.split() for line in file if line[0] != "%"][1:]
            self.assertEqual((rows, cols), (len(fine) * components, len(coarse) * components))
            self.assertEqual(len(triples), entries)
            value = [0.0] * rows
            for i, j, v in triples:
                x, y = coarse[(int(j) - 1) // components]
                self.assertEqual((int(i) - int(j)) % components, 0)
                value[int(i) - 1] += float(v) * (1 + 2 * x - 3 * y)
            for i, v in enumerate(value):
                x, y = fine[i // components]
                self.assertAlmostEqual(v, 1 + 2 * x - 3 * y, places=12)

    def test_order_two_has_edges(self):
        coarse, fine = self.meshes()
        text = self.good("transfer", self.path("coarse.msh"), self.path("fine.msh"), self.path("P.mtx"), "--order", 2)
        self.assertTrue(text.startswith(f"{27 * 27} x {11 * 11},"), text)

    def test_mistakes_are_named(self):
        self.meshes()
        a, b, out = self.path("coarse.msh"), self.path("fine.msh"), self.path("P.mtx")
        self.assertIn("nowhere", self.refused(2, "transfer", self.path("nowhere.msh"), b, out))
        self.assertIn("missing", self.refused(1, "transfer", a, b))
        self.assertIn("--order", self.refused(1, "transfer", a, b, out, "--order", "3"))
        self.assertIn("no", self.refused(2, "transfer", a, b, os.path.join(out, "no", "P.mtx")))
        with open(b, "w", encoding="ascii") as file:
            file.write(square(13, 0, shift=5)[0])
        self.assertIn("outside the coarse mesh", self.refused(2, "transfer", a, b, out))

    def test_meshes_are_not_replaced(self):
        self.meshes()
        a, b = self.path("coarse.msh"), self.path("fine.msh")
        for mesh in (a, b):
            with open(mesh, encoding="ascii") as file:
                before = file.read()
            self.assertIn("would replace", self.refused(1, "transfer", a, b, mesh))
            with open(mesh, encoding="ascii") as file:
                self.assertEqual(file.read(), before)

    def test_swapped_meshes_are_refused(self):
        self.meshes()
        message = self.refused(2, "transfer", self.path("fine.msh"), self.path("coarse.msh"), self.path("P.mtx"))
        self.assertIn("36 nodes", message)
        self.assertIn("196", message)
        self.assertFalse(os.path.exists(self.path("P.mtx")))

    def test_half_an_overlap_is_warned_about(self):
        """Of a coarse mesh of 2 x 2 cells and 5 x 5 fine nodes: none, or two columns of nodes lie far outside."""
        a, b, out = self.path("a.msh"), self.path("b.msh"), self.path("P.mtx")
        self.write("a.msh", square(2, 0)[0])
        for shift, share in ((0, None), (0.05, None), (0.5, "10 of 25 fine nodes (40 %)")):
            self.write("b.msh", square(4, 0, shift=shift)[0])
            done = cli.run("transfer", a, b, out)
            self.assertEqual(done.returncode, 0)
            self.assertEqual("far outside" in done.stderr, share is not None)
            self.assertIn(share or "", done.stderr)


if __name__ == "__main__":
    cli.main()
