/* Stimuli, what every cell keeps, the sum matrix, the vectors. */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ stimuli */

static void extent(const cmg_fem_mesh *mesh, double box[6])
{
    for (int d = 0; d < 3; ++d) {
        box[2 * d] = d < mesh->dim ? INFINITY : 0;
        box[2 * d + 1] = d < mesh->dim ? -INFINITY : 0;
    }
    for (cmg_size i = 0; i < mesh->nodes * mesh->dim; ++i) {
        const int d = (int)(i % mesh->dim);
        box[2 * d] = fmin(box[2 * d], mesh->x[i]);
        box[2 * d + 1] = fmax(box[2 * d + 1], mesh->x[i]);
    }
}

/* The first tenth along an axis, for 2 ms. */
static stimulus plane(const double box[6], int axis)
{
    stimulus s = {.start = 0, .duration = 2, .current = 0.5};
    memcpy(s.box, box, sizeof s.box);
    s.box[2 * axis + 1] = box[2 * axis] + (box[2 * axis + 1] - box[2 * axis]) / 10;
    return s;
}

/* S1 is a plane wave along x; S2 the quarter of low x and y behind it, where the tissue recovers on
 * one side alone: the wave that it starts curls up. Returns how many stimuli that are, 0 = nothing
 * that makes sense. */
static int read_protocol(const cmg_fem_mesh *mesh, const char *text, stimulus s[2])
{
    double box[6];
    double *b = s->box;
    extent(mesh, box);
    if (strncmp(text, "plane:", 6) == 0 && text[6] >= 'x' && text[6] < 'x' + mesh->dim) {
        s[0] = plane(box, text[6] - 'x');
        return 1;
    }
    if (strncmp(text, "s1s2:", 5) == 0) {
        s[0] = s[1] = plane(box, 0);
        s[1].box[1] = (box[0] + box[1]) / 2;
        s[1].box[3] = (box[2] + box[3]) / 2;
        s[1].start = strtod(text + 5, NULL);
        return s[1].start > 0 ? 2 : 0;
    }
    return sscanf(text, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", b, b + 1, b + 2, b + 3, b + 4, b + 5,
                  &s->start, &s->duration, &s->current) == 9;
}

