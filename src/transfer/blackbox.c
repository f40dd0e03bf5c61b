/* Black box multigrid: the lattice of a matrix, and P between its points and every second one. */
#include "transfer/blackbox.h"

#include "core/each.h"
#include "core/random.h"

#include <math.h>

#include "transfer/blackbox.inc"

/* ------------------------------------------------------------------ rows on the host */

enum { SAMPLE = 512, SAMPLE_SMALL = 64, SMALL = 512, PLANE = 8 };

/* Some rows of a matrix: `many` of all, fewer of a small one, a neighbour of each, and of each
 * first plane one in PLANE of these. */
typedef struct sample {
    cmgi_csr rows;
    int many;
    cmg_index of[2 * SAMPLE + 3 * SAMPLE / PLANE];
} sample;

static cmg_index some_of(uint64_t *state, cmg_index n)
{
    const cmg_index i = (cmg_index)(cmgi_random(state) * n);
    return i < n ? i : n - 1;
}

/* A row on the plane of points whose coordinate in direction `plane` is 0; -1: any. Not at another
 * edge of the lattice, where it can be helped. */
static cmg_index some_row(const cmgi_points *p, uint64_t *state, int plane)
{
    cmg_index row = 0;
    for (int d = 0; d < 3; ++d) {
        const cmg_index inside = p->n[d] - 2;
        if (d != plane && p->n[d] > 1) {
            row += p->step[d] * (1 + some_of(state, inside));
        }
    }
    return row;
}

static cmg_status take_sample(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                              const cmgi_points *p, sample *s)
{
    uint64_t state = 77;
    cmg_size count = 0;
    s->many = A->rows < SMALL ? SAMPLE_SMALL : SAMPLE;
    for (int k = 0; k < s->many; ++k) {
        const int d = (int)some_of(&state, p->dim);
        const cmg_index row = some_row(p, &state, -1);
        s->of[count++] = row;
        s->of[count++] = row + p->step[d];
    }
    for (int d = 0; d < p->dim; ++d) {
        for (int k = 0; k < s->many / PLANE; ++k) {
            s->of[count++] = some_row(p, &state, d);
        }
    }
    return cmgi_rows_on_host(ctx, A, there, s->of, count, &s->rows);
}

/* A row of the sample as a difference of -div(K grad). */
typedef struct look {
    double K[3][3];    /* -1/2 sum of a e_d e_e over the neighbours e */
    double side[3][2]; /* -sum of a over those on one side */
    double sum;
    double diagonal;
    bool full; /* couples corners of the cells around its point in space, where jumps are no harm */
} look;

static look look_at(const sample *s, int row, const cmgi_points *p)
{
    const double diagonal = cmgi_csr_entry(&s->rows.view, row, s->of[row]);
    const double sign = diagonal < 0 ? -1 : 1;
    look l = {.diagonal = fabs(diagonal)};
    for (cmg_size k = s->rows.indptr[row]; k < s->rows.indptr[row + 1]; ++k) {
        const double value = sign * s->rows.values[k];
        int e[3];
        (void)cmgi_points_steps(p, s->rows.indices[k] - s->of[row], e);
        l.sum += value;
        l.full = l.full || (value != 0 && e[0] != 0 && e[1] != 0 && e[2] != 0);
        for (int d = 0; d < 9; ++d) {
            l.K[d / 3][d % 3] -= value * e[d / 3] * e[d % 3] / 2;
        }
        for (int d = 0; d < 3; ++d) {
            l.side[d][e[d] > 0] -= e[d] != 0 ? value : 0;
        }
    }
    return l;
}

/* ------------------------------------------------------------------ directions */

/* Directions that couple less than this share of the strongest are not halved, in the plane and in
 * space. */
static const double WEAK[] = {0.25, 0.35};
/* Of the sizes of pairs a_ij and a_ji, differences, up to which aggregates take more iterations.
 * One of two that is zero is a column that an identity row kept, which R A P would spread. */
static const double SKEW = 0.3;
/* A row is uneven where a halved direction couples less than UNEVEN of the strongest, |K_de| is
 * more than ROTATED of sqrt(K_dd K_ee), or one side of a direction couples JUMP times as much as
 * the other. */
