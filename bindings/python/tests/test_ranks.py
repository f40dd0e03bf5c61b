"""Several processes by mpi4py, skipped where it, mpirun or the package's MPI is not here."""
import os
import shutil
import subprocess
import sys

import pytest

import cascademg
from cascademg import _ranks

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_processes_share_a_hierarchy(processes, tmp_path):
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    try:
        _ranks._library()
    except cascademg.UnsupportedError as error:
        pytest.skip(str(error))
    # Open MPI's names for --allow-run-as-root and --oversubscribe, which others lack
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", OMP_NUM_THREADS="1",
                       PYTHONPATH=os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(cascademg.__file__)),
                                                                os.environ.get("PYTHONPATH")])))
    done = subprocess.run(["mpirun", "-n", str(processes), sys.executable, os.path.join(HERE, "ranks_program.py"),
                           str(tmp_path)], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("done") == processes
