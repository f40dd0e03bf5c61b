/* Checkpoints: a head and five arrays, as they are in memory, replaced in one go. */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

typedef struct head {
    char magic[16];
    long long nodes;
    long long cells;
    uint64_t mesh; /* hash of it */
    double t;
    double dt;
    double taken[2];
    long long past;
    counts count;
} head;

static uint64_t hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t k = 0; k < bytes; ++k) {
        seed = (seed ^ byte[k]) * 1099511628211ULL;
    }
    return seed;
}

static head make_head(const heart *h)
{
    const cmg_fem_mesh *mesh = &h->mesh;
    head made = {.nodes = mesh->nodes, .cells = mesh->cells, .t = h->t, .dt = h->dt};
    memcpy(made.magic, "heart state 2\n", 15);
    made.count = h->count;
    memcpy(made.taken, h->taken, sizeof made.taken);
    made.past = h->past;
    made.mesh =
        hash(14695981039346656037ULL, mesh->x, (size_t)(mesh->nodes * mesh->dim) * sizeof *mesh->x);
    made.mesh = hash(made.mesh, mesh->cell_nodes,
                     (size_t)(mesh->cells * h->corners) * sizeof *mesh->cell_nodes);
    return made;
}

static void name_of(const heart *h, char path[4096])
{
    (void)snprintf(path, 4096, "%s/state", h->o->output);
}

cmg_status state_write(heart *h)
{
    const double begin = now();
    cmg_vector *const all[5] = {h->phi_old[1], h->phi_old[0], h->phi, h->activation, h->r};
    const head first = make_head(h);
    const size_t bytes = sizeof first + (size_t)(4 * h->mesh.nodes + h->mesh.cells) * 8;
    char path[4096];
    char *data = malloc(bytes);
    char *at = data;
    cmg_status status = data != NULL ? CMG_OK : CMG_ERR_MEMORY;
    if (status == CMG_OK) {
        memcpy(at, &first, sizeof first);
        at += sizeof first;
    }
    for (int k = 0; k < 5 && status == CMG_OK; ++k) {
        status = cmg_vector_get(all[k], (double *)(void *)at);
        at += (size_t)cmg_vector_length(all[k]) * sizeof(double);
    }
    name_of(h, path);
    status = status ? status : cmg_file_write(h->ctx, path, data, bytes);
    free(data);
    h->spent.output += now() - begin;
    return status;
}

cmg_status state_read(heart *h)
{
    cmg_vector *const all[5] = {h->phi_old[1], h->phi_old[0], h->phi, h->activation, h->r};
    const head expected = make_head(h);
    const cmg_size most = h->mesh.nodes > h->mesh.cells ? h->mesh.nodes : h->mesh.cells;
    head found = {.nodes = 0};
    char path[4096];
    name_of(h, path);
    FILE *file = fopen(path, "rb");
    double *room = malloc((size_t)most * sizeof *room);
    bool good = file != NULL && room != NULL && fread(&found, sizeof found, 1, file) == 1 &&
                memcmp(found.magic, expected.magic, sizeof found.magic) == 0 &&
                found.nodes == expected.nodes && found.cells == expected.cells &&
                found.mesh == expected.mesh;
    for (int k = 0; k < 5 && good; ++k) {
        const size_t n = (size_t)cmg_vector_length(all[k]);
        good = fread(room, sizeof *room, n, file) == n && cmg_vector_set(all[k], room) == CMG_OK;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(room);
    if (!good) {
        (void)fprintf(stderr, "heart: %s is no checkpoint of this mesh\n", path);
        return CMG_ERR_FILE;
    }
    h->t = found.t;
    h->dt = found.dt;
    h->count = found.count;
    memcpy(h->taken, found.taken, sizeof h->taken);
    h->past = (int)found.past;
    return CMG_OK;
}