static const double UNEVEN = 0.1;
static const double ROTATED = 0.7;
static const double JUMP = 20;
/* The largest share of uneven rows: where large coefficients lie apart from each other, each needs
 * a coarse point of its own on every level. */
static const double MOST_UNEVEN = 0.08;

typedef struct directions {
    bool halved[3];
    cmg_index first[3];
    double uneven; /* share of rows that couple otherwise than most */
    bool skew;     /* flow rules too much */
} directions;

static bool is_uneven(const directions *to, const look *row)
{
    const double most = fmax(row->K[0][0], fmax(row->K[1][1], row->K[2][2]));
    bool uneven = false;
    for (int d = 0; d < 3; ++d) {
        const double low = fmin(row->side[d][0], row->side[d][1]);
        const double high = fmax(row->side[d][0], row->side[d][1]);
        uneven = uneven || (to->halved[d] &&
                            (row->K[d][d] < UNEVEN * most || (!row->full && high > JUMP * low)));
        for (int e = 0; e < d; ++e) {
            const double bound = ROTATED * ROTATED * row->K[d][d] * row->K[e][e];
            uneven = uneven || row->K[d][e] * row->K[d][e] > bound + 1e-6 * most * most;
        }
    }
    return uneven;
}

static void choose_directions(const sample *s, const cmgi_points *p, directions *to)
{
    double share[3] = {0};
    const int plane = s->many / PLANE;
    double most = 0;
    double skew = 0;
    double size = 0;
    int coupled = 0;
    *to = (directions){0};
    for (int k = 0; k < s->many; ++k) {
        const double there = cmgi_csr_entry(&s->rows.view, 2 * k, s->of[2 * k + 1]);
        const double back = cmgi_csr_entry(&s->rows.view, 2 * k + 1, s->of[2 * k]);
        const look l = look_at(s, 2 * k, p);
        const double all = l.K[0][0] + l.K[1][1] + l.K[2][2];
        skew += (there == 0) != (back == 0) ? INFINITY : fabs(there - back);
        size += fabs(there) + fabs(back);
        for (int d = 0; d < 3 && all > 0; ++d) {
            share[d] += l.K[d][d] / all;
        }
    }
    to->skew = skew > SKEW * size;
    for (int d = 0; d < p->dim; ++d) {
        int held = 0; /* rows of the first plane that stand beside points that were eliminated */
        for (int k = 0; k < plane; ++k) {
            const look l = look_at(s, 2 * s->many + d * plane + k, p);
            held += l.K[d][d] > 0 && l.sum > 0.2 * l.K[d][d]; /* 2 where the neighbour is missing */
        }
        to->first[d] = 2 * held > plane; /* then every second point from 1 on */
        to->halved[d] = cmgi_points_half(p->n[d], to->first[d]) >= CMGI_LEAST_POINTS;
        most = to->halved[d] && share[d] > most ? share[d] : most;
    }
    for (int d = 0; d < p->dim; ++d) {
        to->halved[d] = to->halved[d] && share[d] > WEAK[p->dim > 2] * most;
        to->first[d] = to->halved[d] ? to->first[d] : 0;
    }
    for (int k = 0; k < s->many; ++k) {
        const look l = look_at(s, 2 * k, p);
        if (l.K[0][0] != 0 || l.K[1][1] != 0 || l.K[2][2] != 0) {
            ++coupled;
            to->uneven += is_uneven(to, &l);
        }
    }
    to->uneven = coupled > 0 ? to->uneven / coupled : 1;
}

static cmg_status look_at_directions(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                                     const cmgi_points *p, directions *to)
{
    CMGI_SCOPED_ZERO(ctx, 1, sample, s);
    CMGI_RELEASED(cmgi_csr_free, ctx, &s->rows);
    CMGI_TRY(take_sample(ctx, A, there, p, s));
    choose_directions(s, p, to);
    return CMG_OK;
}

cmg_status cmgi_points_suit(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                            const cmgi_points *points, bool *suit)
{
    directions to;
    CMGI_TRY(look_at_directions(ctx, A, there, points, &to));
    *suit = !to.skew && to.uneven <= MOST_UNEVEN;
    return CMG_OK;
}

