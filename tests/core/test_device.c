/*
 * What only a device has: large copies through pinned memory, graphs and loops, the device's clock,
 * a caller's stream, a context a thread, memory that runs out, devices that do not exist.
 */
#include "core/backend.h"
#include "core/feed.h"
#include "test.h"

#include <cuda_runtime_api.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Around the size from which copies are staged, and several halves of the stage. */
TEST(large_copies_arrive_whole)
{
    const cmg_size sizes[] = {
        1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 22) + 3, (1 << 23) - 5};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const cmg_size n = sizes[s];
        const size_t bytes = (size_t)n * sizeof(double);
        scoped double *host = random_values(n, s + 1);
        scoped double *back = calloc((size_t)n, sizeof *back);
        scoped_device double *d = device_new(n, sizeof *d);
        scoped_device double *e = device_new(n, sizeof *e);
        CHECK_OK(cmgi_to_device(ctx, d, host, bytes));
        CHECK_OK(ctx->backend->convert(ctx, n, CMG_FP64, d, CMG_FP64, e));
        CHECK_OK(cmgi_to_host(ctx, back, e, bytes));
        CHECK(memcmp(host, back, bytes) == 0);
    }
}

/* A piece is sent at each wait, and all of what comes before an array that is asked for. */
TEST(promised_arrays_arrive)
{
    enum { ARRAYS = 4 };
    const cmg_size sizes[ARRAYS] = {3000001, 1, 0, 2000000};
    double *host[ARRAYS];
    scoped double *back = malloc((size_t)sizes[0] * sizeof *back);
    double *d[ARRAYS];
    for (int round = 0; round < 2; ++round) {
        for (int k = 0; k < ARRAYS; ++k) {
            host[k] = random_values(sizes[k], (uint64_t)k + 1);
            CHECK_OK(cmgi_alloc_device(ctx, sizes[k], sizeof **d, &d[k]));
            CHECK_OK(cmgi_send_later(ctx, d[k], host[k], (size_t)sizes[k] * sizeof **d));
        }
        CHECK(cmgi_send_waits(ctx));
        CHECK_OK(cmgi_send_piece(ctx));
        for (int k = 0; k < ARRAYS && round == 0; ++k) {
            const size_t bytes = (size_t)sizes[k] * sizeof **d;
            CHECK_OK(cmgi_send_until(ctx, d[k]));
            CHECK(cmgi_send_waits(ctx) || k > 0); /* later ones may have gone meanwhile */
            CHECK(!cmgi_send_waits(ctx) || k < ARRAYS - 1);
            CHECK_OK(cmgi_to_host(ctx, back, d[k], bytes));
            CHECK(memcmp(host[k], back, bytes) == 0);
        }
        cmgi_send_drop(ctx); /* in the second round with arrays that were not sent */
        CHECK(!cmgi_send_waits(ctx));
        for (int k = 0; k < ARRAYS; ++k) {
            cmgi_free_device(ctx, d[k]);
            free(host[k]);
        }
    }
}

/* Arrays at odd addresses take the path without packs. */
TEST(unaligned_arrays_work)
{
    enum { N = 10001 };
    scoped double *host = random_values(N + 1, 3);
    double back[3];
    scoped_device double *d = device_new(2 * N + 2, sizeof *d);
    scoped_device double *result = device_new(1, sizeof *result);
    CHECK_OK(cmgi_to_device(ctx, d, host, (N + 1) * sizeof *host));
    double *shifted = d + N + 2; /* odd */
    CHECK_OK(ctx->backend->convert(ctx, N, CMG_FP64, d + 1, CMG_FP64, shifted));
    CHECK_OK(ctx->backend->axpby(ctx, CMG_FP64, N, 2.0, d + 1, 1.0, shifted));
    CHECK_OK(ctx->backend->dot(ctx, CMG_FP64, N, 1, d + 1, shifted, result));
    CHECK_OK(cmgi_to_host(ctx, back, result, sizeof *result));
    double expected = 0;
    for (int i = 0; i < N; ++i) {
        expected += 3 * host[i + 1] * host[i + 1];
    }
    CHECK_NEAR(back[0], expected, 1e-12 * expected);
    CHECK_OK(cmgi_to_host(ctx, back, shifted + N - 1, sizeof *back));
    CHECK_NEAR(back[0], 3 * host[N], 1e-15);
}

