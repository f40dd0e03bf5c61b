"""The cardiac simulation against scipy's LSODA, scikit-fem, and itself.

test_heart.py HEART [cuda]: with cuda, its results on a GPU against those on the CPU.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

HEART = sys.argv.pop(1)
CUDA = "cuda" in sys.argv[1:] and bool(sys.argv.remove("cuda") or True)
if not CUDA:  # which needs numpy alone
    import scipy.sparse as sp
    import skfem
    from scipy.integrate import solve_ivp
    from skfem import helpers
EVERYWHERE = "-9,99,-9,99,-9,99"
TIGHT = ["--newton-rtol", "1e-14", "--linear-rtol", "1e-12"]


def run(folder, *words):
    """Runs the program; its summary."""
    command = [HEART, "--output", folder, "--every", "0", "--quiet", "--threads", "1", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    with open(os.path.join(folder, "summary.json"), encoding="ascii") as file:
        return json.load(file)


def state(folder, summary):
    """phi, activation and r of the last checkpoint, which has the two phi before them, too."""
    with open(os.path.join(folder, "state.npy"), "rb") as file:
        data = file.read()
    n, cells = summary["nodes"], summary["cells"]
    values = np.frombuffer(data[len(data) - 8 * (2 * n + cells) :])
    return values[:n], values[n : 2 * n], values[2 * n :]


def rates(phi, r):
    """Aliev and Panfilov, written again."""
    f = 8 * phi * (phi - 0.01) * (1 - phi) - r * phi
    g = (0.002 + 0.2 * r / (0.3 + phi)) * (-r - 8 * phi * (phi - 0.15 - 1))
    return f / 12.9, g / 12.9


def plane_wave(h, length=40.0):
    """Activation at 10, 20 and 30 mm of the published square (test_published_square), where nothing depends on one
    coordinate: finite differences along the other, their system by LSODA."""
    n = round(length / h) + 1
    y = h * np.arange(n)
    weight = np.where(y < 1 - h / 2, 1.0, np.where(y < 1 + h / 2, 0.5, 0.0))
    activation = np.full(n, np.nan)
    state = np.zeros(2 * n)  # phi and r of a node side by side, for a narrow band

    def slope(_, u, current):
        phi, r = u[::2], u[1::2]
        f, g = rates(phi, r)
        around = np.concatenate([phi[1:2], phi, phi[-2:-1]])
        f += (around[2:] - 2 * phi + around[:-2]) / h**2 + current * weight
        return np.stack([f, g], 1).ravel()

    for begin, until, current in ((0, 10, 0.1), (10, 70, 0)):
        found = solve_ivp(slope, (begin, until), state, "LSODA", args=(current,), rtol=1e-8, atol=1e-10, lband=2,
                          uband=2, dense_output=True)
        times = np.linspace(begin, until, 20 * (until - begin) + 1)
        phi = found.sol(times)[::2]
        for i in np.flatnonzero(np.isnan(activation) & (phi.max(1) >= 0.5)):
            k = np.argmax(phi[i] >= 0.5)
            activation[i] = times[k] - 0.05 * (phi[i, k] - 0.5) / (phi[i, k] - phi[i, k - 1])
        state = found.y[:, -1]
    return activation[[round(at / h) for at in (10, 20, 30)]]


class Heart(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)

    def test_one_cell_against_lsoda(self):
        """Without gradients every cell is one; steps of dt, dt/2, ... extrapolated to none."""
        end = 24.0
        reached = []
        for k in range(8):
            s = run(self.folder, "--square", "1,1,0.5", "--stimulus", EVERYWHERE + ",0,4,0.25",
                    "--time", end, "--fixed", "--dt", 0.125 / 2**k, *TIGHT)
            phi, _, r = state(self.folder, s)
            self.assertLess(np.ptp(phi), 1e-11)
            reached.append(np.array([phi[0], r[0]]))
        errors = []
        exact = [0.0, 0.0]
        for begin, until, current in ((0, 4, 0.25), (4, end, 0)):
            exact = solve_ivp(lambda t, y: np.add(rates(*y), (current, 0)), (begin, until), exact,
                              "LSODA", rtol=1e-12, atol=1e-14).y[:, -1]
        errors = [abs(y - exact).max() for y in reached]
        self.assertGreater(min(a / b for a, b in zip(errors[2:], errors[3:])), 1.9)  # order 1
        for k in range(1, 8):  # errors are powers of dt: remove them one after the other
            reached = [(2**k * b - a) / (2**k - 1) for a, b in zip(reached, reached[1:])]
        self.assertLess(abs(reached[0] - exact).max(), 1e-8)

    def check_dump(self, dim, dt, dani):
        dump = os.path.join(self.folder, "dump%d" % dim)
        os.mkdir(dump)
        fibres = os.path.join(self.folder, "fibres.txt")
        cells = 6 * 12 * 3 * 2 if dim == 3 else 2 * 12 * 5
        n = np.random.default_rng(2).normal(size=(cells, 3)) * ([1, 1, 1] if dim == 3 else [1, 1, 0])
        np.savetxt(fibres, n.ravel(), "%.17g")
        shape = ["--slab", "12,3,2,0.5"] if dim == 3 else ["--square", "12,5,0.5"]
        run(self.folder, *shape, "--fibres", fibres, "--dani", dani, "--time", 8, "--fixed",
            "--dt", dt, "--dump", dump + ",12")
        a = {name[:-4]: np.load(os.path.join(dump, name)).ravel() for name in os.listdir(dump)}
        x = a["x"].reshape(-1, dim)
        t = a["cells"].astype(int).reshape(-1, dim + 1)
        K = sp.csr_matrix((a["values"], a["indices"].astype(int), a["indptr"].astype(int))).toarray()
        self.assertGreater(np.ptp(a["phi"]), 0.1)  # there is a wave

        # scikit-fem with one point a cell; d phi_q / d phi_b = 1 / corners
        mesh = (skfem.MeshTri if dim == 2 else skfem.MeshTet)(x.T, t.T)
        np.testing.assert_array_equal(np.sort(mesh.t.T, 1), np.sort(t, 1))
        element = skfem.ElementTriP1() if dim == 2 else skfem.ElementTetP1()
        point = np.full((dim, 1), 1 / (dim + 1))
        weight = np.array([0.5 if dim == 2 else 1 / 6])
        basis = skfem.Basis(mesh, element, quadrature=(point, weight))
        fibre = a["fibre"].reshape(-1, 3)[:, :dim]
        phi = a["phi"][t].mean(1)
        old = a["phi_old"][t].mean(1)
        r = a["r_old"].copy()
        for _ in range(50):  # r by Newton with a difference for the derivative
            g = rates(phi, r)[1]
            slope = (rates(phi, r + 1e-7)[1] - rates(phi, r - 1e-7)[1]) / 2e-7
            r -= ((r - a["r_old"]) / dt - g) / (1 / dt - slope)

        def force(p):
            """f at r(p), by continuing r's iteration."""
            s = r.copy()
            for _ in range(50):
                g = rates(p, s)[1]
                slope = (rates(p, s + 1e-20j)[1]).imag / 1e-20 if np.isrealobj(p) else 0
                s = s - ((s - a["r_old"]) / dt - g) / (1 / dt - (slope if np.isrealobj(p) else sl))
            return rates(p, s)[0]

        sl = (rates(phi, r + 1e-20j)[1]).imag / 1e-20
        f = rates(phi, r)[0]
        slope = force(phi + 1e-20j).imag / 1e-20  # complex step: df/dphi through r, exact
        column = lambda v: v[:, None]

        @skfem.BilinearForm
        def matrix(u, v, w):
            flux = dot(w.n, helpers.grad(u)) * dot(w.n, helpers.grad(v))
            return (w.mass * u * v + helpers.dot(helpers.grad(u), helpers.grad(v)) + dani * flux)

        @skfem.LinearForm
        def residual(v, w):
            flux = dot(w.n, w.grad) * dot(w.n, helpers.grad(v))
            return w.load * v + dot(w.grad, helpers.grad(v)) + dani * flux

        dot = lambda p, q: sum(p[d] * q[d] for d in range(dim))
        directions = fibre.T[:, :, None]
        gradient = basis.interpolate(a["phi"]).grad
        theirs = matrix.assemble(basis, mass=column(1 / dt - slope), n=directions).toarray()
        R = residual.assemble(basis, load=column((phi - old) / dt - f), grad=gradient, n=directions)
        self.assertLess(abs(K - theirs).max(), 1e-12 * abs(theirs).max())
        self.assertLess(abs(a["b"] + R).max(), 1e-12 * abs(theirs).max())

    def test_first_newton_matrix_and_residual(self):
        self.check_dump(2, 0.25, 0.4)
        self.check_dump(3, 0.25, 0.7)

    def velocity(self, h, dt, *words):
        """mm / ms between 10 and 20 mm of a strip 28 mm long."""
        cells = round(28 / h)
        s = run(self.folder, "--square", "%d,1,%g" % (cells, h), "--stimulus",
                "0,1,-9,9,-9,9,0,2,0.5", "--time", 60, "--fixed", "--dt", dt, *words)
        activation = state(self.folder, s)[1]
        dump = os.path.join(self.folder, "x")
        os.makedirs(dump, exist_ok=True)
        run(self.folder, "--square", "%d,1,%g" % (cells, h), "--time", dt, "--dt", dt, "--dump", dump)
        x = np.load(os.path.join(dump, "x.npy")).reshape(-1, 2)
        lower = x[:, 1] == 0
        return 10 / np.diff(np.interp([10, 20], np.sort(x[lower, 0]), np.sort(activation[lower])))[0]

    def test_conduction_velocity(self):
        """Converges with order 1 in dt and at least 1.5 in h, near the travelling wave's speed."""
        v = np.array([self.velocity(0.25, dt) for dt in (0.4, 0.2, 0.1, 0.05)])
        ratios = np.diff(v)[:-1] / np.diff(v)[1:]
        self.assertTrue(np.all((ratios > 1.6) & (ratios < 2.4)), (v, ratios))
        v = np.array([self.velocity(h, 0.1) for h in (0.5, 0.25, 0.125)])
        ratio = (v[1] - v[0]) / (v[2] - v[1])
        self.assertGreater(ratio, 2**1.5, str(v))
        # cubic without recovery: sqrt(c D / (2 tau)) (1 - 2 alpha) with D = 1, c = 8, tau = 12.9
        front = np.sqrt(8 / 12.9 / 2) * (1 - 0.02)
        limit = 2 * self.velocity(0.125, 0.05) - v[2]
        self.assertLess(abs(limit / front - 1), 0.03, (limit, front))

    def along(self, *words):
        """Activation at 10, 20, 30 mm of the edge y = 0 of a block."""
        s = run(self.folder, *words)
        activation = state(self.folder, s)[1]
        dump = os.path.join(self.folder, "along")
        os.makedirs(dump, exist_ok=True)
        run(self.folder, *words[:2], "--time", 0.1, "--dt", 0.1, "--dump", dump)
        x = np.load(os.path.join(dump, "x.npy")).reshape(-1, 2)
        edge = np.flatnonzero(x[:, 1] == 0)
        edge = edge[np.argsort(x[edge, 0])]
        return np.interp([10, 20, 30], x[edge, 0], activation[edge])

    def test_published_square(self):
        """The square of Goektepe and Kuhl (2009) as SimVascular's square_AP_2d has it: D = 1 mm^2 / ms, its first
        millimetre stimulated with 10 mV / ms for 10 ms. Their results are pictures; in the limit of h and dt, activation
        times are those of an independent program."""
        limit = {}
        for h in (0.25, 0.125):
            a, b = (self.along("--square", "%d,2,%g" % (round(40 / h), h), "--stimulus", "0,1,-9,99,-9,9,0,10,0.1",
                               "--time", 70, "--fixed", "--dt", dt) for dt in (0.1, 0.05))
            limit[h] = 2 * b - a
        ours = (4 * limit[0.125] - limit[0.25]) / 3
        theirs = (4 * plane_wave(0.125) - plane_wave(0.25)) / 3
        self.assertLess(abs(ours - theirs).max(), 5e-3, (ours, theirs))
        self.assertLess(abs(theirs - [28.064, 46.301, 64.633]).max(), 2e-3, theirs)

    def test_spiral(self):
        """S1-S2 starts a wave that goes round for good; without S2 the tissue comes to rest."""
        words = ["--square", "60,60,1", "--dt", 1, "--time", 1500]
        ends = {}
        for protocol in ("s1s2:430", "plane:x"):
            s = run(self.folder, *words, "--stimulus", protocol)
            ends[protocol] = state(self.folder, s)[0]
        self.assertTrue(ends["s1s2:430"].max() > 0.8 and ends["s1s2:430"].min() < 0.1)
        self.assertLess(ends["plane:x"].max(), 0.05)

    def test_bounds_and_solvers(self):
        """phi stays in its range; multigrid, on nested meshes too, gives what Jacobi gives."""
        words = ["--square", "10,10,0.8", "--refine", "2", "--stimulus", "s1s2:12", "--time", 30,
                 "--dt", 0.5, *TIGHT]
        expected = None
        for solver in ("jacobi", "chebyshev", "multigrid", "cycle=none smoother=jacobi"):
            for refresh in ("never", "step", "newton")[: 3 if solver == "multigrid" else 1]:
                s = run(self.folder, *words, "--solver", solver, "--refresh", refresh)
                got = state(self.folder, s)[0]
                expected = got if expected is None else expected
                self.assertLess(abs(got - expected).max(), 1e-9, solver)
                self.assertTrue(-0.02 < s["phi"][0] and s["phi"][1] < 1.02, s["phi"])
        for end in (10, 20, 30, 600):  # a wave, then recovery
            low, high = run(self.folder, "--square", "60,3,0.5", "--time", end)["phi"]
            self.assertTrue(-0.02 < low and high < 1.02, (end, low, high))
            self.assertTrue(high < 0.1 if end == 600 else high - low > 0.8, (end, low, high))

    def test_formats(self):
        expected = None
        for name in ("csr", "k1", "k2", "sell", "compressed"):
            s = run(self.folder, "--slab", "8,3,3,0.7", "--time", 6, "--format", name, *TIGHT)
            got = state(self.folder, s)[0]
            expected = got if expected is None else expected
            self.assertLess(abs(got - expected).max(), 1e-11, name)

    def test_split_runs_are_equal_to_the_bit(self):
        for solver in ("jacobi", "multigrid"):
            words = ["--square", "20,20,0.4", "--solver", solver, "--checkpoint", 5, "--dt", 0.8]
            one = os.path.join(self.folder, "one" + solver)
            two = os.path.join(self.folder, "two" + solver)
            run(one, *words, "--time", 20)
            run(two, *words, "--time", 10)
            run(two, *words, "--time", 20, "--restart")
            with open(os.path.join(one, "state.npy"), "rb") as a, open(os.path.join(two, "state.npy"), "rb") as b:
                self.assertEqual(a.read(), b.read(), solver)

    def test_interrupted_run_goes_on_to_the_bit(self):
        words = ["--square", "60,60,0.3", "--checkpoint", 0, "--time", 60, "--dt", 0.5]
        one = os.path.join(self.folder, "one")
        two = os.path.join(self.folder, "two")
        run(one, *words)
        child = subprocess.Popen([HEART, "--output", two, "--every", "0", "--quiet", "--threads", "1", *map(str, words)])
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=60), 0)
        with open(os.path.join(two, "summary.json"), encoding="ascii") as file:
            self.assertLessEqual(json.load(file)["time"], 60)
        run(two, *words, "--restart")
        with open(os.path.join(one, "state.npy"), "rb") as a, open(os.path.join(two, "state.npy"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_pictures_are_read_by_others(self):
        try:
            import meshio
        except ImportError:
            self.skipTest("no meshio")
        subprocess.run([HEART, "--output", self.folder, "--slab", "5,2,2,1", "--fibres", "x", "--every", "2",
                        "--time", "4", "--quiet"], check=True, timeout=60)
        with open(os.path.join(self.folder, "heart.pvd"), encoding="ascii") as file:
            self.assertEqual(file.read().count("<DataSet"), 3)
        last = meshio.read(os.path.join(self.folder, "phi-00002.vtu"))
        with open(os.path.join(self.folder, "summary.json"), encoding="ascii") as file:
            s = json.load(file)
        np.testing.assert_allclose(last.point_data["phi"], state(self.folder, s)[0], atol=1e-7)
        self.assertEqual(len(last.cells_dict["tetra"]), s["cells"])
        m = meshio.read(os.path.join(self.folder, "activation.vtu"))
        np.testing.assert_allclose(m.cell_data["fibre"][0], np.tile([1.0, 0, 0], (s["cells"], 1)))

    def test_wrong_words(self):
        for words in (["--slab", "1,2"], ["--nonsense", "1"], ["--stimulus", "plane:w"], ["--time", "0"],
                      ["--solver", "smoother=none-such"], ["--mesh", "/none"], ["--fibres", "/none"]):
            done = subprocess.run([HEART, "--output", self.folder, *words], capture_output=True, timeout=20)
            self.assertIn(done.returncode, (1, 2), words)
            self.assertIn(b"heart: ", done.stderr)


class Device(unittest.TestCase):
    def test_equal_to_the_cpu(self):
        words = ["--slab", "14,8,6,0.8", "--fibres", "x", "--dani", "1", "--time", 50, "--fixed", "--dt", 0.5,
                 *TIGHT]
        for solver in ("jacobi", "chebyshev", "multigrid"):
            phi = {}
            for backend in ("cpu", "cuda"):
                with tempfile.TemporaryDirectory() as folder:
                    s = run(folder, *words, "--backend", backend, "--solver", solver)
                    phi[backend] = state(folder, s)
            for a, b in zip(phi["cpu"], phi["cuda"]):
                self.assertLess(abs(a - b).max(), 1e-10, solver)


if __name__ == "__main__":
    if CUDA:
        del Heart
        with tempfile.TemporaryDirectory() as probe:
            found = subprocess.run([HEART, "--output", probe, "--backend", "cuda", "--time", "1", "--quiet",
                                    "--every", "0"], capture_output=True, text=True)
        if found.returncode != 0 and "CUDA" in found.stderr:
            print("skipped: no GPU")
            sys.exit(77)
    else:
        del Device
    unittest.main()
