/*
 * The transport over MPI. Nothing blocks: every wait tests its requests, looks for the alarm of a
 * rank that has failed, and ends with the clock. Alarms have a communicator of their own.
 */
#define _XOPEN_SOURCE 700
#include "cmg_mpi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A message of more than PIECE bytes is sent in pieces: MPI counts in int. A gathering of at most
 * STAGED bytes is one collective, in memory of the transport's own: a collective cannot be stopped,
 * and may still write when a failure has ended the call.
 */
enum { PIECE = 1 << 30, STAGED = 1 << 20, TAG = 1, SPINS = 200 };
static const double cancelling = 1; /* seconds that a cancelled message may take to end */

typedef struct alarm_note {
    int status;
    int rank;
    char message[CMG_MESSAGE];
} alarm_note;

typedef struct process {
    cmg_transport transport;
    MPI_Comm comm;
    MPI_Comm alarms;
    MPI_Request *request;
    MPI_Status *done; /* of each request */
    int *due;         /* bytes that it is to receive, -1 of one that sends */
    int requests;
    int capacity;
    bool collective; /* what is under way is no message */
    int *counts;     /* of a gathering, ranks each */
    int *begins;
    char *staged;   /* STAGED bytes */
    alarm_note own; /* as it is sent */
    bool failed;
    cmg_status status;
    char why[CMG_MESSAGE];
} process;

static cmg_status note_failure(process *p, int rank, cmg_status status, const char *message)
{
    if (!p->failed) {
        p->failed = true;
        p->status = status;
        (void)snprintf(p->why, sizeof p->why, "rank %d: %.200s", rank, message);
    }
    return p->status;
}

static void fail(void *user, cmg_status status, const char *message)
{
    process *p = user;
    if (p->failed) {
        return;
    }
    (void)note_failure(p, p->transport.rank, status, message);
    p->own = (alarm_note){.status = (int)status, .rank = p->transport.rank};
    (void)snprintf(p->own.message, sizeof p->own.message, "%.200s", message);
    for (int r = 0; r < p->transport.ranks; ++r) {
        MPI_Request sent;
        if (r != p->transport.rank &&
            MPI_Isend(&p->own, sizeof p->own, MPI_BYTE, r, TAG, p->alarms, &sent) == MPI_SUCCESS) {
            (void)MPI_Request_free(&sent);
        }
    }
}

/* A part or a message is shorter or longer than what is due. */
static cmg_status refuse_length(process *p)
{
    fail(p, CMG_ERR_STATE,
         "a message has another length than is due: the ranks do not make the same calls in the "
         "same order");
    return p->status;
}

/* A failure of MPI itself. */
static cmg_status check(process *p, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int kind = MPI_SUCCESS;
    if (error == MPI_SUCCESS) {
        return CMG_OK;
    }
    (void)MPI_Error_class(error, &kind);
    for (int k = 0; k < p->requests && kind == MPI_ERR_IN_STATUS; ++k) {
        const int own = p->done[k].MPI_ERROR;
        error = own != MPI_SUCCESS && own != MPI_ERR_PENDING ? own : error;
    }
    (void)MPI_Error_class(error, &kind);
    if (kind == MPI_ERR_TRUNCATE) {
        return refuse_length(p);
    }
    (void)MPI_Error_string(error, text, &length);
    fail(p, CMG_ERR_STATE, text);
    return p->status;
}

/* Has this rank or another one given up? */
static cmg_status look(void *user)
{
    process *p = user;
    int there = 0;
    MPI_Status from;
    alarm_note note;
    if (p->failed) {
        return p->status;
    }
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, p->alarms, &there, &from) != MPI_SUCCESS || !there) {
        return CMG_OK;
    }
    (void)MPI_Recv(&note, sizeof note, MPI_BYTE, from.MPI_SOURCE, TAG, p->alarms,
                   MPI_STATUS_IGNORE);
    note.message[CMG_MESSAGE - 1] = '\0';
    return note_failure(p, note.rank, (cmg_status)note.status, note.message);
}

static const char *message_of(void *user)
{
    return ((process *)user)->why;
}

/* An array with room for more; as it was, and *good = false, where there is no memory. */
static void *grow(void *array, int larger, size_t size, bool *good)
{
    void *moved = realloc(array, (size_t)larger * size);
    if (moved == NULL) {
        *good = false;
        return array;
    }
    return moved;
}