/* ------------------------------------------------------------------ lattice */

enum { MOST_OFFSETS = 16 };

/* Offsets to columns on the right of some rows, ascending, each once; more than there can be: 0. */
static int offsets_of(const cmgi_csr *rows, const cmg_index *row, cmg_index *offset)
{
    int count = 0;
    for (cmg_size r = 0; r < rows->rows; ++r) {
        for (cmg_size k = rows->indptr[r]; k < rows->indptr[r + 1]; ++k) {
            const cmg_index o = rows->indices[k] - row[r];
            int at = count;
            if (o <= 0 || rows->values[k] == 0) {
                continue;
            }
            while (at > 0 && offset[at - 1] > o) {
                --at;
            }
            if (at > 0 && offset[at - 1] == o) {
                continue;
            }
            if (count == MOST_OFFSETS) {
                return 0;
            }
            for (int m = count++; m > at; --m) {
                offset[m] = offset[m - 1];
            }
            offset[at] = o;
        }
    }
    return count;
}

/* Whether they are neighbours on lines of n points, and on planes of m lines where m > 0. */
static bool explains(cmg_size rows, cmg_size n, cmg_size plane, const cmg_index *offset, int count,
                     cmgi_points *p)
{
    const cmg_size in_plane = plane > 0 ? plane : rows;
    bool all = n >= CMGI_LEAST_POINTS && in_plane % n == 0 && rows % in_plane == 0 &&
               in_plane / n >= CMGI_LEAST_POINTS &&
               (plane == 0 || rows / plane >= CMGI_LEAST_POINTS);
    *p = (cmgi_points){plane > 0 ? 3 : 2,
                       {(cmg_index)n, (cmg_index)(in_plane / n), (cmg_index)(rows / in_plane)},
                       {1, (cmg_index)n, (cmg_index)in_plane}};
    for (int k = 0; k < count && all; ++k) {
        int e[3];
        all = cmgi_points_steps(p, offset[k], e);
    }
    p->dim = all ? p->dim : 0;
    return all;
}

/*
 * The first offset after 1 is a line or one less, the first one past a line and its neighbours is a
 * plane, or one step less in one or both of its directions.
 */
static void match(cmg_size rows, const cmg_index *offset, int count, cmgi_points *p)
{
    const int second = count > 0 && offset[0] == 1 ? 1 : 0; /* Q1 of cubes couples at edges alone */
    for (cmg_size less = 0; less < 2 && second < count; ++less) {
        const cmg_size n = offset[second] + less;
        int next = second;
        while (next < count && offset[next] <= n + 1) {
            ++next;
        }
        if (next == count && explains(rows, n, 0, offset, count, p)) {
            return;
        }
        for (int k = 0; k < 4 && next < count; ++k) {
            const cmg_size plane = offset[next] + k % 2 + k / 2 * n;
            if (explains(rows, n, plane, offset, count, p)) {
                return;
            }
        }
    }
}

cmg_status cmgi_points_find(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                            cmgi_points *points)
{
    enum { ROWS = 64 };
    uint64_t state = 5;
    cmgi_scoped_csr some = {0};
    cmg_index row[ROWS];
    cmg_index offset[MOST_OFFSETS];
    *points = (cmgi_points){0};
    if (A->rows < CMGI_LEAST_POINTS * CMGI_LEAST_POINTS || A->rows != A->cols) {
        return CMG_OK;
    }
    for (int k = 0; k < ROWS; ++k) {
        row[k] = some_of(&state, (cmg_index)A->rows);
    }
    CMGI_TRY(cmgi_rows_on_host(ctx, A, there, row, ROWS, &some));
    match(A->rows, offset, offsets_of(&some, row, offset), points);
    return CMG_OK;
}

cmg_status cmgi_points_confirm(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                               cmgi_points *points)
{
    const checking c = {*A, *points};
    cmg_size outside = 0;
    CMGI_TRY(leaves_lattice(ctx, at, A->rows, &c, &outside));
    points->dim = outside == 0 ? points->dim : 0;
    return CMG_OK;
}

/* ------------------------------------------------------------------ P */

