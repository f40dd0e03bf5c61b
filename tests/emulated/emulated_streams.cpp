/*
 * Streams, events and graphs of the emulated device: streams do everything at once, graphs have
 * while nodes, events take the host's clock.
 */
#include "emulated_state.h"
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

struct CUgraph_st;

/* What is recorded: something to do, or a graph to run while a flag is set. */
struct CUgraphNode_st {
    std::function<void()> act;
    std::shared_ptr<CUgraph_st> body;
    unsigned *flag = nullptr;
};

struct CUgraph_st {
    std::vector<std::shared_ptr<CUgraphNode_st>> nodes;
    std::vector<std::unique_ptr<unsigned>> flags;
    std::vector<void *> memory; /* taken while it was recorded */
    ~CUgraph_st()
    {
        for (void *p : memory) {
            emulated::give(p);
        }
    }
};

struct CUgraphExec_st {
    std::shared_ptr<CUgraph_st> graph;
};

struct CUstream_st {
    std::shared_ptr<CUgraph_st> recording;
    bool joined = false; /* by an event: it records until the stream that began ends */
};

struct CUevent_st {
    double time = -1;
    std::shared_ptr<CUgraph_st> recording; /* of the stream that it was recorded in */
};

using emulated::idle;
using emulated::said;

namespace
{
/* graphs that the program holds a handle of */
std::mutex lock;
std::vector<std::shared_ptr<CUgraph_st>> graphs;
std::set<CUstream_st *> streams;

CUstream_st *stream_of(cudaStream_t s)
{
    static CUstream_st none;
    return s == nullptr ? &none : s;
}

std::shared_ptr<CUgraph_st> graph_of(cudaGraph_t g)
{
    const std::lock_guard<std::mutex> hold(lock);
    for (const auto &one : graphs) {
        if (one.get() == g) {
            return one;
        }
    }
    return nullptr;
}

double seconds()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void run_graph(const CUgraph_st &g)
{
    for (const auto &node : g.nodes) {
        if (node->body != nullptr) {
            while (*node->flag != 0) {
                run_graph(*node->body);
            }
        } else {
            node->act();
        }
    }
}

} // namespace

void emulated::act(cudaStream_t s, std::function<void()> what)
{
    CUstream_st *stream = stream_of(s);
    if (stream->recording != nullptr) {
        auto node = std::make_shared<CUgraphNode_st>();
        node->act = std::move(what);
        stream->recording->nodes.push_back(node);
    } else {
        const emulated::opening open;
        what();
    }
}

bool emulated::keep(cudaStream_t s, void *p)
{
    CUstream_st *stream = stream_of(s);
    if (stream->recording != nullptr) {
        stream->recording->memory.push_back(p);
    }
    return stream->recording != nullptr;
}

bool emulated::keeps(cudaStream_t s, const void *p)
{
    const CUstream_st *stream = stream_of(s);
    if (stream->recording == nullptr) {
        return false;
    }
    const std::vector<void *> &memory = stream->recording->memory;
    return std::find(memory.begin(), memory.end(), p) != memory.end();
}

cudaError_t emulated::idle(cudaStream_t s)
{
    CUstream_st *stream = stream_of(s);
    if (stream->recording != nullptr) {
        stream->recording = nullptr;
        return said(cudaErrorStreamCaptureUnsupported);
    }
    return cudaSuccess;
}

