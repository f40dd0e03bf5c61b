/*
 * Recorded work: CUDA graphs, launched once or, with a conditional node around them, until a flag
 * on the device says stop; and the device's clock.
 */
#include "core/cuda.cuh"

/* Conditional nodes came with CUDA 12.4. */
#if CUDART_VERSION >= 12040
#define CMGI_CONDITIONAL_NODES
#endif

#ifdef CMGI_CONDITIONAL_NODES
__global__ void again_kernel(cudaGraphConditionalHandle condition, const int *again)
{
    cudaGraphSetConditional(condition, *again != 0 ? 1U : 0U);
}

/* A graph of one while node; the body is recorded from here on. */
static cudaError_t begin_loop(cmgi_device *d)
{
    cudaGraphConditionalHandle condition;
    cudaGraphNode_t node;
    cudaGraphNodeParams params = {};
    cudaError_t error = cudaGraphCreate(&d->recording, 0);
    if (error == cudaSuccess) {
        error = cudaGraphConditionalHandleCreate(&condition, d->recording, 1,
                                                 cudaGraphCondAssignDefault);
    }
    if (error == cudaSuccess) {
        d->loop_condition = condition;
        params.type = cudaGraphNodeTypeConditional;
        params.conditional.handle = condition;
        params.conditional.type = cudaGraphCondTypeWhile;
        params.conditional.size = 1;
#if CUDART_VERSION >= 13000
        error = cudaGraphAddNode(&node, d->recording, NULL, NULL, 0, &params);
#else
        error = cudaGraphAddNode(&node, d->recording, NULL, 0, &params);
#endif
    }
    if (error == cudaSuccess) {
        error = cudaStreamBeginCaptureToGraph(d->stream, params.conditional.phGraph_out[0], NULL,
                                              NULL, 0, cudaStreamCaptureModeThreadLocal);
    }
    if (error != cudaSuccess && d->recording != NULL) {
        (void)cudaGraphDestroy(d->recording);
        d->recording = NULL;
    }
    return error;
}
#endif

cmg_status cmgi_cuda_graph_begin(cmg_context *ctx, bool loop)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cudaError_t error = cudaErrorNotSupported;
    if (!loop) {
        error = cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal);
    }
#ifdef CMGI_CONDITIONAL_NODES
    int driver = 0;
    if (loop && cudaDriverGetVersion(&driver) == cudaSuccess && driver >= 12040) {
        error = begin_loop(d);
    }
#endif
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED, "CUDA: the stream cannot be recorded%s: %s",
                         loop ? " into a loop" : "", cudaGetErrorString(error));
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_graph_end(cmg_context *ctx, const int *again, void **graph)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cudaGraph_t loop = d->recording;
    cudaGraph_t body = NULL;
    cudaGraphExec_t made = NULL;
    cudaError_t error = cudaSuccess;
#ifdef CMGI_CONDITIONAL_NODES
    if (loop != NULL && again != NULL) {
        again_kernel<<<1, 1, 0, d->stream>>>((cudaGraphConditionalHandle)d->loop_condition, again);
        error = cudaGetLastError();
    }
#endif
    d->recording = NULL;
    const cudaError_t ended = cudaStreamEndCapture(d->stream, &body);
    error = error != cudaSuccess ? error : ended;
    cudaGraph_t recorded = loop != NULL ? loop : body; /* a loop owns its body */
    if (error == cudaSuccess && graph != NULL) {
        error = cudaGraphInstantiate(&made, recorded, 0);
    }
    if (recorded != NULL) {
        (void)cudaGraphDestroy(recorded);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return graph == NULL ? CMG_OK : cmgi_cuda_failed(ctx, error, "recording of a graph");
    }
    if (graph != NULL) {
        *graph = made;
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_graph_launch(cmg_context *ctx, void *graph)
{
    const cmgi_device_guard guard(ctx);
    CMGI_CUDA(ctx, cudaGraphLaunch((cudaGraphExec_t)graph, cmgi_stream(ctx)));
    return CMG_OK;
}

void cmgi_cuda_graph_destroy(cmg_context *ctx, void *graph)
{
    if (graph != NULL) {
        const cmgi_device_guard guard(ctx);
        (void)cudaStreamSynchronize(cmgi_stream(ctx));
        (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
    }
}

/* ------------------------------------------------------------------ device times */

void cmgi_cuda_marks_free(cmg_context *ctx)
{
    cmgi_device *d = cmgi_device_of(ctx);
    for (int k = 0; k < d->nmarks; ++k) {
        (void)cudaEventDestroy(d->marks[k]);
    }
    cmgi_free(ctx, d->marks);
    d->marks = NULL;
    d->nmarks = 0;
}

cmg_status cmgi_cuda_mark_reserve(cmg_context *ctx, int marks)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cmgi_cuda_marks_free(ctx);
    if (marks == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, marks, sizeof *d->marks, &d->marks));
    for (; d->nmarks < marks; ++d->nmarks) {
        CMGI_CUDA(ctx, cudaEventCreate(&d->marks[d->nmarks]));
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_mark(cmg_context *ctx, int k)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    CMGI_CUDA(ctx, cudaStreamIsCapturing(d->stream, &capturing));
    /* inside a recording, an event that is read from outside has to be said to be one */
    const unsigned flags = capturing == cudaStreamCaptureStatusActive ? cudaEventRecordExternal
                                                                      : cudaEventRecordDefault;
    CMGI_CUDA(ctx, cudaEventRecordWithFlags(d->marks[k], d->stream, flags));
    return CMG_OK;
}

cmg_status cmgi_cuda_elapsed(cmg_context *ctx, int from, int to, double *seconds)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    float milliseconds = 0;
    CMGI_CUDA(ctx, cudaEventSynchronize(d->marks[to]));
    CMGI_CUDA(ctx, cudaEventElapsedTime(&milliseconds, d->marks[from], d->marks[to]));
    *seconds = 1e-3 * (double)milliseconds;
    return CMG_OK;
}
