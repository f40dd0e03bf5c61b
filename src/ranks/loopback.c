/*
 * Ranks as threads of one process. A message is a pointer in the receiver's box, which the receiver
 * copies from and empties; a gathering is a barrier before the copies and, where a part is not kept
 * by the transport, one after them. One lock guards all of it: what counts here is that it is
 * right, and that a rank that fails or leaves wakes the others.
 */
#define _XOPEN_SOURCE 700
#include "cmg_ranks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RANKS = 1024, SMALL = 64 /* bytes */ };

typedef struct box {
    const void *data; /* NULL = empty */
    size_t bytes;
} box;

/* A rank's part of a gathering; a small one is copied, so that its owner need not wait for all. */
typedef struct part {
    const void *data;
    size_t bytes;
    size_t all; /* of all parts, as its owner knows them: who is wrong about its own sees it */
    char copy[SMALL];
} part;

typedef struct loop loop;

typedef struct peer {
    loop *all;
    int rank;
    bool gone; /* its work has ended */
    pthread_cond_t woken;
    int waits_for; /* a rank that it waits for */
    box *from;     /* one a rank */
    part mine[2];  /* of this gathering and of the last, which others may still copy */
    long gathers;
    long barriers; /* it has come to */
    const cmg_message *send;
    const cmg_message *receive;
    int sends;
    int receives;
    cmg_transport transport;
    pthread_t thread;
    char message[CMG_MESSAGE];
} peer;

struct loop {
    int ranks;
    double seconds;
    pthread_mutex_t lock;
    int arrived;       /* at the barrier */
    long barriers;     /* passed */
    cmg_status status; /* the first failure */
    char why[CMG_MESSAGE];
    cmg_rank_fn work;
    void *user;
    peer *peer;
};

static void wake_all(loop *all)
{
    for (int r = 0; r < all->ranks; ++r) {
        (void)pthread_cond_signal(&all->peer[r].woken);
    }
}

/* A rank that waits for another one need not look. */
static void wake(peer *sleeper, const peer *me)
{
    if (sleeper->waits_for == me->rank) {
        (void)pthread_cond_signal(&sleeper->woken);
    }
}

static void note_failure(loop *all, int rank, cmg_status status, const char *why)
{
    if (all->status == CMG_OK) {
        all->status = status;
        (void)snprintf(all->why, sizeof all->why, "rank %d: %.200s", rank, why);
        wake_all(all);
    }
}

static struct timespec deadline_of(const loop *all)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    const double whole = (double)(long)all->seconds;
    end.tv_sec += (time_t)whole;
    end.tv_nsec += (long)(1e9 * (all->seconds - whole));
    if (end.tv_nsec >= 1000000000L) {
        end.tv_nsec -= 1000000000L;
        end.tv_sec += 1;
    }
    return end;
}

/* One wait; false when the group has failed, or `missing` has left or does not answer. */
static bool wait_for(peer *me, int missing, const struct timespec *end)
{
    loop *all = me->all;
    char why[CMG_MESSAGE];
    me->waits_for = missing;
    if (all->status == CMG_OK && missing >= 0 && all->peer[missing].gone) {
        note_failure(all, missing, CMG_ERR_STATE, "has ended while others wait for it");
    }
    if (all->status == CMG_OK && pthread_cond_timedwait(&me->woken, &all->lock, end) == ETIMEDOUT &&
        all->status == CMG_OK) {
        (void)snprintf(why, sizeof why, "waited %.3g s in vain for rank %d", all->seconds, missing);
        note_failure(all, me->rank, CMG_ERR_STATE, why);
    }
    return all->status == CMG_OK;
}

/* The end of a call that has the lock: its status, with the group's message where it fails. */
static cmg_status leave(peer *me, bool good)
{
    const cmg_status status = good ? CMG_OK : me->all->status;
    if (!good) {
        memcpy(me->message, me->all->why, sizeof me->message);
    }
    (void)pthread_mutex_unlock(&me->all->lock);
    return status;
}

