/*
 * The monotonic clock of a program becomes the CPU time that it has used, so that solvers of one
 * thread can be compared on a machine that other jobs share:
 *
 *     LD_PRELOAD=build/benchmarks/libcpu_clock.so benchmarks/robust.py --peers pyamg,petsc
 *
 * It is C's, Python's and MPI's clock alike, and so the same for all that are compared.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    return (int)syscall(SYS_clock_gettime,
                        clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, now);
}
