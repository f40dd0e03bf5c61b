"""XLA's foreign function interface: calls that XLA makes, with the memory of its arrays in place, on the host and on a GPU.

The plain ones end in C (xla.c) and wait for no Python, the others come here. The structs are those of
`xla/ffi/api/c_api.h`, read from the installed jaxlib, so that they are always the ones that XLA was built with; the
C part, built before, gets the offsets of their fields.
"""
import ctypes
import functools
import pathlib
import re

import cffi
import jax

from ._arrays import View
from ._errors import ArgumentError
from ._ffi import ffi as ours
from ._library import lib

_FLOAT32, _FLOAT64 = 11, 12  # XLA_FFI_DataType
_DTYPES = {_FLOAT32: "float32", _FLOAT64: "float64"}
_INVALID_ARGUMENT, _INTERNAL = 3, 13  # XLA_FFI_Error_Code
_EXECUTE = 3  # XLA_FFI_ExecutionStage
_METADATA = 1  # XLA_FFI_Extension_Type: what XLA wants to know when a function is registered


@functools.lru_cache(None)
def _api():
    """(ffi with the structs of XLA, major and minor version of the interface)."""
    header = pathlib.Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    source = header.read_text(encoding="utf-8")
    version = [int(re.search(rf"#define XLA_FFI_API_{part} (\d+)", source)[1]) for part in ("MAJOR", "MINOR")]
    source = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    source = re.sub(r'#ifdef __cplusplus\s+(extern "C" \{|\})\s+#endif', "", source)
    source = re.sub(r"^[ \t]*#(?:[^\\\n]|\\\n|\\.)*", "", source, flags=re.M)
    source = re.sub(r"XLA_FFI_DEFINE_STRUCT_TRAITS\((\w+),[^)]*\);", r"typedef struct \1 \1;", source)
    source = re.sub(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", r"\1 *\1", source)
    ffi = cffi.FFI()
    ffi.cdef(source)
    return ffi, version


def _number(ffi, attrs):
    """The one attribute of a call, an integer."""
    return ffi.cast("int64_t *", ffi.cast("XLA_FFI_Scalar *", attrs.attrs[0]).value)[0]


def _views(ffi, count, pointers, device):
    """Arguments or results as views; arrays of two dimensions are blocks of columns."""
    found = []
    for k in range(count):
        buffer = ffi.cast("XLA_FFI_Buffer *", pointers[k])
        if buffer.rank > 2 or buffer.dtype not in _DTYPES:
            raise ArgumentError(f"arrays of one or two dimensions of float32 or float64 are needed, {buffer.rank} dimensions of "
                                f"XLA's type {buffer.dtype} are given")
        n = buffer.dims[0] if buffer.rank > 0 else 1
        columns = buffer.dims[1] if buffer.rank > 1 else 1
        found.append(View(None, int(ffi.cast("intptr_t", buffer.data)), n, _DTYPES[buffer.dtype], device, columns))
    return found


def _stream(ffi, frame):
    """The CUDA stream of a call."""
    asked = ffi.new("XLA_FFI_Stream_Get_Args *", {"struct_size": ffi.sizeof("XLA_FFI_Stream_Get_Args"), "ctx": frame.ctx})
    if frame.api.XLA_FFI_Stream_Get(asked) != ffi.NULL:
        raise RuntimeError("XLA gives no stream")
    return int(ffi.cast("intptr_t", asked.stream))


@functools.lru_cache(None)
def _driver():
    return ctypes.CDLL("libcuda.so.1")


def settle(stream, own):
    """Waits for XLA's stream, unless it is the one that the library works on."""
    if stream != own and _driver().cuStreamSynchronize(ctypes.c_void_p(stream)) != 0:
        raise RuntimeError("XLA's stream failed")


def _refuse(ffi, api, error):
    code = _INVALID_ARGUMENT if isinstance(error, ValueError) else _INTERNAL
    message = ffi.new("char[]", f"cascademg: {error}".encode())
    made = ffi.new("XLA_FFI_Error_Create_Args *",
                   {"struct_size": ffi.sizeof("XLA_FFI_Error_Create_Args"), "message": message, "errc": code})
    return api.XLA_FFI_Error_Create(made)


def _handler(function, device):
    """The function for calls that C leaves; `function(number, arguments, results, stream)` does the work."""
    ffi, version = _api()

    def call(frame):
        frame = ffi.cast("XLA_FFI_CallFrame *", frame)
        asked = frame.extension_start
        if asked != ffi.NULL and asked.type == _METADATA:
            about = ffi.cast("XLA_FFI_Metadata_Extension *", asked).metadata
            about.api_version.major_version, about.api_version.minor_version = version
            return ffi.NULL
        if frame.stage != _EXECUTE:
            return ffi.NULL
        try:
            function(_number(ffi, frame.attrs), _views(ffi, frame.args.size, frame.args.args, device),
                     _views(ffi, frame.rets.size, frame.rets.rets, device), _stream(ffi, frame) if device else None)
        except Exception as error:
            return _refuse(ffi, frame.api, error)
        return ffi.NULL
    return call


def _layout(ffi):
    """Where the fields are that xla.c reads."""
    def at(struct, *fields):
        return ffi.offsetof("XLA_FFI_" + struct, *fields)
    frame, buffer, asked = "CallFrame", "Buffer", "Stream_Get_Args"
    extension = dict(ffi.typeof("XLA_FFI_CallFrame").fields)["extension_start"].type.item
    return {"extension": at(frame, "extension_start"), "stage": at(frame, "stage"), "api": at(frame, "api"), "ctx": at(frame, "ctx"),
            "nargs": at(frame, "args", "size"), "args": at(frame, "args", "args"), "rets": at(frame, "rets", "rets"),
            "attrs": at(frame, "attrs", "attrs"), "extension_type": ffi.offsetof(extension, "type"),
            "value": at("Scalar", "value"), "stream_get": at("Api", "XLA_FFI_Stream_Get"),
            **{name: at(buffer, name) for name in ("dtype", "data", "rank", "dims")},
            "asked_bytes": ffi.sizeof("XLA_FFI_Stream_Get_Args"), "asked_ctx": at(asked, "ctx"), "asked_stream": at(asked, "stream"),
            "execute": _EXECUTE, "metadata": _METADATA, "float64": _FLOAT64}


_registered = []


def register(name, function, after):
    """Makes solves a target of jax.ffi.ffi_call, on the CPU and on CUDA, once.

    `function` takes the calls that xla.c leaves, `after(number, status)` hears of failures and of solves that did not
    converge.
    """
    if _registered:
        return
    xla, _ = _api()

    def told(frame, solver, status):
        try:
            after(int(ours.cast("intptr_t", solver)), status)
        except Exception as error:
            return _refuse(xla, xla.cast("XLA_FFI_CallFrame *", frame).api, error)
        return ours.NULL
    others = [ours.callback("void *(void *)", _handler(function, device)) for device in (False, True)]
    last = ours.callback("void *(void *, cmg_xla_solver *, cmg_status)", told)
    given = ours.new("cmg_xla_python *", {"layout": _layout(xla), "other": others, "after": last})
    try:
        given.synchronize = ours.cast("int(*)(void *)", ctypes.cast(_driver().cuStreamSynchronize, ctypes.c_void_p).value)
    except OSError:
        pass  # no driver, no calls on a device
    lib().cmg_xla_set(given)
    _registered.extend((given, others, last))  # XLA and C keep the addresses alone
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    for platform, target in (("cpu", lib().cmg_xla_on_host), ("CUDA", lib().cmg_xla_on_device)):
        jax.ffi.register_ffi_target(name, make(int(ours.cast("intptr_t", target)), None, None), platform=platform)
