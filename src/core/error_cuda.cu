/*
 * What CUDA reports, as a status and a sentence; the guard of the current device.
 *
 * The runtime keeps one error a thread, and a launch reports through it alone. One that the program
 * has left there is neither taken from it nor mistaken for ours: work does not begin until the
 * program has taken it, unless no launch could have reported it.
 */
#include "core/cuda.cuh"

/* Answers to questions, which programs leave behind where they poll or ask for what is there. */
static bool is_answer(cudaError_t error)
{
    switch (error) {
    case cudaErrorNotReady:
    case cudaErrorPeerAccessAlreadyEnabled:
    case cudaErrorPeerAccessNotEnabled:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered:
        return true;
    default:
        return false;
    }
}

cudaError_t cmgi_cuda_pending(void)
{
    const cudaError_t error = cudaPeekAtLastError();
    return is_answer(error) ? cudaSuccess : error;
}

void cmgi_cuda_ignore(cudaError_t error)
{
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
    }
}

cmg_status cmgi_cuda_failed(cmg_context *ctx, cudaError_t error, const char *what)
{
    cmgi_cuda_ignore(error);
    const cmg_status code = error == cudaErrorMemoryAllocation ? CMG_ERR_MEMORY : CMG_ERR_DEVICE;
    return cmgi_fail(ctx, code, "CUDA: %s (%s) in %s", cudaGetErrorString(error),
                     cudaGetErrorName(error), what);
}

cmg_status cmgi_launched(cmg_context *ctx, const char *what)
{
    cudaError_t error = cmgi_cuda_pending();
#ifndef NDEBUG
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (error == cudaSuccess) {
        error = cudaStreamIsCapturing(cmgi_stream(ctx), &capturing);
    }
    if (error == cudaSuccess && capturing == cudaStreamCaptureStatusNone) {
        error = cudaStreamSynchronize(cmgi_stream(ctx));
    }
#endif
    return error == cudaSuccess ? CMG_OK : cmgi_cuda_failed(ctx, error, what);
}

cmgi_device_guard::cmgi_device_guard(cmg_context *ctx)
    : ctx_(ctx), before_(-1), moved_(false), left_(cmgi_cuda_pending()), error_(cudaSuccess)
{
    const int mine = cmgi_device_of(ctx)->number;
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && before_ != mine) {
        error_ = cudaSetDevice(mine);
        moved_ = error_ == cudaSuccess;
    }
    if (left_ == cudaSuccess) {
        cmgi_cuda_ignore(error_);
    }
}

cmgi_device_guard::~cmgi_device_guard()
{
    if (!moved_) {
        return;
    }
    const cudaError_t error = cudaSetDevice(before_);
    if (error != cudaSuccess) {
        cmgi_log(ctx_, CMG_LOG_WARN, "CUDA: device %d is not current again: %s", before_,
                 cudaGetErrorString(error));
        cmgi_cuda_ignore(error);
    }
}

cmg_status cmgi_device_guard::status() const
{
    if (left_ != cudaSuccess) {
        return cmgi_fail(ctx_, CMG_ERR_DEVICE,
                         "CUDA: an earlier call of the program has left an error: %s (%s); "
                         "cudaGetLastError takes it",
                         cudaGetErrorString(left_), cudaGetErrorName(left_));
    }
    return error_ == cudaSuccess
               ? CMG_OK
               : cmgi_cuda_failed(ctx_, error_, "the change to the context's device");
}