cmg_status cmgi_rows_are_cut(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                             const cmgi_resident *there, const cmgi_points *p,
                             const bool mirrors[3], bool *cut)
{
    static const int digit[3] = {1, 3, 9};
    const cmg_index middle =
        p->n[0] / 2 + p->n[1] / 2 * p->step[1] + (p->dim > 2 ? p->n[2] / 2 * p->step[2] : 0);
    inner_row inner = {.A = *A, .points = *p};
    cmg_size others = 0;
    cmgi_scoped_csr row = {0};
    CMGI_TRY(cmgi_rows_on_host(ctx, A, there, &middle, 1, &row));
    for (cmg_size k = 0; k < row.indptr[1]; ++k) {
        int e[3];
        (void)cmgi_points_steps(p, row.indices[k] - middle, e);
        inner.value[neighbour(e)] = row.values[k];
        inner.there[neighbour(e)] = true;
    }
    inner.rounding = 1e-13 * fabs(inner.value[13]);
    *cut = true;
    for (int m = 0; m < MOST_NEIGHBOURS; ++m) {
        for (int d = 0; d < 3; ++d) {
            const double mirrored = inner.value[m + (2 - 2 * (m / digit[d] % 3)) * digit[d]];
            *cut = *cut && (mirrors == NULL || !mirrors[d] ||
                            fabs(inner.value[m] - mirrored) <= inner.rounding);
        }
    }
    CMGI_TRY(*cut ? is_not_cut(ctx, at, A->rows, &inner, &others) : CMG_OK);
    *cut = *cut && others == 0;
    return CMG_OK;
}

static cmg_status form(cmg_context *ctx, cmgi_place at, interpolation *a, cmgi_csr *P)
{
    /* points between coarse ones in the directions that are bits of `which`, in an order in which
     * those between in fewer directions come before */
    cmg_size nnz = 0;
    P->rows = a->A.rows;
    P->cols = cmgi_points_rows(&a->by.coarse);
    CMGI_TRY(cmgi_alloc_at(ctx, at, P->rows + 1, sizeof *P->indptr, &P->indptr));
    a->indptr = P->indptr;
    CMGI_TRY(count_corners(ctx, at, P->rows, a));
    CMGI_TRY(cmgi_csr_open_at(ctx, at, P, &nnz));
    a->indices = P->indices;
    a->values = P->values;
    for (int which = 0; which < 8; ++which) {
        cmg_size rows = 1;
        for (int d = 0; d < 3; ++d) {
            const cmg_index n = a->by.fine.n[d];
            const cmg_index first = a->by.first[d];
            a->between[d] = which >> d & 1;
            a->begin[d] = !a->by.halved[d] ? 0 : a->between[d] ? 1 - first : first;
            a->many[d] = a->by.halved[d] ? (n + 1 - a->begin[d]) / 2 : n;
            rows *= a->between[d] && !a->by.halved[d] ? 0 : a->many[d];
        }
        CMGI_TRY(rows > 0 ? interpolate(ctx, at, rows, a) : CMG_OK);
    }
    return CMG_OK;
}

cmg_status cmgi_blackbox(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                         const cmgi_resident *there, const cmgi_points *points, cmgi_csr *P,
                         cmgi_halving *halving)
{
    cmgi_csr made = {0};
    directions to;
    CMGI_FREED(ctx, CMGI_ARRAYS(made));
    CMGI_TRY(look_at_directions(ctx, A, there, points, &to));
    if (!to.halved[0] && !to.halved[1] && !to.halved[2]) {
        return CMG_OK;
    }
    interpolation a = {.A = *A, .by = cmgi_points_halve(points, to.halved, to.first)};
    /* P is linear inside then, by what A says, and is to be so at edges of the lattice, too: the
     * coarse matrix is of that kind again, and on all levels of an odd number of points */
    CMGI_TRY(cmgi_rows_are_cut(ctx, at, A, there, points, to.halved, &a.by.linear));
    CMGI_TRY(form(ctx, at, &a, &made));
    CMGI_TRY(cmgi_csr_settle_at(ctx, at, &made, P));
    *halving = a.by;
    return CMG_OK;
}
