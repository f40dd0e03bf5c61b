#include "cuda_faults.h"

#include <string.h>

int __wrap_cudaGetLastError(void);
int __wrap_cudaPeekAtLastError(void);
int __real_cudaGetLastError(void);
int __real_cudaPeekAtLastError(void);

enum { MOST_CALLS = 512, DONE_FIRST = 0x10000, EXECUTION_FAILED = 6 };

static struct {
    int call;
    long left;
    int mode;
    int error;
    bool armed;
    bool failing; /* CUDA_FAULT_STICKS, and it has come to pass */
    bool passed;
    int pending;
    int before; /* of the runtime: a machine without a driver has an error that stays */
    long total;
    long alive;
    long count[MOST_CALLS];
} now;

void cuda_faults_arm(int call, long n, int mode, int error)
{
    memset(&now, 0, sizeof now);
    now.call = call;
    now.left = n;
    now.mode = mode;
    now.error = error;
    now.before = __real_cudaPeekAtLastError();
    now.armed = true;
}

/* A device that is gone for good leaves an error in the runtime too: a recording that was to end
 * had never begun. The next run starts without it. */
bool cuda_faults_disarm(void)
{
    const bool passed = now.passed;
    now.armed = false;
    now.failing = false;
    (void)__real_cudaGetLastError();
    return passed;
}

long cuda_faults_count(int call)
{
    return call < 0 ? now.total : now.count[call];
}

int cuda_faults_pending(void)
{
    const int real = __real_cudaPeekAtLastError();
    return now.pending != 0 ? now.pending : real != now.before ? real : 0;
}

void cuda_faults_leave(int error)
{
    now.pending = error;
}

long cuda_faults_alive(void)
{
    return now.alive;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Frees what it fails to free, ends what it fails to end. */
static bool is_done_first(const char *name)
{
    static const char *const words[] = {"Free", "Destroy", "EndCapture", "Synchronize"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
        if (strstr(name, words[k]) != NULL) {
            return true;
        }
    }
    return false;
}

/* +1 for a call that makes something, -1 for one that ends it. A recording of its own makes a
 * graph. */
static int makes(const char *name)
{
    static const char *const makers[] = {
        "cudaMalloc",      "cudaStreamCreate",     "cudaEventCreate", "cudaMemPoolCreate",
        "cudaGraphCreate", "cudaGraphInstantiate", "cusparseCreate",  "cusolverDnCreate"};
    if (strstr(name, "Free") != NULL || strstr(name, "Destroy") != NULL) {
        return -1;
    }
    for (size_t k = 0; k < sizeof makers / sizeof makers[0]; ++k) {
        if (begins(name, makers[k])) {
            return 1;
        }
    }
    return strcmp(name, "cudaStreamBeginCapture") == 0 ? 1 : 0;
}

/* The error of this call, with DONE_FIRST where it is to be done; 0 = pass it on. */
int cuda_faults_ask(int call)
{
    const char *name = cuda_calls[call];
    if (!now.armed) {
        return 0;
    }
    ++now.total;
    ++now.count[call];
    const bool counted = now.call < 0 || now.call == call;
    const bool hit = counted && !now.passed && --now.left == 0;
    if (!hit && !now.failing) {
        now.alive += makes(name);
        return 0;
    }
    now.passed = true;
    now.failing = now.mode == CUDA_FAULT_STICKS;
    const bool runtime = begins(name, "cuda") || begins(name, "__cuda");
    const int error = runtime ? now.error : EXECUTION_FAILED;
    now.pending = runtime ? error : now.pending;
    if (is_done_first(name)) {
        now.alive += makes(name);
        return error | DONE_FIRST;
    }
    return error;
}

int __wrap_cudaGetLastError(void)
{
    const int error = now.pending;
    if (!now.failing) {
        now.pending = 0;
    }
    return error != 0 ? error : __real_cudaGetLastError();
}

int __wrap_cudaPeekAtLastError(void)
{
    return now.pending != 0 ? now.pending : __real_cudaPeekAtLastError();
}
