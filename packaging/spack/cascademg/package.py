# Spack recipe of the C library and the command, not yet run by Spack. `spack repo add packaging/spack` makes it known.
from spack.package import *


class Cascademg(CMakePackage, CudaPackage):
    """Geometric multigrid on cascades of sparse matrix-vector products, for CPUs and NVIDIA GPUs."""

    homepage = "https://github.com/cascademg/cascademg"
    git = "https://github.com/cascademg/cascademg.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("fem", default=True, description="Build libcmgfem: meshes and generated hierarchies")
    variant("openmp", default=True, description="Use threads on the host")
    variant("hdf5", default=True, description="Read and write the hierarchy container")
    variant("lapack", default=True, description="Use LAPACK for dense coarse inverses")
    variant("metis", default=False, description="Nested dissection numbering")
    variant("mpi", default=False, description="Build libcmgmpi: one solve on several processes")
    variant("petsc", default=False, description="Build libpetsccmg: PETSc's -pc_type cmg")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3:", type="build")
    depends_on("hdf5~mpi", when="+hdf5")
    depends_on("lapack", when="+lapack")
    depends_on("metis", when="+metis")
    depends_on("mpi", when="+mpi")
    depends_on("petsc", when="+petsc")
    depends_on("pkgconfig", type="build", when="+petsc")

    conflicts("cuda_arch=none", when="+cuda", msg="name the CUDA architectures, as in cuda_arch=80,90")

    def cmake_args(self):
        def part(name):
            return self.define(f"CMG_WITH_{name.upper()}", "ON" if self.spec.satisfies(f"+{name}") else "OFF")

        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("CMG_FEM", "fem"),
            self.define_from_variant("CMG_PETSC", "petsc"),
            self.define("CMG_HYPRE", False),
            self.define("CMG_TESTS", self.run_tests),
            self.define("CMG_NESTED_TESTS", False),
            self.define("CMG_STUDIES", self.run_tests), # some tests need them
            self.define("CMG_EXAMPLES", False),
            self.define("CMG_BENCHMARKS", False),
        ]
        args += [part(name) for name in ("openmp", "hdf5", "lapack", "metis", "mpi", "cuda")]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return args
