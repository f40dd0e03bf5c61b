/* Checkpoints: one .npy of fp64, a head and five arrays, replaced in one go. */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 5, FIXED = 3, HEAD = 12 };

static uint64_t hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t k = 0; k < bytes; ++k) {
        seed = (seed ^ byte[k]) * 1099511628211ULL;
    }
    return seed;
}

/* The first FIXED numbers tell the mesh. */
static void make_head(const heart *h, double head[HEAD])
{
    const cmg_fem_mesh *mesh = &h->mesh;
    const counts *c = &h->count;
    uint64_t sum =
        hash(14695981039346656037ULL, mesh->x, (size_t)(mesh->nodes * mesh->dim) * sizeof *mesh->x);
    sum =
        hash(sum, mesh->cell_nodes, (size_t)(mesh->cells * h->corners) * sizeof *mesh->cell_nodes);
    const double all[HEAD] = {(double)mesh->nodes,
                              (double)mesh->cells,
                              (double)(sum >> 12),
                              h->t,
                              h->dt,
                              h->taken[0],
                              h->taken[1],
                              h->past,
                              (double)c->steps,
                              (double)c->rejected,
                              (double)c->newton,
                              (double)c->iterations};
    memcpy(head, all, sizeof all);
}

static void list(const heart *h, cmg_vector *all[ARRAYS], char path[MAX_PATH])
{
    cmg_vector *const kept[ARRAYS] = {h->phi_old[1], h->phi_old[0], h->phi, h->activation, h->r};
    memcpy(all, kept, sizeof kept);
    (void)snprintf(path, MAX_PATH, "%s/state.npy", h->o->output);
}

cmg_status state_write(heart *h)
{
    const double begin = now();
    const cmg_size n = HEAD + 4 * h->mesh.nodes + h->mesh.cells;
    cmg_vector *all[ARRAYS];
    char path[MAX_PATH];
    double *data = room((size_t)n * sizeof *data);
    double *at = data + HEAD;
    cmg_status status = CMG_OK;
    list(h, all, path);
    make_head(h, data);
    for (int k = 0; k < ARRAYS && status == CMG_OK; ++k) {
        status = cmg_vector_get(all[k], at);
        at += cmg_vector_length(all[k]);
    }
    status = status ? status : cmg_vector_write(h->ctx, path, n, data);
    free(data);
    h->spent.output += now() - begin;
    return status;
}

cmg_status state_read(heart *h)
{
    double head[HEAD];
    cmg_vector *all[ARRAYS];
    char path[MAX_PATH];
    double *data = NULL;
    cmg_size n = 0;
    list(h, all, path);
    make_head(h, head);
    cmg_status status = cmg_vector_read(h->ctx, path, &n, &data);
    if (status == CMG_OK && (n != HEAD + 4 * h->mesh.nodes + h->mesh.cells ||
                             memcmp(data, head, FIXED * sizeof *head) != 0)) {
        (void)fprintf(stderr, "heart: %s is no checkpoint of this mesh\n", path);
        status = CMG_ERR_FILE;
    }
    const double *at = data + HEAD;
    for (int k = 0; k < ARRAYS && status == CMG_OK; ++k) {
        status = cmg_vector_set(all[k], at);
        at += cmg_vector_length(all[k]);
    }
    if (status == CMG_OK) {
        h->t = data[3];
        h->dt = data[4];
        memcpy(h->taken, data + 5, sizeof h->taken);
        h->past = (int)data[7];
        h->count = (counts){(long long)data[8], (long long)data[9], (long long)data[10],
                            (long long)data[11]};
    }
    cmg_free(data);
    return status;
}
