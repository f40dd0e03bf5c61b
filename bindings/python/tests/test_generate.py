import numpy as np
import pytest

import cascademg
from cascademg._library import has

pytestmark = pytest.mark.skipif(not has("cmg_hierarchy_generate"), reason="a build without the generator")


def test_named_case_solves():
    h = cascademg.generate("poisson-q1-2d-64")
    x, info = h.solver(smoother="jacobi").solve(h.vector("rhs"), return_info=True)
    assert info.converged and info.iterations <= 10


def test_options_by_name(tmp_path):
    h = cascademg.generate(element="q1", dim=3, cells=8, problem="elasticity", distort=0.1)
    assert h.attribute("block_size") == "3" and h.vector("coords").size * 3 // 3 == h.rows(0)
    A = h.matrix()
    assert abs(A - A.T).max() <= 1e-12 * abs(A).max()
    h.write_vtu(tmp_path / "mesh.vtu", load=h.vector("rhs"))
    assert (tmp_path / "mesh.vtu").stat().st_size > 1000
    with pytest.raises(TypeError, match="cells"):
        cascademg.generate(cell=8)
    with pytest.raises(ValueError, match="q1"):
        cascademg.generate(element="q9")
    with pytest.raises(cascademg.ArgumentError, match="no case 'q1-3d'.*poisson-q1-3d-64"):
        cascademg.generate("q1-3d")


def test_error_halves_twice():
    errors = []
    for cells in (16, 32):
        h = cascademg.generate(cells=cells, load="sine")
        x = h.solver(rtol=1e-12, smoother="jacobi").solve(h.vector("rhs"))
        errors.append(np.abs(x - h.vector("solutions", "exact")).max())
    assert 3.5 < errors[0] / errors[1] < 4.5
