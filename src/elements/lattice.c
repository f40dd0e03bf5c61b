/* Lattices are found, and their template's blocks made; see lattice.h. */
#include "elements/lattice.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { CORNERS = 8 };

/* Corner of each node of an element, and the lattice's sizes, from an element that has all nodes.
 */
static bool look_at(const cmg_index *node, cmg_size all, int *corner, cmg_index *n)
{
    cmg_index sorted[CORNERS];
    for (int a = 0; a < CORNERS; ++a) { /* by rank */
        corner[a] = 0;
        for (int b = 0; b < CORNERS; ++b) {
            corner[a] += node[b] < node[a];
        }
        sorted[corner[a]] = node[a];
    }
    const cmg_index x = sorted[1] - sorted[0];
    const cmg_index y = sorted[2] - sorted[0];
    const cmg_index z = sorted[4] - sorted[0];
    for (int a = 0; a < CORNERS; ++a) {
        if (sorted[a] - sorted[0] != (a & 1) * x + (a >> 1 & 1) * y + (a >> 2) * z) {
            return false;
        }
    }
    if (x != 1 || y < 2 || z % y != 0 || all % z != 0) {
        return false;
    }
    n[0] = y;
    n[1] = z / y;
    n[2] = (cmg_index)(all / z);
    return true;
}

/* Cell of an element, from 0, by one of its nodes; false where its other nodes say otherwise. */
static bool find_cell(const cmg_index *node, const int *corner, const cmg_index *n, cmg_index *cell)
{
    bool found = false;
    for (int a = 0; a < CORNERS; ++a) {
        if (node[a] < 0) {
            continue;
        }
        const cmg_index mine[3] = {node[a] % n[0] + 1 - (corner[a] & 1),
                                   node[a] / n[0] % n[1] + 1 - (corner[a] >> 1 & 1),
                                   node[a] / n[0] / n[1] + 1 - (corner[a] >> 2)};
        if (found && memcmp(mine, cell, sizeof mine) != 0) {
            return false;
        }
        memcpy(cell, mine, sizeof mine);
        found = true;
    }
    return found;
}

/* Nodes that an element has. */
static int nodes_of(const cmg_index *node)
{
    int there = 0;
    for (int a = 0; a < CORNERS; ++a) {
        there += node[a] >= 0;
    }
    return there;
}

/* Every element in its cell; false where two are in one, or one in none. */
static bool fill(const cmg_elements *E, const cmg_index *node, const int *corner, cmgi_lattice *L)
{
    for (cmg_size e = 0; e < E->count; ++e) {
        const cmg_index *of = node + e * CORNERS;
        cmg_index cell[3] = {0};
        if (nodes_of(of) == 0) {
            continue; /* adds nothing */
        }
        bool whole = find_cell(of, corner, L->n, cell);
        for (int a = 0; a < CORNERS; ++a) { /* a node that it lacks is outside, or in no element */
            const cmg_index i = cell[0] - 1 + (corner[a] & 1);
            const cmg_index j = cell[1] - 1 + (corner[a] >> 1 & 1);
            const cmg_index k = cell[2] - 1 + (corner[a] >> 2);
            const bool inside =
                i >= 0 && j >= 0 && k >= 0 && i < L->n[0] && j < L->n[1] && k < L->n[2];
            whole = whole &&
                    (of[a] >= 0 || !inside || L->fixed[((cmg_size)k * L->n[1] + j) * L->n[0] + i]);
        }
        const cmg_size at = ((cmg_size)cell[2] * (L->n[1] + 1) + cell[1]) * (L->n[0] + 1) + cell[0];
        if (!whole || L->order[at] >= 0) {
            return false;
        }
        L->order[at] = (cmg_index)e;
    }
    return true;
}

static double sign(int p, int a)
{
    const int both = p & a;
    return ((both ^ both >> 1 ^ both >> 2) & 1) != 0 ? -1 : 1;
}