/* The next request, which is to receive so many bytes; -1 where it receives none. */
static cmg_status next_request(process *p, int due, MPI_Request **request)
{
    if (p->requests == p->capacity) {
        const int larger = p->capacity > 0 ? 2 * p->capacity : 32;
        bool good = true;
        p->request = grow(p->request, larger, sizeof(MPI_Request), &good);
        p->done = grow(p->done, larger, sizeof(MPI_Status), &good);
        p->due = grow(p->due, larger, sizeof(int), &good);
        if (!good) {
            fail(p, CMG_ERR_MEMORY, "out of memory for messages");
            return p->status;
        }
        p->capacity = larger;
    }
    p->due[p->requests] = due;
    p->request[p->requests] = MPI_REQUEST_NULL;
    *request = &p->request[p->requests++];
    return CMG_OK;
}

static cmg_status post(process *p, bool receive, const cmg_message *m)
{
    for (size_t at = 0; at < m->bytes; at += PIECE) {
        const size_t left = m->bytes - at;
        const int count = left < PIECE ? (int)left : PIECE;
        char *data = (char *)m->data + at;
        MPI_Request *request = NULL;
        cmg_status status = next_request(p, receive ? count : -1, &request);
        if (status == CMG_OK) {
            status = check(
                p, receive ? MPI_Irecv(data, count, MPI_BYTE, m->peer, TAG, p->comm, request)
                           : MPI_Isend(data, count, MPI_BYTE, m->peer, TAG, p->comm, request));
        }
        if (status != CMG_OK) {
            return status;
        }
    }
    return CMG_OK;
}

/*
 * After a failure no message may come into memory that is freed: a receive ends by the cancelling
 * or by what has begun to come. A send that no one takes is left: nothing reads its memory again.
 */
static void abandon(process *p)
{
    const double end = MPI_Wtime() + cancelling;
    int done = p->collective;
    for (int k = 0; k < p->requests && !p->collective; ++k) {
        if (p->request[k] != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&p->request[k]);
        }
    }
    while (!done && MPI_Wtime() < end) {
        if (MPI_Testall(p->requests, p->request, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            return;
        }
        (void)sched_yield();
    }
}

/* Waits for all requests. */
static cmg_status finish(void *user)
{
    process *p = user;
    const double end = MPI_Wtime() + p->transport.seconds;
    cmg_status status = p->failed ? p->status : CMG_OK;
    int done = 0;
    for (long spins = 0; status == CMG_OK && !done; ++spins) {
        status = check(p, MPI_Testall(p->requests, p->request, &done, p->done));
        if (status != CMG_OK || done || spins % SPINS != SPINS - 1) {
            continue;
        }
        status = look(p);
        if (status == CMG_OK && MPI_Wtime() > end) {
            char why[CMG_MESSAGE];
            (void)snprintf(why, sizeof why, "waited %.3g s in vain for the others",
                           p->transport.seconds);
            fail(p, CMG_ERR_STATE, why);
            status = p->status;
        }
        (void)sched_yield(); /* several processes may share a core */
    }
    if (status != CMG_OK) {
        abandon(p);
    }
    for (int k = 0; k < p->requests && status == CMG_OK; ++k) { /* what has come is what was due */
        int count = 0;
        if (p->due[k] >= 0 && MPI_Get_count(&p->done[k], MPI_BYTE, &count) == MPI_SUCCESS &&
            count != p->due[k]) {
            status = refuse_length(p);
        }
    }
    p->requests = 0;
    p->collective = false;
    return status;
}

static cmg_status start(void *user, const cmg_message *send, int sends, const cmg_message *receive,
                        int receives)
{
    process *p = user;
    cmg_status status = p->failed ? p->status : CMG_OK;
    for (int k = 0; k < receives && status == CMG_OK; ++k) {
        status = post(p, true, &receive[k]);
    }
    for (int k = 0; k < sends && status == CMG_OK; ++k) {
        status = post(p, false, &send[k]);
    }
    return status;
}

/* Where a rank's part is in the staged memory: behind its length, which each of them sends. One
 * that is longer than is due is an error of MPI, and under Open MPI ends the program. */
static char *staged_part(const process *p, const size_t *offsets, int rank)
{
    return p->staged + offsets[rank] + ((size_t)rank + 1) * sizeof(size_t);
}

