/*
 * Recorded work: CUDA graphs, launched once or, with a conditional node around them, until a flag
 * on the device says stop; and the device's clock.
 */
#include "core/cuda.cuh"

extern "C" {
#include "core/ranks.h"
}

/* Conditional nodes came with CUDA 12.4. */
#if CUDART_VERSION >= 12040
#define CMGI_CONDITIONAL_NODES
#endif

#ifdef CMGI_CONDITIONAL_NODES
/* A warp looks at all columns. */
__global__ void again_kernel(cudaGraphConditionalHandle condition, const cmgi_stop *tests,
                             int columns)
{
    cmgi_after_previous();
    bool any = false;
    for (int c = (int)threadIdx.x; c < columns; c += CMGI_WARP) {
        any = any || tests[c].running != 0;
    }
    any = __any_sync(CMGI_ALL, any);
    if (threadIdx.x == 0) {
        cudaGraphSetConditional(condition, any ? 1U : 0U);
    }
}

/* Records whether a column runs at this place. */
static cudaError_t look_again(cmgi_device *d)
{
    cmgi_launch(d, 1, CMGI_WARP, 0, again_kernel, (cudaGraphConditionalHandle)d->loop_condition,
                d->tests, d->ntests);
    return cmgi_cuda_pending();
}

/* What the stream records goes into a graph that is there, after `last` (NULL: at its start). */
static cudaError_t record_into(cmgi_device *d, cudaGraph_t graph, const cudaGraphNode_t *last)
{
    return cudaStreamBeginCaptureToGraph(d->stream, graph, last, NULL, last != NULL ? 1 : 0,
                                         cudaStreamCaptureModeThreadLocal);
}

/* The node that what is recorded next would wait for: a stream records a chain. */
static cudaError_t last_node(cmgi_device *d, cudaGraphNode_t *last)
{
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    CMGI_CUDA_TRY(
        cudaStreamGetCaptureInfo(d->stream, &capturing, NULL, NULL, &nodes, NULL, &count));
#else
    CMGI_CUDA_TRY(cudaStreamGetCaptureInfo_v2(d->stream, &capturing, NULL, NULL, &nodes, &count));
#endif
    *last = count == 1 ? nodes[0] : NULL;
    return count == 1 ? cudaSuccess : cudaErrorStreamCaptureImplicit;
}

static cudaError_t open_loop(cmgi_device *d, const cmgi_stop *tests, int columns)
{
    cudaGraphConditionalHandle condition;
    CMGI_CUDA_TRY(cudaGraphCreate(&d->recording, 0));
    CMGI_CUDA_TRY(cudaGraphConditionalHandleCreate(&condition, d->recording, 0, 0));
    d->loop_condition = condition;
    d->tests = tests;
    d->ntests = columns;
    return record_into(d, d->recording, NULL);
}

/* A graph with the condition of a loop to come; its beginning is recorded from here on. */
static cudaError_t begin_with_loop(cmgi_device *d, const cmgi_stop *tests, int columns)
{
    const cudaError_t error = open_loop(d, tests, columns);
    if (error != cudaSuccess && d->recording != NULL) {
        cmgi_cuda_ignore(error);
        cmgi_cuda_ignore(cudaGraphDestroy(d->recording));
        d->recording = NULL;
    }
    return error;
}

/* Ends the beginning with a while node, whose body is recorded from here on. */
static cudaError_t begin_body(cmgi_device *d)
{
    cudaGraphNode_t last = NULL;
    cudaGraph_t ended = NULL;
    cudaGraphNodeParams params = {};
    CMGI_CUDA_TRY(look_again(d));
    CMGI_CUDA_TRY(last_node(d, &last));
    CMGI_CUDA_TRY(cudaStreamEndCapture(d->stream, &ended));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = (cudaGraphConditionalHandle)d->loop_condition;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CMGI_CUDA_TRY(cudaGraphAddNode(&d->loop_node, d->recording, &last, NULL, 1, &params));
#else
    CMGI_CUDA_TRY(cudaGraphAddNode(&d->loop_node, d->recording, &last, 1, &params));
#endif
    return record_into(d, params.conditional.phGraph_out[0], NULL);
}

/* Ends the body; what follows is recorded after the while node. */
static cudaError_t end_body(cmgi_device *d)
{
    cudaGraph_t body = NULL;
    CMGI_CUDA_TRY(look_again(d));
    CMGI_CUDA_TRY(cudaStreamEndCapture(d->stream, &body));
    return record_into(d, d->recording, &d->loop_node);
}
#else
static cudaError_t begin_with_loop(cmgi_device *, const cmgi_stop *, int)
{
    return cudaErrorNotSupported;
}
static cudaError_t begin_body(cmgi_device *)
{
    return cudaErrorNotSupported;
}
static cudaError_t end_body(cmgi_device *)
{
    return cudaErrorNotSupported;
}
#endif