/* A rank that has not come to the barrier: one that has left, if any. */
static int absent_rank(const loop *all)
{
    int absent = -1;
    for (int r = 0; r < all->ranks; ++r) {
        if (all->peer[r].gone) {
            return r;
        }
        absent = all->peer[r].barriers == all->barriers ? r : absent;
    }
    return absent;
}

/* True when all have come, whatever has failed since. */
static bool barrier(peer *me)
{
    loop *all = me->all;
    const long before = all->barriers;
    const struct timespec end = deadline_of(all);
    ++me->barriers;
    if (++all->arrived == all->ranks) {
        all->arrived = 0;
        ++all->barriers;
        wake_all(all);
    }
    while (all->barriers == before) {
        if (!wait_for(me, absent_rank(all), &end) && all->barriers == before) {
            return false;
        }
    }
    return true;
}

static cmg_status start(void *user, const cmg_message *send, int sends, const cmg_message *receive,
                        int receives)
{
    peer *me = user;
    loop *all = me->all;
    (void)pthread_mutex_lock(&all->lock);
    for (int k = 0; k < sends && all->status == CMG_OK; ++k) {
        peer *to = &all->peer[send[k].peer];
        to->from[me->rank] = (box){send[k].data, send[k].bytes};
        wake(to, me);
    }
    me->send = send;
    me->sends = sends;
    me->receive = receive;
    me->receives = receives;
    return leave(me, all->status == CMG_OK);
}

/* False, and the end of all ranks, where a peer gives other than what is due. */
static bool has_length(peer *me, int from, size_t bytes, size_t due)
{
    char why[CMG_MESSAGE];
    if (bytes != due) {
        (void)snprintf(why, sizeof why,
                       "rank %d sends %zu bytes where %zu are due: the ranks do not make the same "
                       "calls in the same order",
                       from, bytes, due);
        note_failure(me->all, me->rank, CMG_ERR_STATE, why);
    }
    return bytes == due;
}

/* Copies the message of a peer, which may not be there yet; after a failure its memory may be gone.
 */
static bool take(peer *me, const cmg_message *m, const struct timespec *end)
{
    loop *all = me->all;
    box *b = &me->from[m->peer];
    while (b->data == NULL) {
        if (!wait_for(me, m->peer, end)) {
            return false;
        }
    }
    if (all->status != CMG_OK || !has_length(me, m->peer, b->bytes, m->bytes)) {
        return false;
    }
    memcpy(m->data, b->data, m->bytes);
    *b = (box){0};
    wake(&all->peer[m->peer], me);
    return true;
}

static cmg_status finish(void *user)
{
    peer *me = user;
    loop *all = me->all;
    bool good = true;
    const struct timespec end = deadline_of(all);
    (void)pthread_mutex_lock(&all->lock);
    for (int k = 0; k < me->receives && good; ++k) {
        good = take(me, &me->receive[k], &end);
    }
    for (int k = 0; k < me->sends && good; ++k) {
        while (good && all->peer[me->send[k].peer].from[me->rank].data != NULL) {
            good = wait_for(me, me->send[k].peer, &end);
        }
    }
    return leave(me, all->status == CMG_OK);
}

static cmg_status gather(void *user, const void *mine, void *to, const size_t *offsets)
{
    peer *me = user;
    loop *all = me->all;
    const int turn = (int)(me->gathers++ % 2);
    part *own = &me->mine[turn];
    bool kept = true; /* all parts are copies of the transport's */
    (void)pthread_mutex_lock(&all->lock);
    own->bytes = offsets[me->rank + 1] - offsets[me->rank];
    own->all = offsets[all->ranks] - offsets[0];
    own->data = mine;
    if (own->bytes > 0 && own->bytes <= SMALL) {
        own->data = memcpy(own->copy, mine, own->bytes);
    }
    bool good = all->status == CMG_OK && barrier(me) && all->status == CMG_OK;
    for (int r = 0; r < all->ranks && good; ++r) {
        const part *theirs = &all->peer[r].mine[turn];
        char *there = (char *)to + offsets[r];
        const size_t bytes = offsets[r + 1] - offsets[r];
        kept = kept && bytes <= SMALL;
        good = has_length(me, r, theirs->bytes, bytes) && has_length(me, r, theirs->all, own->all);
        if (good && bytes > 0 && theirs->data != there) {
            memcpy(there, theirs->data, bytes);
        }
    }
    return leave(me, good && (kept || barrier(me)));
}

