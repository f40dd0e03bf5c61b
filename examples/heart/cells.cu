/* Work on all cells and nodes on a GPU: a thread each, in the stream of the context. */
#include "heart.h"

enum { BLOCK = 128 };

static unsigned grid(long long n)
{
    return (unsigned)((n + BLOCK - 1) / BLOCK);
}

static int failed(void)
{
    return cudaGetLastError() != cudaSuccess;
}

template <int CORNERS>
__global__ void k_cells(cell_arrays c)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i < c.cells) {
        cell_newton(&c, CORNERS, i);
    }
}

__global__ void k_divide(long long n, const double *x, const double *d, double *y)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) {
        y[i] = x[i] / d[i];
    }
}

__global__ void k_activate(long long n, const double *old, const double *phi, double time,
                           double dt, double *activation)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) {
        activation[i] = node_activation(activation[i], old[i], phi[i], time, dt);
    }
}

static int upload(void *stream, void *to, const void *from, size_t bytes)
{
    cudaStream_t s = (cudaStream_t)stream;
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, s) != cudaSuccess ||
           cudaStreamSynchronize(s) != cudaSuccess;
}

static int cells(void *stream, int corners, const cell_arrays *c)
{
    if (corners == 4) {
        k_cells<4><<<grid(c->cells), BLOCK, 0, (cudaStream_t)stream>>>(*c);
    } else {
        k_cells<3><<<grid(c->cells), BLOCK, 0, (cudaStream_t)stream>>>(*c);
    }
    return failed();
}

static int divide(void *stream, long long n, const double *x, const double *d, double *y)
{
    k_divide<<<grid(n), BLOCK, 0, (cudaStream_t)stream>>>(n, x, d, y);
    return failed();
}

static int activate(void *stream, long long n, const double *const phi[2], const double time[2],
                    double *activation)
{
    k_activate<<<grid(n), BLOCK, 0, (cudaStream_t)stream>>>(n, phi[0], phi[1], time[0], time[1],
                                                            activation);
    return failed();
}

static int open_stream(void **stream)
{
    return cudaStreamCreate((cudaStream_t *)stream) != cudaSuccess;
}

extern "C" const kernels kernels_cuda = {open_stream, upload, cells, divide, activate};
