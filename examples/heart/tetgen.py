#!/usr/bin/env python3
"""A mesh of tetrahedra of TetGen, NAME.node and NAME.ele, as a file of gmsh: tetgen.py NAME OUT.msh [SCALE]"""

import sys


def rows(path):
    """Numbers of every line behind the first."""
    with open(path, encoding="ascii") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [line for line in lines if line][1:]


def main(name, out, scale="1"):
    nodes, cells = rows(name + ".node"), rows(name + ".ele")
    first = int(nodes[0][0])
    with open(out, "w", encoding="ascii") as file:
        file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n" % len(nodes))
        file.writelines("%d %r %r %r\n" % (k + 1, *(float(scale) * float(x) for x in row[1:4])) for k, row in enumerate(nodes))
        file.write("$EndNodes\n$Elements\n%d\n" % len(cells))
        for k, row in enumerate(cells):
            file.write("%d 4 2 1 1 %d %d %d %d\n" % (k + 1, *(int(node) - first + 1 for node in row[1:5])))
        file.write("$EndElements\n")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