TEST(graphs_replay_and_loop)
{
    double value = 0;
    void *graph = NULL;
    const double one = 1;
    const cmgi_stop start = {
        .relative = 0, .diverged = 1e300, .most = 37, .outcome = CMGI_STOP_NONE, .running = 1};
    cmgi_stop seen;
    scoped_device double *x = device_new(2, sizeof *x);
    scoped_device cmgi_stop *stop = device_new(1, sizeof *stop);
    CHECK_OK(cmgi_to_device(ctx, x, &one, sizeof one));
    CHECK_OK(ctx->backend->graph_begin(ctx, NULL, 0));
    CHECK_OK(ctx->backend->axpby(ctx, CMG_FP64, 1, 1.0, x, 1.0, x)); /* x = 2 x */
    CHECK_OK(ctx->backend->graph_end(ctx, &graph));
    for (int k = 0; k < 10; ++k) {
        CHECK_OK(ctx->backend->graph_launch(ctx, graph));
    }
    CHECK_OK(cmgi_to_host(ctx, &value, x, sizeof value));
    CHECK(value == 1024);
    ctx->backend->graph_destroy(ctx, graph);

    /* x = x + 1 before the loop and in it, x = 2 x after it */
    const cmg_status status = ctx->backend->graph_begin(ctx, stop, 1);
    if (status == CMG_ERR_UNSUPPORTED) {
        SKIP("this driver has no conditional nodes");
    } else {
        CHECK_OK(status);
        CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1, 1.0, x + 1));
        CHECK_OK(ctx->backend->axpby(ctx, CMG_FP64, 1, 1.0, x + 1, 1.0, x));
        CHECK_OK(ctx->backend->graph_loop(ctx));
        CHECK_OK(ctx->backend->axpby(ctx, CMG_FP64, 1, 1.0, x + 1, 1.0, x));
        const cmgi_test note = {.what = CMGI_TEST_NOTE,
                                .update = {.kind = CMGI_CG_NORM, .stop = stop, .rr = x}};
        CHECK_OK(ctx->backend->test(ctx, 1, &note));
        CHECK_OK(ctx->backend->graph_after(ctx));
        CHECK_OK(ctx->backend->axpby(ctx, CMG_FP64, 1, 0.0, x, 2.0, x));
        CHECK_OK(ctx->backend->graph_end(ctx, &graph));
        for (int k = 0; k < 2; ++k) {
            CHECK_OK(cmgi_to_device(ctx, stop, &start, sizeof start));
            CHECK_OK(ctx->backend->graph_launch(ctx, graph));
        }
        CHECK_OK(cmgi_to_host(ctx, &value, x, sizeof value));
        CHECK_OK(cmgi_to_host(ctx, &seen, stop, sizeof seen));
        CHECK(value == 2 * (2 * (1024 + 38) + 38));
        CHECK(seen.done == 37 && seen.outcome == CMG_ITERATION_LIMIT && seen.running == 0);
        CHECK(seen.history[36] == sqrt(value / 2));
        /* a test that does not hold at the start: the loop is not entered */
        seen.running = 0;
        CHECK_OK(cmgi_to_device(ctx, stop, &seen, sizeof seen));
        CHECK_OK(ctx->backend->graph_launch(ctx, graph));
        CHECK_OK(cmgi_to_host(ctx, &value, x, sizeof value));
        CHECK(value == 2 * (2 * (2 * (1024 + 38) + 38) + 1));
        ctx->backend->graph_destroy(ctx, graph);
    }
}

/* A recording that is given up leaves the stream as it was. */
TEST(recordings_can_be_dropped)
{
    double value = 0;
    scoped_device cmgi_stop *again = device_new(1, sizeof *again);
    scoped_device double *x = device_new(1, sizeof *x);
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1, 5.0, x));
    for (int loop = 0; loop < 4; ++loop) { /* dropped without one, before, in and after it */
        if (ctx->backend->graph_begin(ctx, loop > 0 ? again : NULL, 1) == CMG_OK) {
            CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1, 7.0, x));
            if (loop > 1) {
                CHECK_OK(ctx->backend->graph_loop(ctx));
                CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1, 8.0, x));
            }
            if (loop > 2) {
                CHECK_OK(ctx->backend->graph_after(ctx));
                CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1, 9.0, x));
            }
            CHECK_OK(ctx->backend->graph_end(ctx, NULL));
        }
    }
    CHECK_OK(cmgi_to_host(ctx, &value, x, sizeof value));
    CHECK(value == 5);
}

TEST(the_device_clock_runs)
{
    const cmg_size n = 1 << 22;
    double once = -1;
    double many = -1;
    scoped_device double *x = device_new(n, sizeof *x);
    CHECK_OK(ctx->backend->mark_reserve(ctx, 3));
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, n, 0.0, x));
    CHECK_OK(ctx->backend->mark(ctx, 0));
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, n, 1.0, x));
    CHECK_OK(ctx->backend->mark(ctx, 1));
    for (int k = 0; k < 50; ++k) {
        CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, n, 2.0, x));
    }
    CHECK_OK(ctx->backend->mark(ctx, 2));
    CHECK_OK(ctx->backend->elapsed(ctx, 0, 1, &once));
    CHECK_OK(ctx->backend->elapsed(ctx, 1, 2, &many));
    CHECK(once > 0 && many > once);
    CHECK_OK(ctx->backend->mark_reserve(ctx, 0));
}