static void fail(void *user, cmg_status status, const char *message)
{
    peer *me = user;
    (void)pthread_mutex_lock(&me->all->lock);
    note_failure(me->all, me->rank, status, message);
    (void)pthread_mutex_unlock(&me->all->lock);
}

static const char *message_of(void *user)
{
    return ((peer *)user)->message;
}

static cmg_status check(void *user)
{
    peer *me = user;
    (void)pthread_mutex_lock(&me->all->lock);
    return leave(me, me->all->status == CMG_OK);
}

static void *run(void *user)
{
    peer *me = user;
    loop *all = me->all;
    const cmg_status status = all->work(all->user, &me->transport);
    (void)pthread_mutex_lock(&all->lock);
    me->gone = true;
    if (status != CMG_OK) {
        note_failure(all, me->rank, status, cmg_status_text(status));
    }
    wake_all(all);
    (void)pthread_mutex_unlock(&all->lock);
    return NULL;
}

static void set_up(loop *all, int rank, box *boxes)
{
    peer *p = &all->peer[rank];
    p->all = all;
    p->rank = rank;
    p->from = boxes + (size_t)rank * (size_t)all->ranks;
    p->transport = (cmg_transport){.size = sizeof p->transport,
                                   .rank = rank,
                                   .ranks = all->ranks,
                                   .seconds = all->seconds,
                                   .user = p,
                                   .start = start,
                                   .finish = finish,
                                   .gather = gather,
                                   .fail = fail,
                                   .message = message_of,
                                   .check = check,
                                   .together = true};
    (void)pthread_cond_init(&p->woken, NULL);
}

/* All threads, started and waited for; one that cannot be had fails the group. */
static void run_all(loop *all)
{
    int started = 0;
    for (; started < all->ranks; ++started) {
        peer *p = &all->peer[started];
        if (pthread_create(&p->thread, NULL, run, p) != 0) {
            break;
        }
    }
    if (started < all->ranks) {
        (void)pthread_mutex_lock(&all->lock);
        note_failure(all, started, CMG_ERR_MEMORY, "no thread can be had");
        (void)pthread_mutex_unlock(&all->lock);
    }
    for (int r = 0; r < started; ++r) {
        (void)pthread_join(all->peer[r].thread, NULL);
    }
}

cmg_status cmg_loopback_run(int ranks, double seconds, cmg_rank_fn work, void *user,
                            char why[CMG_MESSAGE])
{
    if (ranks < 1 || ranks > MOST_RANKS || work == NULL || !(seconds >= 0)) {
        if (why != NULL) {
            (void)snprintf(why, CMG_MESSAGE, "loopback: %d ranks are not in 1 .. %d", ranks,
                           (int)MOST_RANKS);
        }
        return CMG_ERR_ARG;
    }
    loop all = {.ranks = ranks,
                .seconds = seconds > 0 ? seconds : 300,
                .work = work,
                .user = user,
                .status = CMG_OK};
    box *boxes = calloc((size_t)ranks * (size_t)ranks, sizeof *boxes);
    all.peer = calloc((size_t)ranks, sizeof *all.peer);
    if (boxes == NULL || all.peer == NULL) {
        free(boxes);
        free(all.peer);
        return CMG_ERR_MEMORY;
    }
    (void)pthread_mutex_init(&all.lock, NULL);
    for (int r = 0; r < ranks; ++r) {
        set_up(&all, r, boxes);
    }
    run_all(&all);
    for (int r = 0; r < ranks; ++r) {
        (void)pthread_cond_destroy(&all.peer[r].woken);
    }
    (void)pthread_mutex_destroy(&all.lock);
    if (why != NULL) {
        memcpy(why, all.why, CMG_MESSAGE);
    }
    free(boxes);
    free(all.peer);
    return all.status;
}