/* Blocks of M / 64; false where K has not the reflections. */
static bool take_blocks(const double *K, const int *corner, int block, double *blocks)
{
    enum { MOST = CORNERS * 3 };
    double M[MOST][MOST] = {{0}};
    const int n = CORNERS * block;
    double largest = 0;
    double outside = 0;
    for (int i = 0; i < n * n; ++i) {
        const int a = corner[i / n / block];
        const int b = corner[i % n / block];
        for (int pq = 0; pq < CORNERS * CORNERS; ++pq) {
            const int p = pq / CORNERS;
            const int q = pq % CORNERS;
            M[p * block + i / n % block][q * block + i % n % block] +=
                sign(p, a) * K[i] * sign(q, b) / 64;
        }
    }
    for (int i = 0; i < n * n; ++i) {
        const int c = i / n % block;
        const int d = i % n % block;
        const int turn = block == 3 ? 1 : 0;
        const int l = i / n / block ^ turn << c;
        const double entry = M[i / n][i % n];
        largest = fmax(largest, fabs(entry));
        if (l == (i % n / block ^ turn << d)) {
            blocks[(l * block + c) * block + d] = entry;
        } else {
            outside = fmax(outside, fabs(entry));
        }
    }
    return outside <= 1e-14 * largest;
}

/* The tile that covers a layer with the fewest blocks; the widest of them. */
static void choose_tile(cmgi_lattice *L, int block)
{
    cmg_size least = INT64_MAX;
    for (int x = 2; x <= CMGI_LATTICE_THREADS / 2; ++x) {
        const int y = CMGI_LATTICE_THREADS / x;
        const cmg_size blocks =
            ((L->n[0] + x - 2) / (x - 1)) * (cmg_size)((L->n[1] + y - 2) / (y - 1));
        const int values = block == 3 ? 4 : 2; /* of a layer, a thread */
        if (blocks <= least && (x + 1) * (y + 1) * block <= values * CMGI_LATTICE_THREADS) {
            least = blocks;
            L->tile[0] = x;
            L->tile[1] = y;
        }
    }
}

cmg_size cmgi_lattice_cells(const cmgi_lattice *L)
{
    return (L->n[0] + 1) * (cmg_size)(L->n[1] + 1) * (L->n[2] + 1);
}

cmg_size cmgi_lattice_blocks(const cmgi_lattice *L)
{
    cmg_size blocks = L->n[2];
    for (int d = 0; d < 2; ++d) {
        blocks *= (L->n[d] + L->tile[d] - 2) / (L->tile[d] - 1);
    }
    return blocks;
}

static cmg_status make(cmg_context *ctx, const cmg_elements *E, const cmg_index *node,
                       const int *corner, cmgi_lattice *L, bool *fits)
{
    const cmg_size all = (cmg_size)L->n[0] * L->n[1] * L->n[2];
    const cmg_size cells = cmgi_lattice_cells(L);
    cmg_size lone = all;
    CMGI_TRY(cmgi_alloc(ctx, cells, sizeof *L->order, &L->order));
    CMGI_TRY(cmgi_alloc(ctx, all, sizeof *L->fixed, &L->fixed));
    memset(L->order, 0xff, (size_t)cells * sizeof *L->order);
    memset(L->fixed, 1, (size_t)all);
    for (cmg_size q = 0; q < E->count * CORNERS; ++q) {
        if (node[q] >= 0) {
            lone -= L->fixed[node[q]];
            L->fixed[node[q]] = 0;
        }
    }
    *fits = fill(E, node, corner, L);
    if (lone == 0) {
        cmgi_free(ctx, cmgi_pass_on(&L->fixed));
    }
    return CMG_OK;
}

cmg_status cmgi_lattice_make(cmg_context *ctx, const cmg_elements *E, const cmg_index *node,
                             int block, cmgi_lattice **made)
{
    int corner[CORNERS];
    cmgi_lattice found = {.order = NULL};
    if (E->templates != 1 || E->local != CORNERS * block || block == 2) {
        return CMG_OK;
    }
    cmg_size e = 0; /* an element with all its nodes */
    while (e < E->count && nodes_of(node + e * CORNERS) < CORNERS) {
        ++e;
    }
    if (e == E->count || !look_at(node + e * CORNERS, E->rows / block, corner, found.n) ||
        cmgi_lattice_cells(&found) > INT32_MAX ||
        !take_blocks(E->matrices, corner, block, found.blocks)) {
        return CMG_OK;
    }
    bool fits = false;
    cmgi_lattice *L = NULL;
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof *L, &L));
    *L = found;
    choose_tile(L, block);
    const cmg_status status = make(ctx, E, node, corner, L, &fits);
    if (status == CMG_OK && fits) {
        *made = L;
    } else {
        cmgi_lattice_free(ctx, L);
    }
    return status;
}

void cmgi_lattice_free(cmg_context *ctx, cmgi_lattice *L)
{
    if (L != NULL) {
        cmgi_free_device(ctx, L->fixed);
        cmgi_free(ctx, L->order);
        cmgi_free(ctx, L);
    }
}
