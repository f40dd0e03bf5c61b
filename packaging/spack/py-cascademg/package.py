# Spack recipe of the Python package, not yet run by Spack. `spack repo add packaging/spack` makes it known.
from spack.package import *


class PyCascademg(PythonPackage):
    """Geometric multigrid on cascades of sparse matrix-vector products: the Python package."""

    homepage = "https://github.com/cascademg/cascademg"
    git = "https://github.com/cascademg/cascademg.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("cuda", default=False, description="NVIDIA GPUs")
    variant("mpi", default=False, description="Several processes, by mpi4py")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.9:", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("py-cffi@1.15:", type=("build", "run"))
    depends_on("py-numpy@1.21:", type=("build", "run"))
    depends_on("py-scipy", type="run")
    depends_on("hdf5~mpi")
    depends_on("lapack")
    depends_on("metis")
    depends_on("cuda", when="+cuda")
    depends_on("mpi", when="+mpi")
    depends_on("py-mpi4py", type="run", when="+mpi")

    def config_settings(self, spec, prefix):
        settings = {f"cmake.define.CMG_WITH_{name}": "ON" for name in ("HDF5", "LAPACK", "METIS", "OPENMP")}
        for name in ("cuda", "mpi"):
            settings[f"cmake.define.CMG_WITH_{name.upper()}"] = "ON" if spec.satisfies(f"+{name}") else "OFF"
        return settings