TEST(the_callers_stream_is_used)
{
    cudaStream_t stream = NULL;
    cmg_context_options options = context_defaults();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    options.backend = CMG_BACKEND_CUDA;
    options.stream = stream;
    cmg_context *other = NULL;
    cmg_vector *x = NULL;
    double value = 0;
    CHECK_OK(cmg_context_create(&options, &other));
    CHECK_OK(cmg_vector_create(other, 100, CMG_FP64, &x));
    CHECK_OK(cmg_vector_fill(x, 3.0));
    /* in stream order after the fill, without any further synchronisation */
    CHECK(cudaMemcpyAsync(&value, cmg_vector_data(x), sizeof value, cudaMemcpyDeviceToHost,
                          stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(value == 3);
    cmg_vector_destroy(&x);
    cmg_context_destroy(&other);
    CHECK(cudaStreamQuery(stream) == cudaSuccess); /* borrowed, so still there */
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

/* Arrays of the caller's own allocation are used in place. */
TEST(the_callers_arrays_are_used)
{
    double *d = NULL;
    double values[4] = {1, 2, 3, 4};
    double back[4];
    double dot = 0;
    cmg_vector *x = NULL;
    CHECK(cudaMalloc((void **)&d, sizeof values) == cudaSuccess);
    CHECK_OK(cmg_vector_wrap(ctx, 4, CMG_FP64, d, &x));
    CHECK(cmg_vector_data(x) == d);
    CHECK_OK(cmg_vector_set(x, values));
    CHECK_OK(cmg_vector_dot(x, x, &dot));
    CHECK(dot == 30);
    cmg_vector_destroy(&x);
    CHECK(cudaMemcpy(back, d, sizeof back, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(memcmp(back, values, sizeof back) == 0);
    CHECK(cudaFree(d) == cudaSuccess);
}

static double work_of_a_thread(int number)
{
    const cmg_size n = 200000;
    cmg_context_options options = context_defaults();
    options.backend = CMG_BACKEND_CUDA;
    options.threads = 1;
    cmg_context *mine = NULL;
    cmg_vector *x = NULL;
    cmg_vector *y = NULL;
    double dot = -1;
    bool good = cmg_context_create(&options, &mine) == CMG_OK;
    good = good && cmg_vector_create(mine, n, CMG_FP64, &x) == CMG_OK;
    good = good && cmg_vector_create(mine, n, CMG_FP64, &y) == CMG_OK;
    good = good && cmg_vector_fill(x, number + 1.0) == CMG_OK && cmg_vector_fill(y, 1.0) == CMG_OK;
    for (int k = 0; k < 50 && good; ++k) {
        good = cmg_vector_axpby(1.0, x, 1.0, y) == CMG_OK && cmg_vector_dot(x, y, &dot) == CMG_OK;
    }
    vectors_destroy(&x, &y);
    cmg_context_destroy(&mine);
    /* x = m, y = 1 + 50 m */
    const double m = number + 1.0;
    return good ? dot / ((double)n * m * (1 + 50 * m)) : -1;
}

TEST(every_thread_can_have_a_context)
{
    double ratio[4] = {0};
#pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int t = 0; t < 4; ++t) {
        ratio[t] = work_of_a_thread(t);
    }
    CHECK_NEAR_EACH(t, 4, ratio[t], 1, 1e-13);
}

TEST(too_much_memory_is_refused)
{
    size_t before[2];
    size_t after[2];
    scoped_device double *x = NULL;
    cmg_context_memory(ctx, before, NULL);
    CHECK_STATUS(cmgi_alloc_device(ctx, (cmg_size)1 << 46, sizeof *x, &x), CMG_ERR_MEMORY);
    CHECK(x == NULL);
    CHECK(strstr(cmg_context_message(ctx), "562949953421312 bytes") != NULL); /* 2^49 */
    CHECK_MESSAGE("free");
    cmg_context_memory(ctx, after, NULL);
    CHECK(memcmp(before, after, sizeof before) == 0);
    CHECK_OK(cmgi_alloc_device(ctx, 1000, sizeof *x, &x)); /* and the context goes on */
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 1000, 1.0, x));
    CHECK_OK(cmg_context_synchronize(ctx));
}

TEST(absent_devices_are_refused)
{
    cmg_context_options options = context_defaults();
    options.backend = CMG_BACKEND_CUDA;
    options.device = 1000;
    cmg_context *other = NULL;
    CHECK(cmg_context_create(&options, &other) == CMG_ERR_DEVICE);
    CHECK(other == NULL);
}
