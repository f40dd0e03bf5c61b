/*
 * The CUDA runtime of the emulated device, as far as this project calls it: errors, one device, its
 * memory and its launches.
 */
#include "emulated_state.h"
#include <cstdlib>

using emulated::said;

struct CUmemPoolHandle_st {
    int dummy;
};

static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t emulated::said(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

void emulated::run(const shape &s, std::function<void()> kernel, const char *name)
{
    const size_t threads = (size_t)s.block.x * s.block.y * s.block.z;
    if (threads == 0 || threads > 1024 || s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0 ||
        s.grid.x > 0x7fffffffU || s.grid.y > 65535 || s.grid.z > 65535) {
        said(cudaErrorInvalidConfiguration);
        return;
    }
    if (s.shared > (size_t)227 << 10) {
        said(cudaErrorInvalidValue);
        return;
    }
    act(s.stream, [s, kernel, name] { run_blocks(s, kernel, name); });
}

extern "C" {
/* ---------------------------------------------------------------- errors, devices */

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess                 ? "no error"
           : error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorInvalidValue     ? "invalid argument"
           : error == cudaErrorUnknown          ? "unknown error"
                                                : "an error of the emulated device";
}
const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess                         ? "cudaSuccess"
           : error == cudaErrorMemoryAllocation         ? "cudaErrorMemoryAllocation"
           : error == cudaErrorInvalidValue             ? "cudaErrorInvalidValue"
           : error == cudaErrorInvalidConfiguration     ? "cudaErrorInvalidConfiguration"
           : error == cudaErrorInvalidDevice            ? "cudaErrorInvalidDevice"
           : error == cudaErrorNotReady                 ? "cudaErrorNotReady"
           : error == cudaErrorStreamCaptureUnsupported ? "cudaErrorStreamCaptureUnsupported"
                                                        : "cudaError";
}
/* Devices by number alone: they share what one has. CMG_EMULATED_DEVICES says how many. */
static thread_local int current = 0;
cudaError_t cudaGetDeviceCount(int *count)
{
    const char *text = std::getenv("CMG_EMULATED_DEVICES");
    *count = text != nullptr ? std::atoi(text) : 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    int count;
    cudaGetDeviceCount(&count);
    const bool there = device >= 0 && device < count;
    current = there ? device : current;
    return said(there ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
    *can = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)
{
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int)
{
    switch (what) {
    case cudaDevAttrMultiProcessorCount:
        *value = 4;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = 1;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = 227 << 10;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = 48 << 10;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = 228 << 10;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = 2048;
        break;
    case cudaDevAttrL2CacheSize:
        *value = 50 << 20;
        break;
    case cudaDevAttrWarpSize:
        *value = 32;
        break;
    default:
        *value = 0;
        break;
    }
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    std::memset((void *)p, 0, sizeof *p);
    p->uuid.bytes[0] = (char)device;
    std::strcpy(p->name, "emulated device");
    p->major = 9;
    p->multiProcessorCount = 4;
    p->l2CacheSize = 50 << 20;
    p->warpSize = 32;
    size_t free_bytes;
    emulated::told(&free_bytes, &p->totalGlobalMem);
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *)
{
    std::memset((void *)a, 0, sizeof *a);
    a->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, enum cudaFuncAttribute what, int value)
{
    const bool much = what == cudaFuncAttributeMaxDynamicSharedMemorySize && value > 227 << 10;
    return said(much ? cudaErrorInvalidValue : cudaSuccess);
}

/* ---------------------------------------------------------------- memory */

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    void *made = bytes == 0 ? nullptr : emulated::take(bytes);
    if (bytes > 0 && made == nullptr) {
        return said(cudaErrorMemoryAllocation);
    }
    *p = made;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p)
{
    return said(p == nullptr || emulated::give(p) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t, cudaStream_t s)
{
    const cudaError_t error = cudaMalloc(p, bytes);
    if (error == cudaSuccess && *p != nullptr) {
        emulated::keep(s, *p);
    }
    return error;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t s)
{
    return emulated::keeps(s, p) ? cudaSuccess : cudaFree(p);
}
cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    *p = std::malloc(bytes > 0 ? bytes : 1);
    return said(*p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void *p)
{
    std::free(p);
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void *, size_t, unsigned)
{
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *)
{
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    emulated::told(free_bytes, total);
    return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *)
{
    *pool = new CUmemPoolHandle_st();
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    delete pool;
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *)
{
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *value)
{
    *(uint64_t *)value = 0;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    std::memset((void *)a, 0, sizeof *a);
    const bool there = emulated::holds(p);
    a->type = there ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    a->device = there ? current : -2;
    a->devicePointer = there ? (void *)(uintptr_t)p : nullptr;
    a->hostPointer = there ? nullptr : (void *)(uintptr_t)p;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    const bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes > 0 && ((to && !emulated::holds(dst)) || (from && !emulated::holds(src)) ||
                      (kind == cudaMemcpyHostToDevice && emulated::holds(src)) ||
                      (kind == cudaMemcpyDeviceToHost && emulated::holds(dst)))) {
        return said(cudaErrorInvalidValue);
    }
    emulated::act(s, [=] { std::memmove(dst, src, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(dst, src, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s)
{
    if (bytes > 0 && !emulated::holds(p)) {
        return said(cudaErrorInvalidValue);
    }
    emulated::act(s, [=] { std::memset(p, value, bytes); });
    return cudaSuccess;
}
} // extern "C"
