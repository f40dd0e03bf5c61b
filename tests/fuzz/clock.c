/*
 * A clock of which every look takes about a second: what is measured for milliseconds, formats to
 * tune above all, is done at once, and its choice is a different one every time.
 */
#include "core/random.h"
#include "core/context.h"

double __wrap_cmgi_seconds(void);

double __wrap_cmgi_seconds(void)
{
    static uint64_t seed = 1;
    static double now;
    now += 0.5 + cmgi_random(&seed);
    return now;
}
