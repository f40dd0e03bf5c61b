"""The device library of cascademg: libcmg with CUDA 13, for NVIDIA drivers from 580 on. `import cascademg` finds it."""
from ._build import VERSION as __version__  # noqa: F401
