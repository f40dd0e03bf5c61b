"""Statuses of the library as exceptions; the message is the library's own sentence."""


class CmgError(RuntimeError):
    """A call of the library failed."""


class ArgumentError(CmgError, ValueError):
    """An argument is out of range, or sizes do not fit."""


class StateError(CmgError):
    """The object is not ready for this call."""


class OutOfMemoryError(CmgError, MemoryError):
    """Host or device memory ran out, or a size overflows."""


class FileError(CmgError, OSError):
    """A file cannot be read or written, or its content is not valid."""


class UnsupportedError(CmgError, NotImplementedError):
    """This build or backend has no such method."""


class DeviceError(CmgError):
    """CUDA reported a failure."""


class SingularError(CmgError, ArithmeticError):
    """A factorisation met a zero pivot."""


class InternalError(CmgError):
    """A bug in CascadeMG."""


class CmgWarning(UserWarning):
    """A line of the library's log."""


class ConvergenceWarning(CmgWarning):
    """A solve ended without convergence."""


BY_STATUS = {
    "CMG_ERR_ARG": ArgumentError,
    "CMG_ERR_SHAPE": ArgumentError,
    "CMG_ERR_STATE": StateError,
    "CMG_ERR_MEMORY": OutOfMemoryError,
    "CMG_ERR_IO": FileError,
    "CMG_ERR_FILE": FileError,
    "CMG_ERR_UNSUPPORTED": UnsupportedError,
    "CMG_ERR_DEVICE": DeviceError,
    "CMG_ERR_SINGULAR": SingularError,
}
