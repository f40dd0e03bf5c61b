#define _POSIX_C_SOURCE 200809L
#include "core/timer.h"

#include <time.h>

double cmgi_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