extern "C" {
/* ---------------------------------------------------------------- streams, events */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    const std::lock_guard<std::mutex> hold(lock);
    *s = new CUstream_st();
    streams.insert(*s);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithFlags(s, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(s, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    const std::lock_guard<std::mutex> hold(lock);
    streams.erase(s);
    delete s;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = 0;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    return idle(s);
}
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    return idle(s);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
    *status = stream_of(s)->recording != nullptr ? cudaStreamCaptureStatusActive
                                                 : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    *e = new CUevent_st();
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    CUstream_st *stream = stream_of(s);
    if (stream->recording != nullptr && flags != cudaEventRecordExternal) {
        e->recording = stream->recording;
        return cudaSuccess;
    }
    e->recording = nullptr;
    emulated::act(s, [e] { e->time = seconds(); });
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    return cudaEventRecordWithFlags(e, s, cudaEventRecordDefault);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    if (e->recording != nullptr) {
        CUstream_st *stream = stream_of(s);
        stream->joined = stream->recording == nullptr;
        stream->recording = e->recording;
    }
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (from->time < 0 || to->time < 0) {
        return said(cudaErrorInvalidResourceHandle);
    }
    *milliseconds = (float)(1e3 * (to->time - from->time));
    return cudaSuccess;
}

/* ---------------------------------------------------------------- graphs */

cudaError_t cudaGraphCreate(cudaGraph_t *g, unsigned)
{
    const std::lock_guard<std::mutex> hold(lock);
    graphs.push_back(std::make_shared<CUgraph_st>());
    *g = graphs.back().get();
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    const std::lock_guard<std::mutex> hold(lock);
    for (size_t k = 0; k < graphs.size(); ++k) {
        if (graphs[k].get() == g) {
            const std::shared_ptr<CUgraph_st> ended = graphs[k];
            graphs.erase(graphs.begin() + (long)k);
            for (const auto &node : ended->nodes) { /* the handles of its loops end with it */
                graphs.erase(std::remove(graphs.begin(), graphs.end(), node->body), graphs.end());
            }
            return cudaSuccess;
        }
    }
    return said(cudaErrorInvalidValue);
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *,
                                          const cudaGraphEdgeData *, size_t,
                                          enum cudaStreamCaptureMode)
{
    CUstream_st *stream = stream_of(s);
    std::shared_ptr<CUgraph_st> graph = graph_of(g);
    if (s == nullptr || stream->recording != nullptr || graph == nullptr) {
        return said(cudaErrorIllegalState);
    }
    stream->recording = graph;
    stream->joined = false;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    cudaGraph_t g;
    cudaGraphCreate(&g, 0);
    const cudaError_t error = cudaStreamBeginCaptureToGraph(s, g, nullptr, nullptr, 0, mode);
    if (error != cudaSuccess) {
        cudaGraphDestroy(g);
    }
    return error;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    CUstream_st *stream = stream_of(s);
    *g = nullptr;
    if (stream->recording == nullptr || stream->joined) {
        return said(cudaErrorStreamCaptureInvalidated);
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (CUstream_st *other : streams) {
        if (other != stream && other->recording == stream->recording) {
            other->recording = nullptr;
            other->joined = false;
        }
    }
    *g = stream->recording.get();
    stream->recording = nullptr;
    return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *, cudaGraph_t *,
                                     const cudaGraphNode_t **nodes,
#if CUDART_VERSION >= 13000
                                     const cudaGraphEdgeData **,
#endif
                                     size_t *count)
{
    static thread_local cudaGraphNode_t last;
    cudaStreamIsCapturing(s, status);
    CUstream_st *stream = stream_of(s);
    *count = stream->recording != nullptr && !stream->recording->nodes.empty() ? 1 : 0;
    last = *count == 1 ? stream->recording->nodes.back().get() : nullptr;
    *nodes = &last;
    return cudaSuccess;
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g,
                                             unsigned value, unsigned)
{
    std::shared_ptr<CUgraph_st> graph = graph_of(g);
    graph->flags.push_back(std::make_unique<unsigned>(value));
    *handle = (cudaGraphConditionalHandle)(uintptr_t)graph->flags.back().get();
    return cudaSuccess;
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t *made, cudaGraph_t g, const cudaGraphNode_t *,
#if CUDART_VERSION >= 13000
                             const cudaGraphEdgeData *,
#endif
                             size_t, struct cudaGraphNodeParams *params)
{
    static thread_local cudaGraph_t body;
    std::shared_ptr<CUgraph_st> graph = graph_of(g);
    if (graph == nullptr || params->type != cudaGraphNodeTypeConditional) {
        return said(cudaErrorNotSupported);
    }
    auto node = std::make_shared<CUgraphNode_st>();
    node->body = std::make_shared<CUgraph_st>();
    node->flag = (unsigned *)(uintptr_t)params->conditional.handle;
    graph->nodes.push_back(node);
    {
        const std::lock_guard<std::mutex> hold(lock);
        graphs.push_back(node->body); /* a handle, which the program does not destroy */
    }
    body = node->body.get();
    params->conditional.phGraph_out = &body;
    *made = node.get();
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t g, unsigned long long)
{
    std::shared_ptr<CUgraph_st> graph = graph_of(g);
    if (graph == nullptr) {
        return said(cudaErrorInvalidValue);
    }
    *made = new CUgraphExec_st{graph};
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made)
{
    delete made;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t s)
{
    const std::shared_ptr<CUgraph_st> graph = made->graph;
    emulated::act(s, [graph] { run_graph(*graph); });
    return cudaSuccess;
}
} // extern "C"
