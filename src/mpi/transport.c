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

/* A failure of MPI itself. */
static cmg_status check(process *p, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (error == MPI_SUCCESS) {
        return CMG_OK;
    }
    (void)MPI_Error_string(error, text, &length);
    fail(p, CMG_ERR_STATE, text);
    return p->status;
}

/* Has another rank given up? */
static cmg_status listen(process *p)
{
    int there = 0;
    MPI_Status from;
    alarm_note note;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, p->alarms, &there, &from) != MPI_SUCCESS || !there) {
        return CMG_OK;
    }
    (void)MPI_Recv(&note, sizeof note, MPI_BYTE, from.MPI_SOURCE, TAG, p->alarms,
                   MPI_STATUS_IGNORE);
    note.message[CMG_MESSAGE - 1] = '\0';
    return note_failure(p, note.rank, (cmg_status)note.status, note.message);
}

static cmg_status look(void *user)
{
    process *p = user;
    return p->failed ? p->status : listen(p);
}

static const char *message_of(void *user)
{
    return ((process *)user)->why;
}

static cmg_status next_request(process *p, MPI_Request **request)
{
    if (p->requests == p->capacity) {
        const int larger = p->capacity > 0 ? 2 * p->capacity : 32;
        MPI_Request *moved = realloc(p->request, (size_t)larger * sizeof(MPI_Request));
        if (moved == NULL) {
            fail(p, CMG_ERR_MEMORY, "out of memory for messages");
            return p->status;
        }
        p->request = moved;
        p->capacity = larger;
    }
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
        cmg_status status = next_request(p, &request);
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

static cmg_status wait_for_all(process *p)
{
    const double end = MPI_Wtime() + p->transport.seconds;
    cmg_status status = p->failed ? p->status : CMG_OK;
    int done = 0;
    for (long spins = 0; status == CMG_OK && !done; ++spins) {
        status = check(p, MPI_Testall(p->requests, p->request, &done, MPI_STATUSES_IGNORE));
        if (status != CMG_OK || done || spins % SPINS != SPINS - 1) {
            continue;
        }
        status = listen(p);
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

static cmg_status finish(void *user)
{
    return wait_for_all(user);
}

/* Everyone's to everyone. */
static cmg_status gather_messages(process *p, char *all, const size_t *offsets)
{
    const int me = p->transport.rank;
    cmg_status status = CMG_OK;
    for (int r = 0; r < p->transport.ranks && status == CMG_OK; ++r) {
        const cmg_message in = {r, all + offsets[r], offsets[r + 1] - offsets[r]};
        const cmg_message out = {r, all + offsets[me], offsets[me + 1] - offsets[me]};
        status = r == me ? CMG_OK : post(p, true, &in);
        status = r == me || status != CMG_OK ? status : post(p, false, &out);
    }
    return status == CMG_OK ? wait_for_all(p) : status;
}

static cmg_status gather_staged(process *p, char *all, const size_t *offsets)
{
    const int ranks = p->transport.ranks;
    const int me = p->transport.rank;
    MPI_Request *request = NULL;
    for (int r = 0; r < ranks; ++r) {
        p->counts[r] = (int)(offsets[r + 1] - offsets[r]);
        p->begins[r] = (int)offsets[r];
    }
    memcpy(p->staged + offsets[me], all + offsets[me], offsets[me + 1] - offsets[me]);
    cmg_status status = next_request(p, &request);
    if (status == CMG_OK) {
        p->collective = true;
        status = check(p, MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, p->staged, p->counts,
                                          p->begins, MPI_BYTE, p->comm, request));
    }
    status = status == CMG_OK ? wait_for_all(p) : status;
    if (status == CMG_OK) {
        memcpy(all, p->staged, offsets[ranks]);
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
    return offsets[p->transport.ranks] <= STAGED ? gather_staged(p, all, offsets)
                                                 : gather_messages(p, all, offsets);
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
    free(p->counts);
    free(p->begins);
    free(p->staged);
    free(p);
}
