"""The package as it is installed: what it says it has, the program on the README's first page, the device library."""
import pathlib
import re
import sys
import types

import numpy as np
import pytest
from conftest import poisson

import cascademg
from cascademg import _build, _device, _library

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_first_program_of_the_readme(capsys):
    program = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    assert len(program.replace("\n\n", "\n").splitlines()) == 5
    exec(compile(program, "README.md", "exec"), {})
    iterations, residual = capsys.readouterr().out.split()
    assert 1 <= int(iterations) <= 30 and float(residual) <= 1e-8


def test_versions_agree():
    version = re.search(r"project\(cmg VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    device = (ROOT / "packaging/cu13/pyproject.toml").read_text()
    assert cascademg.__version__ == _build.VERSION == version
    assert f'version = "{version}"' in device and f'"cascademg=={version}"' in device


def test_build_info_says_what_is_missing():
    info = cascademg.build_info()
    assert info["version"] == cascademg.__version__ and pathlib.Path(info["library"]).exists()
    assert ("CUDA" in info["parts"]) == ("cuda" in cascademg.backends())
    assert not set(info["parts"]) & set(info["lacks"])
    assert set(info["parts"]) | set(info["lacks"]) == {"CUDA", "HDF5", "LAPACK", "METIS", "MPI", "OpenMP", "meshes", "studies"}


def test_cuda_is_refused_with_what_adds_it():
    if "cuda" in cascademg.backends():
        pytest.skip("this build has CUDA")
    with pytest.raises(cascademg.UnsupportedError, match="cascademg-cu13"):
        cascademg.Context("cuda")


@pytest.mark.parametrize("version, driver, why", [
    ("0.0.1", 13000, "belongs to another cascademg"), (_build.VERSION, 0, "there is no NVIDIA driver"),
    (_build.VERSION, 12040, "this one is for 12.4: the CPU is used"), (_build.VERSION, 13000, "")])
def test_device_library_is_taken_where_its_driver_is(monkeypatch, tmp_path, version, driver, why):
    (tmp_path / "cascademg_cu13").mkdir()
    (tmp_path / "cascademg_cu13/__init__.py").write_text(f"__version__ = {version!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cascademg_cu13", raising=False)
    monkeypatch.setattr(_device, "driver_version", lambda: driver)
    monkeypatch.delenv("CASCADEMG_LIBRARY", raising=False)
    path, said = _device.find.__wrapped__()
    assert (path is None) == bool(why) and why in said
    monkeypatch.setattr(_device, "find", lambda: (path, said))
    first = _library._candidates()[0]
    assert ("cascademg_cu13" in first) == (path is not None)
    monkeypatch.delitem(sys.modules, "cascademg_cu13", raising=False)


def test_ranks_name_the_mpi_that_is_missing(monkeypatch):
    from cascademg import _ranks
    vendor = {"name": "No MPI"}
    fake = types.SimpleNamespace(MPI=types.SimpleNamespace(get_vendor=lambda: (vendor["name"], (1, 0, 0))))
    monkeypatch.setitem(sys.modules, "mpi4py", fake)
    with pytest.raises(cascademg.UnsupportedError, match="mpi4py uses No MPI; ranks need one of Open MPI, MPICH"):
        _ranks._library.__wrapped__()
    vendor["name"] = "Open MPI"
    monkeypatch.setattr(_ranks, "__file__", "/nowhere/_ranks.py")
    with pytest.raises(cascademg.UnsupportedError, match="libcascademg_mpi_openmpi.so"):
        _ranks._library.__wrapped__()


def test_compressed_container_beside_h5py(tmp_path):
    """Deflate is in the package's HDF5, which h5py's does not disturb, nor the other way round."""
    h5py = pytest.importorskip("h5py")
    if "HDF5" not in cascademg.build_info()["parts"]:
        pytest.skip("this build has no HDF5")
    A = poisson(16)
    with h5py.File(tmp_path / "a.cmg", "w") as file:
        file.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": 1})
        group = file.create_group("levels/0/A")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": np.array(A.shape)})
        for name, values in (("indptr", A.indptr), ("indices", A.indices), ("data", A.data)):
            group.create_dataset(name, data=values, compression="gzip", shuffle=True)
    cascademg.read(tmp_path / "a.cmg").write(tmp_path / "b.cmg")
    with h5py.File(tmp_path / "b.cmg") as file:
        assert np.array_equal(file["levels/0/A/data"], A.data)
