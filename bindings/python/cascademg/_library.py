"""The shared library, loaded once on first use."""
from __future__ import annotations

import difflib
import os
import pathlib
from typing import Any

from . import _build, _device
from ._errors import ArgumentError, UnsupportedError
from ._ffi import ffi

_lib = None
_path = None  # of the library


def _candidates():
    named = os.environ.get("CASCADEMG_LIBRARY")
    if named:
        return [named]
    folder = pathlib.Path(__file__).parent
    device = _device.find()[0]
    return ([device] if device else []) + [str(folder / "libcascademg.so"), str(folder / "libcascademg.dylib")]


def lib():
    """The library; CASCADEMG_LIBRARY overrides the one of the package."""
    global _lib, _path
    if _lib is None:
        tried = []
        for path in _candidates():
            try:
                _lib, _path = ffi.dlopen(path), path
                break
            except OSError as error:
                tried.append(str(error))
        else:
            raise ImportError("libcascademg cannot be loaded: " + "; ".join(tried))
    return _lib


def chars(value, what):
    """A str as a C string, which would end at a null character."""
    if "\0" in value:
        raise ArgumentError(f"{what}: {value!r} has a null character")
    return value.encode()


def path_chars(path):
    """A path as a C string."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ArgumentError(f"path: {name!r} has a null character")
    return name


def text(pointer, default=""):
    """A C string as str."""
    return default if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def defaults(kind):
    """An option or report struct with its size and its defaults: kind "cmg_solver_options"."""
    struct = ffi.new(kind + " *")
    if has(kind + "_init"):
        getattr(lib(), kind + "_init")(struct, ffi.sizeof(kind))
    else:
        getattr(lib(), kind + "_default")(struct)
    return struct


def has(symbol):
    """Whether this library has a function (libcmgfem may be left out)."""
    try:
        getattr(lib(), symbol)
    except AttributeError:
        return False
    return True


def version() -> str:
    """Version of the library, "major.minor.patch"."""
    return text(lib().cmg_version())


def backends() -> list[str]:
    """Backends that this build has: "cpu" always, "cuda" where it was built with CUDA."""
    return [name for name, value in (("cpu", 0), ("cuda", 1)) if lib().cmg_backend_available(value)]


_LACKS = {
    "HDF5": "containers (.cmg, .h5); Matrix Market, .npy and PETSc files are read",
    "LAPACK": "fast inverses of large coarse matrices",
    "METIS": "the numbering `nd`, partitions for ranks",
    "OpenMP": "several threads",
    "meshes": "generate, transfer",
    "MPI": "Context(comm=...)",
    "studies": "formats that serve comparisons alone: hyb, pcsr, cusparse-csr, cusparse-sell, tune",
}


def build_info() -> dict[str, Any]:
    """What this installation has, and what it lacks.

    Returns
    -------
    dict
        version, compiler, library (its path), `parts` by name, and `lacks`: what cannot be done, or why the CPU is used.
    """
    lib()
    parts = dict(_build.PARTS)
    if _path == _device.find()[0]:
        from cascademg_cu13 import _build as device
        parts.update(device.PARTS, MPI=parts["MPI"])
    lacks = {name: _LACKS[name] for name in _LACKS if parts[name] is None}
    if parts["CUDA"] is None:
        lacks["CUDA"] = _device.find()[1]
    return {"version": version(), "compiler": _build.COMPILER, "library": _path,
            "parts": {name: value for name, value in parts.items() if value is not None}, "lacks": lacks}


def check_backend(name):
    """Raises where a backend is asked for that this installation does not have, with what adds it."""
    if name == "cuda" and not lib().cmg_backend_available(1):
        raise UnsupportedError("backend 'cuda': " + _device.find()[1])


def methods() -> dict[str, str]:
    """Smoothers by name, each with its one-line description."""
    found, i = {}, 0
    while lib().cmg_smoother_name(i) != ffi.NULL:
        found[text(lib().cmg_smoother_name(i))] = text(lib().cmg_smoother_text(i))
        i += 1
    return found


def enum_value(kind, name):
    """Value of an enumeration from its name; ValueError lists the names there are."""
    value = ffi.new("int *")
    if lib().cmg_enum_parse(kind.encode(), chars(str(name), kind), value) == 0:
        return value[0]
    if has("cmg_fem_enum_parse") and lib().cmg_fem_enum_parse(kind.encode(), str(name).encode(), value) == 0:
        return value[0]
    known, i = [], 0
    while True:
        label = enum_name(kind, i)
        if label is None:
            break
        known.append(label)
        i += 1
    raise ValueError(f"unknown {kind} {name!r}" + (f"; known: {', '.join(known)}" if known else ""))


def set_option(rows, struct, key, value):
    """Sets an option by its row in the library's table; the library checks the value and says what is right."""
    known, i = {}, 0
    while rows(i) != ffi.NULL:
        known[text(rows(i).key)] = rows(i)
        i += 1
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        raise TypeError(f"unknown option {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, (list, tuple)):
        value = ",".join(str(entry) for entry in value)
    why = ffi.new("char[256]")
    if lib().cmg_option_set(known[key], struct, chars(str(value), key), why) != 0:
        raise ArgumentError(text(why))


def enum_name(kind, value):
    """Name of a value, None when it is out of range."""
    found = lib().cmg_enum_name(kind.encode(), value)
    if found == ffi.NULL and has("cmg_fem_enum_name"):
        found = lib().cmg_fem_enum_name(kind.encode(), value)
    return None if found == ffi.NULL else text(found)
