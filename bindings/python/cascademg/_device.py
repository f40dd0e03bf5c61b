"""The device library, which the package cascademg-cu13 adds: the CPU's library with CUDA, loaded where its driver is found."""
from __future__ import annotations

import ctypes
import functools
import importlib.util
import pathlib

from . import _build

PACKAGE = "cascademg_cu13"
DRIVER = 13000  # what cuDriverGetVersion says of the oldest driver that runs it
DRIVER_NAME = "580"


def driver_version():
    """CUDA version of the NVIDIA driver, 13020 for 13.2; 0 where there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    version = ctypes.c_int(0)
    return version.value if driver.cuDriverGetVersion(ctypes.byref(version)) == 0 else 0


@functools.lru_cache(None)
def find():
    """(path of the device library, "") or (None, why there is none)."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None:
        return None, ("this package is for CPUs: `pip install cascademg-cu13` adds the device library (NVIDIA, CUDA 13), "
                      "`pip install .` in a checkout compiles it where a GPU is seen")
    import cascademg_cu13
    if cascademg_cu13.__version__ != _build.VERSION:
        return None, f"cascademg-cu13 {cascademg_cu13.__version__} belongs to another cascademg than {_build.VERSION}"
    version = driver_version()
    if version == 0:
        return None, "cascademg-cu13 is installed, but there is no NVIDIA driver (libcuda.so.1): the CPU is used"
    if version < DRIVER:
        return None, (f"cascademg-cu13 needs an NVIDIA driver for CUDA {DRIVER // 1000} ({DRIVER_NAME} or newer), this one is for "
                      f"{version // 1000}.{version % 1000 // 10}: the CPU is used")
    return str(pathlib.Path(found.origin).parent / "libcascademg.so"), ""
