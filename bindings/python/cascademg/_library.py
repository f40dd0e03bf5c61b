"""The shared library, loaded once on first use."""
from __future__ import annotations

import difflib
import os
import pathlib

from ._errors import ArgumentError
from ._ffi import ffi

_lib = None


def _candidates():
    named = os.environ.get("CASCADEMG_LIBRARY")
    if named:
        return [named]
    folder = pathlib.Path(__file__).parent
    return [str(folder / "libcascademg.so"), str(folder / "libcascademg.dylib")]


def lib():
    """The library; CASCADEMG_LIBRARY overrides the one of the package."""
    global _lib
    if _lib is None:
        tried = []
        for path in _candidates():
            try:
                _lib = ffi.dlopen(path)
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
