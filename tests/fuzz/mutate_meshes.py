"""Mesh files with swapped, repeated and lost numbers, for `generate` and `transfer`.

    CMG_TOOL=build/tools/cmg python3 tests/fuzz/mutate_meshes.py [--count N] [--seed S]

The numbers of a mesh that is taken: P from it to itself is the identity, and the stiffness matrix without Dirichlet
conditions takes constants to 0.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutants  # noqa: E402

QUADS = ("3", [(0, 1, 4, 3), (1, 2, 5, 4), (3, 4, 7, 6), (4, 5, 8, 7)])
TRIANGLES = ("2", [(0, 1, 4), (0, 4, 3), (1, 2, 5), (1, 5, 4), (3, 4, 7), (3, 7, 6), (4, 5, 8), (4, 8, 7)])
PLANE = [(x, y, 0) for y in range(3) for x in range(3)]
BLOCK = [(x, y, z) for z in range(2) for y in range(2) for x in range(3)]
HEXES = ("5", [(0, 1, 4, 3, 6, 7, 10, 9), (1, 2, 5, 4, 7, 8, 11, 10)])
TETS = ("4", [(b[i], b[j], b[k], b[7]) for b in ((0, 1, 3, 4, 6, 7, 9, 10), (1, 2, 4, 5, 7, 8, 10, 11))
              for i, j, k in ((0, 1, 3), (0, 3, 2), (0, 2, 6), (0, 6, 4), (0, 4, 5), (0, 5, 1))])
MESHES = [(2, PLANE, QUADS), (2, PLANE, TRIANGLES), (3, BLOCK, HEXES), (3, BLOCK, TETS)]


def gmsh2(_, nodes, kind, cells):
    return (["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(nodes))]
            + [f"{k} {x} {y} {z}" for k, (x, y, z) in enumerate(nodes, 1)]
            + ["$EndNodes", "$Elements", str(len(cells) + 1), "1 1 2 7 1 1 2"]
            + [f"{k} {kind} 2 1 1 " + " ".join(str(v + 1) for v in cell) for k, cell in enumerate(cells, 2)] + ["$EndElements"])


def gmsh4(dim, nodes, kind, cells):
    return (["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes", f"1 {len(nodes)} 1 {len(nodes)}", f"{dim} 1 0 {len(nodes)}"]
            + [str(k) for k in range(1, len(nodes) + 1)] + [f"{x} {y} {z}" for x, y, z in nodes]
            + ["$EndNodes", "$Elements", f"1 {len(cells)} 1 {len(cells)}", f"{dim} 1 {kind} {len(cells)}"]
            + [f"{k} " + " ".join(str(v + 1) for v in cell) for k, cell in enumerate(cells, 1)] + ["$EndElements"])


def mfem(dim, nodes, kind, cells):  # its numbers of the four kinds are gmsh's
    return (["MFEM mesh v1.0", "dimension", str(dim), "elements", str(len(cells))]
            + [f"1 {kind} " + " ".join(map(str, cell)) for cell in cells]
            + ["boundary", "0", "vertices", str(len(nodes)), str(dim)] + [" ".join(map(str, x[:dim])) for x in nodes])


def damage(rng, lines):
    """One change to the lines of a mesh file, by preference to what is numbers."""
    numbers = [k for k, line in enumerate(lines) if line[:1].isdigit()]
    k, m = rng.choice(numbers), rng.choice(numbers)
    words = lines[k].split()
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(11)
    if kind == 0:
        words[i], words[j] = words[j], words[i]
    elif kind == 1:
        words[i] = words[j]
    elif kind == 2:  # all nodes of a cell are one
        words[-4:] = [words[-1]] * len(words[-4:])
    elif kind == 3:
        other = lines[m].split()
        words[i] = rng.choice(other)
    elif kind == 4:
        words[i] = rng.choice(["0", "-1", "1", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "1e200", "1e-200", "nan",
                               "-1e308", "3", "0x7", ""])
    elif kind == 5:
        lines[k], lines[m] = lines[m], lines[k]
        return "lines swapped"
    elif kind == 6:
        lines.insert(k, lines[m])
        return "a line twice"
    elif kind == 7:
        del lines[k]
        return "a line less"
    elif kind == 8:
        del words[i]
    elif kind == 9:
        words.insert(i, words[j])
    else:
        lines[m] = lines[k]
        return "a line over another"
    lines[k] = " ".join(words)
    return f"kind {kind} at line {k + 1}"


def entries(path):
    with open(path, encoding="ascii") as file:
        first = file.readline()
        lines = [line.split() for line in file if not line.startswith("%")]
    found = [(int(i), int(j), float(v)) for i, j, v in lines[1:]]
    return found + [(j, i, v) for i, j, v in found if i != j] if "symmetric" in first else found


def look(path, folder, good, coarse, intact):
    out = os.path.join(folder, "P.mtx")
    status, _ = mutants.run("transfer", path, path, out)
    taken = status == 0
    if taken:
        for i, j, v in entries(out):
            assert abs(v - (i == j)) < 1e-6, f"P({i}, {j}) = {v} from a mesh to itself"
    mutants.run("transfer", *((path, good) if coarse else (good, path)), os.path.join(folder, "Q.mtx"))
    made = os.path.join(folder, "A")
    status, _ = mutants.run("generate", "--mesh", path, "--levels", 2, "--dirichlet", "neumann", "--load", "exponential", made,
                            "--to", "mtx")
    assert status == 0 or not intact, "a mesh as it should be is refused"
    if status == 0:
        sums, sizes = {}, {}
        for i, _, v in entries(os.path.join(made, "A0.mtx")):
            sums[i] = sums.get(i, 0) + v
            sizes[i] = sizes.get(i, 0) + abs(v)
        for i, total in sums.items():
            assert abs(total) <= 1e-10 * sizes[i], f"row {i} has the sum {total}"
    mutants.run("generate", "--mesh", path, "--levels", 2, os.path.join(folder, "x.mtx"), "--to", "mtx")
    return taken


def make(rng, folder):
    dim, nodes, (kind, cells) = rng.choice(MESHES)
    form = rng.choice([gmsh2, gmsh4, mfem])
    good, path = os.path.join(folder, "good.msh"), os.path.join(folder, "mutant.msh")
    lines = form(dim, nodes, kind, cells)
    with open(good, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    what = [damage(rng, lines) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return f"{form.__name__}, kind {kind}: {', '.join(what)}", lambda: look(path, folder, good, rng.random() < 0.5, not what)


if __name__ == "__main__":
    mutants.main(make, 30)
