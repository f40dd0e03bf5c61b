/* Solves that XLA calls for, without Python: the plain case of what cascademg.jax registers. */
#ifndef CMG_PYTHON_XLA_H
#define CMG_PYTHON_XLA_H

#include <cmg.h>

#include <stdint.h>

/* A lock of a context that Python and XLA's threads take. It is never destroyed: XLA may know of
 * it. */
typedef struct cmg_python_lock cmg_python_lock;
CMG_API cmg_python_lock *cmg_python_lock_create(void);
CMG_API void cmg_python_lock_take(cmg_python_lock *lock);
CMG_API void cmg_python_lock_give(cmg_python_lock *lock);

/* A solver by whose address XLA's calls name it, guarded by the lock. */
typedef struct cmg_xla_solver {
    cmg_solver *solver; /* NULL once it is gone */
    cmg_context *ctx;
    cmg_report *report;
    void *stream; /* of the context where it is the caller's, else NULL */
    cmg_python_lock *lock;
    cmg_size n;
    int device; /* its vectors are in the device's memory */
    /* calls that were answered without Python, and of the last one the memory of b and x, the
     * seconds in it and those of them in which it waited for XLA's stream */
    int64_t calls;
    const void *b, *x;
    double seconds, wait_seconds;
} cmg_xla_solver;

/* Bytes before the fields of XLA's structs (xla/ffi/api/c_api.h) that are read here. */
typedef struct cmg_xla_layout {
    size_t extension, stage, api, ctx, nargs, args, rets, attrs; /* XLA_FFI_CallFrame */
    size_t extension_type;                                       /* of what `extension` points to */
    size_t dtype, data, rank, dims;                              /* XLA_FFI_Buffer */
    size_t value;                                                /* XLA_FFI_Scalar */
    size_t stream_get;                                           /* XLA_FFI_Api */
    size_t asked_bytes, asked_ctx, asked_stream;                 /* XLA_FFI_Stream_Get_Args */
    int execute, metadata, float64;                              /* of the enumerations */
} cmg_xla_layout;

/* What is not the plain case (fp64 in the solver's memory, no values, a free lock) goes to `other`;
 * `after` hears of a failure or of a solve that has not converged. Both return XLA's error or NULL.
 */
typedef struct cmg_xla_python {
    cmg_xla_layout layout;
    void *(*other[2])(void *frame); /* on the host, on a device */
    void *(*after)(void *frame, cmg_xla_solver *s, cmg_status status);
    int (*synchronize)(void *stream); /* cuStreamSynchronize */
} cmg_xla_python;
CMG_API void cmg_xla_set(const cmg_xla_python *python); /* borrowed */
CMG_API void *cmg_xla_on_host(void *frame);
CMG_API void *cmg_xla_on_device(void *frame);

#endif
