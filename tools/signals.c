/* Interrupts while files are written. */
#define _POSIX_C_SOURCE 200809L
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t writing = 0;
static volatile sig_atomic_t watching = 0;
static volatile sig_atomic_t interruption = 0; /* came while watching */
static volatile sig_atomic_t pending = 0;      /* the signal that came while writing, 0 = none */

/* As if nobody had asked for the signal. */
static void end_by(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
    (void)raise(number);
}

static void handle(int number)
{
    if (watching && interruption == 0) {
        interruption = number;
        return;
    }
    if (!writing || pending != 0) { /* a second one means it */
        end_by(number);
        return;
    }
    pending = number;
}

void signals_begin(void)
{
    for (size_t k = 0; k < sizeof caught / sizeof caught[0]; ++k) {
        struct sigaction old;
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
        (void)sigemptyset(&action.sa_mask);
        if (sigaction(caught[k], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            (void)sigaction(caught[k], &action, NULL);
        }
    }
}

void watch_begin(void)
{
    watching = 1;
}

void watch_end(void)
{
    watching = 0;
}

bool interrupted(void)
{
    return interruption != 0;
}

void writing_begin(void)
{
    ++writing;
}

void writing_end(void)
{
    --writing;
    if (writing == 0 && pending != 0) {
        end_by(pending);
    }
}

bool stop_wanted(void)
{
    return pending != 0;
}