/* What cannot be recorded can still be launched kernel by kernel. */
static cmg_status recorded(cmg_context *ctx, cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return CMG_OK;
    }
    cmgi_cuda_ignore(error);
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED, "CUDA: the stream cannot be recorded%s: %s", what,
                     cudaGetErrorString(error));
}

cmg_status cmgi_cuda_graph_begin(cmg_context *ctx, const cmgi_stop *tests, int columns)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    int driver = 0;
    cudaError_t error = cudaErrorNotSupported;
    if (tests == NULL) {
        error = cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal);
    } else {
        error = cudaDriverGetVersion(&driver);
        if (error == cudaSuccess) {
            error = driver >= 12040 ? begin_with_loop(d, tests, columns) : cudaErrorNotSupported;
        }
    }
    return recorded(ctx, error, tests != NULL ? " with a loop" : "");
}

cmg_status cmgi_cuda_graph_loop(cmg_context *ctx)
{
    CMGI_ON_DEVICE(ctx);
    return recorded(ctx, begin_body(cmgi_device_of(ctx)), " into a loop");
}

cmg_status cmgi_cuda_graph_after(cmg_context *ctx)
{
    CMGI_ON_DEVICE(ctx);
    return recorded(ctx, end_body(cmgi_device_of(ctx)), " behind a loop");
}

/* The recording ends whatever the guard says: the stream could not be used before it has. */
cmg_status cmgi_cuda_graph_end(cmg_context *ctx, void **graph)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cudaGraph_t whole = d->recording; /* owns the body, if there is one */
    cudaGraph_t ended = NULL;
    cudaGraphExec_t made = NULL;
    d->recording = NULL;
    cudaError_t error = cudaStreamEndCapture(d->stream, &ended);
    whole = whole != NULL ? whole : ended;
    if (error == cudaSuccess && graph != NULL) {
        /* messages go beside products and must not wait until these leave the device */
        error = cudaGraphInstantiate(
            &made, whole, cmgi_group_wired(ctx) ? cudaGraphInstantiateFlagUseNodePriority : 0);
    }
    if (whole != NULL) {
        cmgi_cuda_ignore(cudaGraphDestroy(whole));
    }
    if (error != cudaSuccess) {
        cmgi_cuda_ignore(error);
        return graph == NULL ? CMG_OK : cmgi_cuda_failed(ctx, error, "recording of a graph");
    }
    if (graph != NULL) {
        *graph = made;
    }
    return guard.status();
}

cmg_status cmgi_cuda_graph_launch(cmg_context *ctx, void *graph)
{
    CMGI_ON_DEVICE(ctx);
    ++ctx->graph_launches;
    CMGI_CUDA(ctx, cudaGraphLaunch((cudaGraphExec_t)graph, cmgi_stream(ctx)));
    return CMG_OK;
}

void cmgi_cuda_graph_destroy(cmg_context *ctx, void *graph)
{
    if (graph != NULL) {
        const cmgi_device_guard guard(ctx);
        cmgi_cuda_ignore(cudaStreamSynchronize(cmgi_stream(ctx)));
        cmgi_cuda_ignore(cudaGraphExecDestroy((cudaGraphExec_t)graph));
    }
}

void cmgi_cuda_marks_free(cmg_context *ctx)
{
    cmgi_device *d = cmgi_device_of(ctx);
    for (int k = 0; k < d->nmarks; ++k) {
        cmgi_cuda_ignore(cudaEventDestroy(d->marks[k]));
    }
    cmgi_free(ctx, d->marks);
    d->marks = NULL;
    d->nmarks = 0;
}

cmg_status cmgi_cuda_mark_reserve(cmg_context *ctx, int marks)
{
    const cmgi_device_guard guard(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    cmgi_cuda_marks_free(ctx); /* even where the device is not available */
    if (marks == 0) {
        return CMG_OK;
    }
    CMGI_TRY(guard.status());
    CMGI_TRY(cmgi_alloc(ctx, marks, sizeof *d->marks, &d->marks));
    for (; d->nmarks < marks; ++d->nmarks) {
        CMGI_CUDA(ctx, cudaEventCreate(&d->marks[d->nmarks]));
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_mark(cmg_context *ctx, int k)
{
    CMGI_ON_DEVICE(ctx);
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
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    float milliseconds = 0;
    ++ctx->waits;
    CMGI_CUDA(ctx, cudaEventSynchronize(d->marks[to]));
    CMGI_CUDA(ctx, cudaEventElapsedTime(&milliseconds, d->marks[from], d->marks[to]));
    *seconds = 1e-3 * (double)milliseconds;
    return CMG_OK;
}