static cmg_status read_protocols(heart *h)
{
    for (int k = 0; k < h->o->protocols; ++k) {
        stimulus s[2];
        const int found = read_protocol(&h->mesh, h->o->protocol[k], s);
        if (found == 0 || h->nstimuli + found > MAX_STIMULI) {
            (void)fprintf(stderr, "heart: %s '%s'\n",
                          found == 0 ? "cannot make sense of the stimulus" : "too many stimuli at",
                          h->o->protocol[k]);
            return CMG_ERR_ARG;
        }
        memcpy(h->stimuli + h->nstimuli, s, (size_t)found * sizeof *s);
        h->nstimuli += found;
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ cells */

/* Gradients of the basis of a simplex; returns its volume. */
static double gradients(const cmg_fem_mesh *mesh, const cmg_index *nodes, double g[4][3])
{
    const int dim = mesh->dim;
    double J[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}; /* rows: edges from corner 0 */
    for (int e = 0; e < dim; ++e) {
        for (int d = 0; d < dim; ++d) {
            J[e][d] = mesh->x[nodes[e + 1] * dim + d] - mesh->x[nodes[0] * dim + d];
        }
    }
    double det = 0;
    memset(g, 0, 4 * sizeof *g);
    for (int e = 0; e < 3; ++e) {
        const double *p = J[(e + 1) % 3];
        const double *q = J[(e + 2) % 3];
        for (int d = 0; d < 3; ++d) {
            g[e + 1][d] = p[(d + 1) % 3] * q[(d + 2) % 3] - p[(d + 2) % 3] * q[(d + 1) % 3];
        }
        det = g[1][0] * J[0][0] + g[1][1] * J[0][1] + g[1][2] * J[0][2];
    }
    for (int e = 1; e <= dim; ++e) {
        for (int d = 0; d < dim; ++d) {
            g[e][d] /= det;
            g[0][d] -= g[e][d];
        }
    }
    return det / (dim == 3 ? 6 : 2);
}

/* V grad N_a . D grad N_b for a < b, D = d_iso I + d_ani n n^T. */
static void keep_cell(const heart *h, cmg_size cell, double *volume, double *stiffness)
{
    const int nv = h->corners;
    const double *n = h->fibre != NULL ? h->fibre + cell * 3 : NULL;
    double g[4][3];
    *volume = gradients(&h->mesh, h->mesh.cell_nodes + cell * nv, g);
    for (int a = 0; a < nv; ++a) {
        for (int b = a + 1; b < nv; ++b) {
            double dot = 0;
            double na = 0;
            double nb = 0;
            for (int d = 0; d < h->mesh.dim; ++d) {
                dot += g[a][d] * g[b][d];
                na += n != NULL ? n[d] * g[a][d] : 0;
                nb += n != NULL ? n[d] * g[b][d] : 0;
            }
            *stiffness++ = *volume * (h->o->diso * dot + h->o->dani * na * nb);
        }
    }
}

static unsigned char bits_of(const heart *h, cmg_size cell)
{
    double x[3];
    unsigned char bits = 0;
    mesh_centre(&h->mesh, cell, x);
    for (int s = 0; s < h->nstimuli; ++s) {
        const double *box = h->stimuli[s].box;
        bool inside = true;
        for (int d = 0; d < h->mesh.dim; ++d) {
            inside = inside && x[d] >= box[2 * d] && x[d] <= box[2 * d + 1];
        }
        bits = (unsigned char)(bits | (inside ? 1 << s : 0));
    }
    return bits;
}

/* The arrays of the cells, and the volumes of the nodes for the scale of residuals. */
static cmg_status keep_cells(heart *h)
{
    const cmg_size cells = h->mesh.cells;
    const int nv = h->corners;
    const int pairs = nv * (nv - 1) / 2;
    double *volume = room((size_t)cells * sizeof *volume);
    double *stiffness = room((size_t)(cells * pairs) * sizeof *stiffness);
    double *share = room((size_t)(cells * nv) * sizeof *share);
    unsigned char *bits = room((size_t)cells);
    for (cmg_size c = 0; c < cells; ++c) {
        keep_cell(h, c, volume + c, stiffness + c * pairs);
        bits[c] = bits_of(h, c);
        for (int a = 0; a < nv; ++a) {
            share[c * nv + a] = volume[c] / nv;
        }
    }
    cmg_status status = cmg_vector_set(h->volume, volume);
    status = status ? status : cmg_vector_set(h->stiffness, stiffness);
    status = status ? status : cmg_vector_set(h->residuals, share);
    status = status ? status : cmg_fem_sum_vector(h->sum, h->residuals, h->b);
    status = status ? status : cmg_vector_norm(h->b, &h->scale);
    status = status ? status : send(h, bits, (size_t)cells, &h->stimulated);
    status = status
                 ? status
                 : send(h, h->mesh.cell_nodes, (size_t)(cells * nv) * sizeof(cmg_index), &h->nodes);
    free(volume);
    free(stiffness);
    free(share);
    free(bits);
    return status;
}

static cmg_status make_vectors(heart *h)
{
    const cmg_size n = h->mesh.nodes;
    const cmg_size cells = h->mesh.cells;
    const int nv = h->corners;
    const struct {
        cmg_vector **v;
        cmg_size n;
    } all[] = {{&h->volume, cells},
               {&h->stiffness, cells * (nv * (nv - 1) / 2)},
               {&h->phi, n},
               {&h->phi_old[0], n},
               {&h->phi_old[1], n},
               {&h->phi_old[2], n},
               {&h->r, cells},
               {&h->r_old, cells},
               {&h->activation, n},
               {&h->matrix, cells * cmg_fem_sum_entries(h->sum)},
               {&h->residuals, cells * nv},
               {&h->diagonals, cells * nv},
               {&h->b, n},
               {&h->dphi, n},
               {&h->diagonal, n}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
        const cmg_status status = cmg_vector_create(h->ctx, all[k].n, CMG_FP64, all[k].v);
        if (status != CMG_OK) {
            return status;
        }
    }
    return cmg_vector_fill(h->activation, -1);
}

cmg_status send(heart *h, const void *data, size_t bytes, cmg_vector **there)
{
    const cmg_status status =
        cmg_vector_create(h->ctx, (cmg_size)((bytes + 7) / 8), CMG_FP64, there);
    const bool failed =
        status == CMG_OK && h->k->upload(h->stream, cmg_vector_data(*there), data, bytes) != 0;
    return failed ? CMG_ERR_DEVICE : status;
}

cmg_status mesh_setup(heart *h)
{
    cmg_status status = read_protocols(h);
    status = status ? status : cmg_fem_sum_create(h->ctx, &h->mesh, 1, true, NULL, &h->sum);
    status = status ? status : make_vectors(h);
    return status ? status : keep_cells(h);
}

void heart_free(heart *h)
{
    cmg_vector **all[] = {&h->nodes,      &h->stimulated, &h->volume,     &h->stiffness, &h->phi,
                          &h->phi_old[0], &h->phi_old[1], &h->phi_old[2], &h->r,         &h->r_old,
                          &h->activation, &h->matrix,     &h->residuals,  &h->diagonals, &h->b,
                          &h->dphi,       &h->diagonal};
    linear_destroy(h);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
        cmg_vector_destroy(all[k]);
    }
    cmg_fem_sum_destroy(&h->sum);
    for (int l = 0; l < MAX_LEVELS; ++l) {
        cmg_fem_csr_free(h->ctx, &h->P[l]);
    }
    mesh_free(h);
    free(h->fibre);
    cmg_context_destroy(&h->ctx);
}
