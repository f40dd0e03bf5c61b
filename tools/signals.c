/*
 * Interrupts, taken by a thread that waits for them: METIS puts handlers of its own in the place of
 * a program's, and jumps out of whatever runs, an allocation too.
 */
#define _XOPEN_SOURCE 700
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

enum { STACK = 128 << 10, LARGE_STACK = 8 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static int writing = 0;
static bool watching = false;
static int interruption = 0; /* came while watching */
static int pending = 0;      /* the signal that came while writing, 0 = none */

static pthread_t waiting;

/* Of threads that were started before main, as OpenBLAS's are: they do not block the signals. */
static void pass_on(int number)
{
    (void)pthread_kill(waiting, number);
}

/* As if nobody had asked for the signal. */
static void end_by(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t one;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}

/* Nobody begins to write while this decides that nobody does. */
static void take(int number)
{
    (void)pthread_mutex_lock(&lock);
    if (watching && interruption == 0) {
        interruption = number;
    } else if (writing == 0 || pending != 0) { /* a second one means it */
        end_by(number);
    } else {
        pending = number;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void *wait_for(void *user)
{
    const sigset_t *wanted = user;
    for (;;) {
        int number = 0;
        if (sigwait(wanted, &number) == 0) {
            take(number);
        }
    }
    return NULL;
}

void signals_begin(void)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    static sigset_t wanted;
    static bool begun;
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    pthread_attr_t attributes;
    if (begun || pthread_attr_init(&attributes) != 0) {
        return;
    }
    begun = true;
    (void)sigemptyset(&wanted);
    for (size_t k = 0; k < sizeof caught / sizeof caught[0]; ++k) {
        struct sigaction old;
        if (sigaction(caught[k], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            (void)sigaddset(&wanted, caught[k]);
        }
    }
    (void)pthread_attr_setstacksize(&attributes, STACK);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_sigmask(SIG_BLOCK, &wanted, NULL); /* here and in all threads to come */
    bool waits = pthread_create(&waiting, &attributes, wait_for, &wanted) == 0;
    if (!waits) { /* data that every thread has of its own take part of the stack */
        (void)pthread_attr_setstacksize(&attributes, LARGE_STACK);
        waits = pthread_create(&waiting, &attributes, wait_for, &wanted) == 0;
    }
    for (size_t k = 0; waits && k < sizeof caught / sizeof caught[0]; ++k) {
        if (sigismember(&wanted, caught[k]) == 1) {
            (void)sigaction(caught[k], &action, NULL);
        }
    }
    if (!waits) {
        (void)pthread_sigmask(SIG_UNBLOCK, &wanted, NULL);
    }
    /* a file that grows over its limit then fails as on a full disk, and leaves no part */
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGXFSZ, &action, NULL);
    (void)pthread_attr_destroy(&attributes);
}

static int locked(const int *value)
{
    (void)pthread_mutex_lock(&lock);
    const int found = *value;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static void watch(bool on)
{
    (void)pthread_mutex_lock(&lock);
    watching = on;
    (void)pthread_mutex_unlock(&lock);
}

void watch_begin(void)
{
    watch(true);
}

void watch_end(void)
{
    watch(false);
}

bool interrupted(void)
{
    return locked(&interruption) != 0;
}

void writing_begin(void)
{
    (void)pthread_mutex_lock(&lock);
    ++writing;
    (void)pthread_mutex_unlock(&lock);
}

void writing_end(void)
{
    (void)pthread_mutex_lock(&lock);
    --writing;
    if (writing == 0 && pending != 0) {
        end_by(pending);
    }
    (void)pthread_mutex_unlock(&lock);
}

bool stop_wanted(void)
{
    return locked(&pending) != 0;
}
