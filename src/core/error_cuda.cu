/* What CUDA reports, as a status and a sentence. */
#include "core/cuda.cuh"

cmg_status cmgi_cuda_failed(cmg_context *ctx, cudaError_t error, const char *what)
{
    (void)cudaGetLastError(); /* an error that does not stick is cleared here */
    const cmg_status code = error == cudaErrorMemoryAllocation ? CMG_ERR_MEMORY : CMG_ERR_DEVICE;
    return cmgi_fail(ctx, code, "CUDA: %s (%s) in %s", cudaGetErrorString(error),
                     cudaGetErrorName(error), what);
}

cmg_status cmgi_launched(cmg_context *ctx, const char *what)
{
    cudaError_t error = cudaGetLastError();
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