static cmg_status gather_staged(process *p, char *all, const size_t *offsets)
{
    const int ranks = p->transport.ranks;
    const int me = p->transport.rank;
    MPI_Request *request = NULL;
    for (int r = 0; r < ranks; ++r) {
        const size_t length = offsets[r + 1] - offsets[r];
        char *part = staged_part(p, offsets, r);
        p->counts[r] = (int)(length + sizeof length);
        p->begins[r] = (int)(part - p->staged - (ptrdiff_t)sizeof length);
        memset(part - sizeof length, 0, sizeof length);
    }
    const size_t own = offsets[me + 1] - offsets[me];
    memcpy(staged_part(p, offsets, me) - sizeof own, &own, sizeof own);
    memcpy(staged_part(p, offsets, me), all + offsets[me], own);
    cmg_status status = next_request(p, -1, &request);
    if (status == CMG_OK) {
        p->collective = true;
        status = check(p, MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, p->staged, p->counts,
                                          p->begins, MPI_BYTE, p->comm, request));
    }
    status = status == CMG_OK ? finish(p) : status;
    for (int r = 0; r < ranks && status == CMG_OK; ++r) {
        const size_t length = offsets[r + 1] - offsets[r];
        size_t theirs = 0;
        memcpy(&theirs, staged_part(p, offsets, r) - sizeof theirs, sizeof theirs);
        if (theirs != length) {
            return refuse_length(p);
        }
        memcpy(all + offsets[r], staged_part(p, offsets, r), length);
    }
    return status;
}

static cmg_status gather(void *user, const void *mine, void *all, const size_t *offsets)
{
    process *p = user;
    const int me = p->transport.rank;
    char *own = (char *)all + offsets[me];
    if (p->failed) {
        return p->status;
    }
    if (mine != own) {
        memcpy(own, mine, offsets[me + 1] - offsets[me]);
    }
    const int ranks = p->transport.ranks;
    if (offsets[ranks] + (size_t)ranks * sizeof *offsets <= STAGED) {
        return gather_staged(p, all, offsets);
    }
    cmg_status status = CMG_OK;
    for (int r = 0; r < ranks && status == CMG_OK; ++r) { /* everyone's to everyone */
        const cmg_message in = {r, (char *)all + offsets[r], offsets[r + 1] - offsets[r]};
        const cmg_message out = {r, own, offsets[me + 1] - offsets[me]};
        status = r == me ? CMG_OK : post(p, true, &in);
        status = r == me || status != CMG_OK ? status : post(p, false, &out);
    }
    return status == CMG_OK ? finish(p) : status;
}

static cmg_status open_comm(MPI_Comm comm, process *p)
{
    if (MPI_Comm_dup(comm, &p->comm) != MPI_SUCCESS ||
        MPI_Comm_dup(comm, &p->alarms) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(p->alarms, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        MPI_Comm_rank(p->comm, &p->transport.rank) != MPI_SUCCESS ||
        MPI_Comm_size(p->comm, &p->transport.ranks) != MPI_SUCCESS) {
        return CMG_ERR_STATE;
    }
    p->counts = calloc((size_t)p->transport.ranks, sizeof *p->counts);
    p->begins = calloc((size_t)p->transport.ranks, sizeof *p->begins);
    p->staged = malloc(STAGED);
    return p->counts != NULL && p->begins != NULL && p->staged != NULL ? CMG_OK : CMG_ERR_MEMORY;
}

cmg_status cmg_mpi_transport_create(MPI_Comm comm, double seconds, cmg_transport **transport)
{
    int ready = 0;
    if (transport == NULL || !(seconds >= 0)) {
        return CMG_ERR_ARG;
    }
    if (MPI_Initialized(&ready) != MPI_SUCCESS || !ready) {
        return CMG_ERR_STATE;
    }
    process *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return CMG_ERR_MEMORY;
    }
    p->comm = MPI_COMM_NULL;
    p->alarms = MPI_COMM_NULL;
    p->transport = (cmg_transport){.size = sizeof p->transport,
                                   .seconds = seconds > 0 ? seconds : 300,
                                   .user = p,
                                   .start = start,
                                   .finish = finish,
                                   .gather = gather,
                                   .fail = fail,
                                   .message = message_of,
                                   .check = look};
    const cmg_status status = open_comm(comm, p);
    cmg_transport *made = &p->transport;
    if (status != CMG_OK) {
        cmg_mpi_transport_destroy(&made);
        return status;
    }
    *transport = made;
    return CMG_OK;
}

void cmg_mpi_transport_destroy(cmg_transport **transport)
{
    if (transport == NULL || *transport == NULL) {
        return;
    }
    process *p = (*transport)->user;
    *transport = NULL;
    if (p->failed) {
        return; /* what was posted still points to it; the program is about to end */
    }
    if (p->comm != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&p->comm);
    }
    if (p->alarms != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&p->alarms);
    }
    free(p->request);
    free(p->done);
    free(p->due);
    free(p->counts);
    free(p->begins);
    free(p->staged);
    free(p);
}
