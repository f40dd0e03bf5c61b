#!/usr/bin/env python3
"""The wave at some times: picture.py FOLDER OUT.png NUMBER ... draws phi-NUMBER.vtu of a run on tetrahedra.

Needs meshio and matplotlib. The surface is cut open towards the eye.
"""

import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import meshio
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection


def surface(x, tets):
    """Faces of one cell alone, of cells behind the plane y = 0."""
    tets = tets[x[tets, 1].mean(1) > 0]
    faces = np.concatenate([tets[:, [0, 1, 2]], tets[:, [0, 1, 3]], tets[:, [0, 2, 3]], tets[:, [1, 2, 3]]])
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    return faces[first[count == 1]]


def main(folder, out, numbers):
    figure = plt.figure(figsize=(2.4 * len(numbers), 3))
    for k, number in enumerate(numbers):
        mesh = meshio.read(os.path.join(folder, "phi-%05d.vtu" % number))
        x = mesh.points
        faces = surface(x, mesh.cells_dict["tetra"])
        axes = figure.add_subplot(1, len(numbers), k + 1, projection="3d", proj_type="ortho")
        colours = plt.get_cmap("inferno")(np.clip(mesh.point_data["phi"][faces].mean(1), 0, 1))
        axes.add_collection3d(Poly3DCollection(x[faces], facecolors=colours, edgecolors=colours, linewidths=0.2))
        low, high = x.min(0), x.max(0)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.set_box_aspect(high - low, zoom=1.4)
        axes.view_init(15, -90)
        axes.set_axis_off()
        axes.set_title("phi-%05d" % number, fontsize=8)
    figure.subplots_adjust(0, 0, 1, 0.93, 0, 0)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3:]])
