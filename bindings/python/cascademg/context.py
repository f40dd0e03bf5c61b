"""Contexts: where the work is done, and who hears of it."""
from __future__ import annotations

import functools
import os
import threading
import warnings
from typing import Any, Callable

from . import _ranks
from ._errors import BY_STATUS, CmgWarning, InternalError
from ._ffi import ffi
from ._library import check_backend, defaults, enum_value, lib, text


class _Lock:
    """One thread at a time, a thread again where it is inside; `shared` is for calls of XLA, which come without Python."""

    def __init__(self):
        self._lock, self._depth, self.shared = threading.RLock(), 0, None

    def __enter__(self):
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1 and self.shared is not None:
            lib().cmg_python_lock_take(self.shared)

    def __exit__(self, *_):
        self._depth -= 1
        if self._depth == 0 and self.shared is not None:
            lib().cmg_python_lock_give(self.shared)
        self._lock.release()

    def share(self):
        """The lock for calls of XLA."""
        with self:
            if self.shared is None:
                made = lib().cmg_python_lock_create()
                if made == ffi.NULL:
                    raise MemoryError("no memory for a lock")
                lib().cmg_python_lock_take(made)
                self.shared = made
            return self.shared


class Context:
    """A backend with its threads, device and stream.

    Parameters
    ----------
    backend : {"cpu", "cuda"}, optional
        Where vectors and matrices live.
    threads : int, optional
        OpenMP threads, 0 = as OpenMP decides. A process that was forked after a context of several threads was made
        (multiprocessing's default up to Python 3.13) has one: OpenMP's threads do not survive a fork.
    device : int, optional
        CUDA device number.
    stream : int, optional
        A CUDA stream (its address as an integer, as CuPy and PyTorch give it) to work on; by default one of its own.
    progress : callable, optional
        Called with (what, done, total) during long work; a true return stops it.
    comm : mpi4py.MPI.Comm, optional
        The processes that share the work. Matrices and vectors are then this rank's rows, contiguous in the order of
        the ranks, with columns of the whole; every call is made by all ranks, and an exception of the library on one
        ends all. `threads` is 1 by default, and `device` counts from the process's number on its host.
    seconds : float, optional
        A rank that does not answer for so long is lost; by default 300.

    Raises
    ------
    UnsupportedError
        The build has no such backend.
    DeviceError
        No driver, or no device of that number.

    Notes
    -----
    A context serves one thread at a time: calls from several threads wait for each other. The GIL is released while
    the library works. Objects made from a context keep it alive.
    """

    _process = None  # the first with a context of several threads
    _defaults = {}
    _defaults_lock = threading.Lock()

    def __init__(self, backend: str = "cpu", threads: int = 0, device: int = 0, stream: int | None = None,
                 progress: Callable[[str, int, int], Any] | None = None, comm: Any = None,
                 seconds: float = 0) -> None:
        self.backend = backend
        self.comm = comm
        self._transport = None
        self.stream = stream
        self.lock = _Lock()
        check_backend(backend)
        self._progress_error = None
        options = defaults("cmg_context_options")
        lib().cmg_elements_use(options)
        options.backend = enum_value("backend", backend)
        options.threads = threads = self._threads_here(threads)
        options.device = device
        if comm is not None:
            options.threads = threads or 1
            options.device = (device + _ranks.local_rank(comm)) % max(1, lib().cmg_backend_devices(options.backend))
            self._transport = _ranks.transport(comm, seconds)
            lib().cmg_ranks_use(options, self._transport)
        if stream is not None:
            options.stream = ffi.cast("void *", stream)
        self._log = ffi.callback("void(void *, cmg_log_level, const char *)", self._receive)
        options.log = self._log
        if progress is not None:
            self._report = ffi.callback("int(void *, const char *, cmg_size, cmg_size)", self._progress(progress),
                                        error=1)
            options.progress = self._report
        why = ffi.new("char[1024]")
        options.why = why
        out = ffi.new("cmg_context **")
        status = lib().cmg_context_create(options, out)
        if status != 0 and comm is not None:
            self._transport.fail(self._transport.user, status, why)
        if status != 0:
            name = text(lib().cmg_status_name(status))
            raise BY_STATUS.get(name, InternalError)(text(why) or text(lib().cmg_status_text(status)))
        self.ptr = ffi.gc(out[0], _destroyer("cmg_context") if comm is None else _end(self._transport))
        if Context._process is None and self.threads > 1:
            Context._process = os.getpid()

    @staticmethod
    def _threads_here(threads):
        """Threads of a new context: one in a child of a process that has used several, which OpenMP lost at the fork."""
        if Context._process in (None, os.getpid()):
            return threads
        if threads > 1:
            warnings.warn(f"one thread instead of {threads}: OpenMP's do not survive the fork of this process", CmgWarning,
                          stacklevel=3)
        return 1

    @classmethod
    def default(cls, backend: str = "cpu") -> Context:
        """The context that is used where none is given, one a backend, made at its first use.

        Parameters
        ----------
        backend : {"cpu", "cuda"}
        """
        with cls._defaults_lock:
            if backend not in cls._defaults:
                cls._defaults[backend] = cls(backend)
            return cls._defaults[backend]

    def _receive(self, _user, level, line):
        if level <= 1:
            warnings.warn(text(line), CmgWarning, stacklevel=2)

    def _progress(self, function):
        def report(_user, what, done, total):
            try:
                return 1 if function(text(what), done, total) else 0
            except BaseException as error:  # handed on by check(), where the call returns
                self._progress_error = error
                return 1
        return report

    def check(self, status: int, message: Callable[[], Any] | None = None) -> None:
        """Raises the exception of a status other than CMG_OK.

        Parameters
        ----------
        status : int
            As calls of the library return it.
        message : callable, optional
            Gives its sentence, by default the context's last message.

        Raises
        ------
        CmgError
            A subclass of it, by the status.
        """
        if self._progress_error is not None:
            error, self._progress_error = self._progress_error, None
            raise error
        if status == 0:
            return
        name = text(lib().cmg_status_name(status))
        sentence = text(message() if message else lib().cmg_context_message(self.ptr)) or text(lib().cmg_status_text(status))
        self.fail(sentence, status)
        raise BY_STATUS.get(name, InternalError)(sentence)

    def fail(self, why: str, status: int | None = None) -> None:
        """Tells the other ranks that this one gives up: their calls raise with its sentence instead of waiting.

        Parameters
        ----------
        why : str
        status : int, optional
            Of the library.
        """
        if self._transport is not None:
            status = lib().CMG_ERR_STATE if status is None else status
            self._transport.fail(self._transport.user, status, ffi.new("char[]", why.encode()))

    def bandwidth(self) -> float:
        """Measured copy bandwidth of the context's memory in GB/s (1e9 bytes); takes a fraction of a second, once."""
        value = ffi.new("double *")
        with self.lock:
            self.check(lib().cmg_context_bandwidth(self.ptr, value))
        return value[0]

    def memory(self) -> dict[str, tuple[int, int]]:
        """Bytes held: {"host": (now, peak), "device": (now, peak)}."""
        now, peak = ffi.new("size_t[2]"), ffi.new("size_t[2]")
        lib().cmg_context_memory(self.ptr, now, peak)
        return {"host": (now[0], peak[0]), "device": (now[1], peak[1])}

    @property
    def threads(self) -> int:
        """OpenMP threads in use."""
        return lib().cmg_context_threads(self.ptr)

    def __repr__(self) -> str:
        return f"<cascademg.Context {self.backend}, {self.threads} threads>"


@functools.lru_cache(None)
def _destroyer(kind):
    destroy = getattr(lib(), kind + "_destroy")
    holder = kind + " **"

    def end(pointer):
        destroy(ffi.new(holder, pointer))
    return end


def _end(transport):
    def end(pointer):
        _destroyer("cmg_context")(pointer)
        _ranks.release(transport)
    return end


def own(kind, pointer):
    """A handle that is destroyed with its last reference."""
    return ffi.gc(pointer, _destroyer(kind))


def resolve(context, backend=None):
    """The context meant by a caller: given, or the default of a backend."""
    if context is not None:
        return context
    return Context.default(backend or "cpu")
