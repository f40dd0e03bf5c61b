/* Work on all cells and nodes on the CPU. */
#include "heart.h"

#include <string.h>

static int open_stream(void **stream)
{
    *stream = NULL;
    return 0;
}

static int upload(void *stream, void *to, const void *from, size_t bytes)
{
    (void)stream;
    memcpy(to, from, bytes);
    return 0;
}

static int cells(void *stream, int corners, const cell_arrays *c)
{
    (void)stream;
    if (corners == 4) {
#pragma omp parallel for schedule(static)
        for (long long i = 0; i < c->cells; ++i) {
            cell_newton(c, 4, i);
        }
    } else {
#pragma omp parallel for schedule(static)
        for (long long i = 0; i < c->cells; ++i) {
            cell_newton(c, 3, i);
        }
    }
    return 0;
}

static int divide(void *stream, long long n, const double *x, const double *d, double *y)
{
    (void)stream;
    for (long long i = 0; i < n; ++i) {
        y[i] = x[i] / d[i];
    }
    return 0;
}

static int activate(void *stream, long long n, const double *const phi[2], const double time[2],
                    double *activation)
{
    (void)stream;
    for (long long i = 0; i < n; ++i) {
        activation[i] = node_activation(activation[i], phi[0][i], phi[1][i], time[0], time[1]);
    }
    return 0;
}

const kernels kernels_cpu = {
    .open = open_stream, .upload = upload, .cells = cells, .divide = divide, .activate = activate};
