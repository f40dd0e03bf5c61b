/*
 * Energies of three random vectors, smoothed by damped Jacobi sweeps on the coarse matrix. On large
 * levels they vanish outside of balls of the matrix graph, and no other row is multiplied.
 *
 * On the device (energy_there.cu) each ball has vectors of its own, and basis functions are
 * compared row by row. Its bodies, compiled for the host, took 29 ms for 32^3 cells and 95 ms for
 * 64^3, where these lists and their wide vectors take 1.9 and 19 ms (bench_first, 2 threads): the
 * device has threads to compute A P x anew for each row, and P^T at hand.
 */
#include "transfer/energy.h"

#include "core/backend.h"
#include "core/inline.h"
#include "core/memory.h"
#include "transfer/galerkin.h"

#include <math.h>
#include <string.h>

/* The last place of a row of the vectors is of MARKS, the sum of basis functions so far apart that
 * A couples no two of them. */
enum { VECTORS = CMGI_ENERGY_VECTORS, MARKS = VECTORS, LANES = 4 };
enum { ROWS = 1 << 14, BALLS = 16, PARTS = 64 };
/* Rows multiplied before their sums are used; fewer than FEW are one thread's. */
enum { BATCH = 64, FEW = 4096 };

/*
 * Basis functions are rougher than the vectors: on good meshes their energies differ by a factor of
 * two at times, which counts as one.
 */
static const double SINGLE = 5;

typedef struct probe {
    cmg_context *ctx;
    cmg_csr A;
    cmg_csr P;
    cmg_csr C;
    const cmgi_csr *R; /* NULL = P^T */
    const cmgi_dirichlet *fine;
    const cmgi_dirichlet *coarse;
    cmg_index *list; /* coarse rows of the vectors */
    cmg_size count;
    cmg_index *at;   /* coarse rows: place in the vectors, which begin with a row of zeros */
    double *inverse; /* 1 / (2 c_ii), 0 in Dirichlet rows; of the rows of the list */
    double *x;       /* (count + 1) x LANES; row e of the list has place e + 1 */
    double *y;
    cmg_index *slot; /* fine rows: place in the vectors there, which begin with a row of zeros */
    cmg_index *row;  /* fine rows that are not zero, from place 1 on */
    cmg_size places;
    double *image;               /* by place, as x: A P x; without an R that of MARKS alone */
    const cmgi_row_looks *looks; /* at the rows of A, or NULL */
} probe;

/* to[c] = (row row[c] of M) x, c < count, places of x and `to` side by side; place[j] is the row of
 * x that column j reads, NULL: row j. */
CMGI_WIDE static void multiply_rows(const cmg_csr *M, const cmg_index *row, cmg_size count,
                                    const cmg_index *place, const double *x, double *to)
{
    for (cmg_size c = 0; c < count; ++c) {
        double sum[LANES] = {0};
        for (cmg_size k = M->indptr[row[c]]; k < M->indptr[row[c] + 1]; ++k) {
            const cmg_index j = M->indices[k];
            const double *read = x + (cmg_size)(place != NULL ? place[j] : j) * LANES;
            for (int v = 0; v < LANES; ++v) {
                sum[v] += M->values[k] * read[v];
            }
        }
        memcpy(to + c * LANES, sum, sizeof sum);
    }
}

/* A row that is not in the list yet joins it. */
static void join(probe *p, cmg_size i)
{
    if (p->at[i] == 0) {
        p->list[p->count++] = (cmg_index)i;
        p->at[i] = 1;
    }
}

/* Rows around `seed` in the graph of C, up to `most` more. */
static void grow_ball(probe *p, cmg_size seed, cmg_size most)
{
    const cmg_size end = p->count + most < p->C.rows ? p->count + most : p->C.rows;
    cmg_size next = p->count;
    for (cmg_size i = seed; i < p->C.rows && next == p->count; ++i) {
        join(p, i);
    }
    for (; next < p->count && p->count < end; ++next) {
        const cmg_size i = p->list[next];
        for (cmg_size k = p->C.indptr[i]; k < p->C.indptr[i + 1] && p->count < end; ++k) {
            join(p, p->C.indices[k]);
        }
    }
}

static void choose_rows(probe *p)
{
    const bool all = p->C.rows <= ROWS;
    for (int b = 0; !all && b < BALLS; ++b) {
        grow_ball(p, p->C.rows / BALLS * b, ROWS / BALLS);
    }
    p->count = 0;
    for (cmg_size i = 0; i < p->C.rows; ++i) { /* in order, as C is read */
        if (all || p->at[i] != 0) {
            p->list[p->count++] = (cmg_index)i;
            p->at[i] = (cmg_index)p->count;
        }
    }
}

/* Rows of the batch that begins at `first` of n. */
static cmg_size batch_of(cmg_size first, cmg_size n)
{
    return n - first < BATCH ? n - first : BATCH;
}

/* y = x - D^-1 C x / 2 on rows of the list from `first` on. */
static void sweep_batch(const probe *p, cmg_size first)
{
    const cmg_size count = batch_of(first, p->count);
    double sum[BATCH * LANES];
    multiply_rows(&p->C, p->list + first, count, p->at, p->x, sum);
    for (cmg_size c = 0; c < count; ++c) {
        const double inverse = p->inverse[first + c];
        const double *x = p->x + (first + c + 1) * LANES;
        double *y = p->y + (first + c + 1) * LANES;
        for (int v = 0; v < LANES; ++v) {
            y[v] = inverse == 0 ? 0 : x[v] - sum[c * LANES + v] * inverse;
        }
    }
}

/* Random values, zero at Dirichlet rows, and some sweeps x <- x - D^-1 C x / 2 on the rows. */
static void make_smooth(probe *p)
{
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->count > 1024)
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size i = p->list[e];
        const double diagonal = cmgi_csr_diagonal_at(&p->C, i);
        const bool fixed = p->coarse->row != NULL && p->coarse->row[i];
        p->inverse[e] = fixed || diagonal == 0 ? 0 : 0.5 / diagonal;
        for (int v = 0; v < VECTORS; ++v) {
            p->x[(e + 1) * LANES + v] = cmgi_energy_start(p->coarse->row, i, v);
        }
    }
    for (int sweep = 0; sweep < CMGI_ENERGY_SWEEPS; ++sweep) {
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->count > 1024)
        for (cmg_size e = 0; e < p->count; e += BATCH) {
            sweep_batch(p, e);
        }
        double *swapped = p->x;
        p->x = p->y;
        p->y = swapped;
    }
}

/* energy[v] += x_v . (M y_v) over the rows of the list; y has place[j] for column j of M. */
static void add_energies(const probe *p, const cmg_csr *M, const cmg_index *place, const double *y,
                         double energy[VECTORS])
{
    double sum[BATCH * LANES];
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size c = e % BATCH;
        if (c == 0) {
            multiply_rows(M, p->list + e, batch_of(e, p->count), place, y, sum);
        }
        const double *x = p->x + (e + 1) * LANES;
        for (int v = 0; v < VECTORS; ++v) {
            energy[v] += x[v] * sum[c * LANES + v];
        }
    }
}

/* The fine rows that P x or R^T x reach, without Dirichlet rows. */
static cmg_status number_fine(probe *p)
{
    cmg_context *ctx = p->ctx;
    const cmg_size n = p->P.rows;
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *p->slot, &p->slot));
    CMGI_TRY(cmgi_alloc(ctx, n + 1, sizeof *p->row, &p->row));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > FEW)
    for (cmg_size i = 0; i < n; ++i) {
        bool wanted = false; /* its row of P has a column that is looked at */
        for (cmg_size e = p->P.indptr[i]; e < p->P.indptr[i + 1] && !wanted; ++e) {
            wanted = p->at[p->P.indices[e]] != 0;
        }
        p->slot[i] = wanted && !(p->fine->row != NULL && p->fine->row[i]);
    }
    for (cmg_size e = 0; e < p->count && p->R != NULL; ++e) {
        for (cmg_size k = p->R->indptr[p->list[e]]; k < p->R->indptr[p->list[e] + 1]; ++k) {
            const cmg_size i = p->R->indices[k];
            p->slot[i] = p->fine->row == NULL || !p->fine->row[i];
        }
    }
    p->places = 1;
    for (cmg_size i = 0; i < n; ++i) {
        if (p->slot[i] != 0) {
            p->row[p->places] = (cmg_index)i;
            p->slot[i] = (cmg_index)p->places++;
        }
    }
    return CMG_OK;
}

/* to[j] += p_ij v_i, or p_ij^2 v_i, over the fine rows with their v in `image`. */
static void add_columns(const probe *p, bool squared, double *to)
{
    for (cmg_size c = 1; c < p->places; ++c) {
        const cmg_size i = p->row[c];
        for (cmg_size e = p->P.indptr[i]; p->image[c] != 0 && e < p->P.indptr[i + 1]; ++e) {
            const double value = p->P.values[e];
            to[p->P.indices[e]] += (squared ? value * value : value) * p->image[c];
        }
    }
}

/* Marks row j unless it is near another marked row, and tells what is up to two edges of C away. */
static void mark(const probe *p, bool *near, cmg_size j)
{
    if (near[j] || (p->coarse->row != NULL && p->coarse->row[j])) {
        return;
    }
    p->x[p->at[j] * LANES + MARKS] = 1;
    near[j] = true;
    for (cmg_size k = p->C.indptr[j]; k < p->C.indptr[j + 1]; ++k) {
        const cmg_index i = p->C.indices[k];
        for (cmg_size q = p->C.indptr[i]; q < p->C.indptr[i + 1]; ++q) {
            near[p->C.indices[q]] = true;
        }
    }
}

/* Marks rows of the list [first, last) with the largest and the least c_jj over its estimate. */
static void mark_extremes(const probe *p, const double *estimate, bool *near, cmg_size first,
                          cmg_size last)
{
    double ratio[2] = {0, HUGE_VAL};
    cmg_size row[2] = {-1, -1};
    for (cmg_size e = first; e < last; ++e) {
        const cmg_size j = p->list[e];
        const double c = estimate[j] > 0 && !near[j] ? cmgi_csr_diagonal_at(&p->C, j) : 0;
        if (c > estimate[j] * ratio[0]) {
            ratio[0] = c / estimate[j];
            row[0] = j;
        }
        if (c > 0 && c < estimate[j] * ratio[1]) {
            ratio[1] = c / estimate[j];
            row[1] = j;
        }
    }
    for (int k = 0; k < 2; ++k) {
        if (row[k] >= 0) {
            mark(p, near, row[k]);
        }
    }
}

/* Marks rows so far apart that A P of one does not reach another: those first that look worst, of
 * all rows and of parts of them, then whatever has room. */
static cmg_status mark_rows(const probe *p)
{
    CMGI_SCOPED_ZERO(p->ctx, p->C.rows, double, estimate);
    CMGI_SCOPED_ZERO(p->ctx, p->C.rows, bool, near);
    /* estimate[j] = sum of p_ij^2 a_ii over the fine rows: near (P^T A P)_jj, and cheap */
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->places > FEW)
    for (cmg_size c = 1; c < p->places; ++c) {
        p->image[c] = p->looks != NULL ? p->looks->diagonal[p->row[c]]
                                       : cmgi_csr_diagonal_at(&p->A, p->row[c]);
    }
    add_columns(p, true, estimate);
    mark_extremes(p, estimate, near, 0, p->count);
    for (cmg_size k = 0; k < PARTS; ++k) {
        mark_extremes(p, estimate, near, p->count * k / PARTS, p->count * (k + 1) / PARTS);
    }
    for (cmg_size e = 0; e < p->count; ++e) {
        mark(p, near, p->list[e]);
    }
    return CMG_OK;
}

/* The image in a batch of places, and without an R sum[v] = y_v . (A y_v) over them. */
static void batch_energies(const probe *p, cmg_size first, const double *y, double *sum)
{
    const cmg_size count = batch_of(first, p->places);
    double row[BATCH * LANES];
    double *to = p->R != NULL ? p->image + first * LANES : row;
    multiply_rows(&p->A, p->row + first, count, p->slot, y, to);
    for (cmg_size c = 0; p->R == NULL && c < count; ++c) {
        for (int v = 0; v < VECTORS; ++v) {
            sum[v] += y[(first + c) * LANES + v] * row[c * LANES + v];
        }
        p->image[first + c] = row[c * LANES + MARKS];
    }
}

static cmg_status fine_energies(const probe *p, double energy[VECTORS])
{
    cmg_context *ctx = p->ctx;
    const cmg_size batches = p->places / BATCH + 1;
    CMGI_SCOPED(ctx, p->places * LANES, double, y);
    CMGI_SCOPED_ZERO(ctx, batches * VECTORS, double, part);
    memset(y, 0, LANES * sizeof *y);
#pragma omp parallel num_threads(ctx->threads) if (p->places > FEW)
    {
#pragma omp for schedule(static)
        for (cmg_size c = 1; c < p->places; c += BATCH) {
            multiply_rows(&p->P, p->row + c, batch_of(c, p->places), p->at, p->x, y + c * LANES);
        }
#pragma omp for schedule(static)
        for (cmg_size c = 1; c < p->places; c += BATCH) {
            batch_energies(p, c, y, part + c / BATCH * VECTORS);
        }
    }
    if (p->R != NULL) {
        memset(p->image, 0, LANES * sizeof *y);
        add_energies(p, &p->R->view, p->slot, p->image, energy);
    }
    for (cmg_size c = 0; c < batches * VECTORS; ++c) {
        energy[c % VECTORS] += part[c];
    }
    return CMG_OK;
}

/*
 * The largest factor between c_jj and (P^T A P)_jj in the rows with a mark: the energies of single
 * basis functions, which a coefficient that the coarse mesh cuts through changes by its contrast.
 */
static cmg_status diagonal_misfit(const probe *p, double *factor)
{
    CMGI_SCOPED_ZERO(p->ctx, p->C.rows, double, diagonal);
    add_columns(p, false, diagonal);
    *factor = 1;
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size j = p->list[e];
        const bool marked = p->x[(e + 1) * LANES + MARKS] != 0;
        const double c = marked ? cmgi_csr_diagonal_at(&p->C, j) : 0;
        if (c > 0 && diagonal[j] > 0) {
            *factor = fmax(*factor, fmax(c / diagonal[j], diagonal[j] / c));
        }
    }
    return CMG_OK;
}

/* How far the two matrices are apart. */
static double worst_of(const cmgi_energies *e)
{
    double worst = fmax(1, e->single / SINGLE);
    for (int v = 0; v < VECTORS; ++v) {
        const double factor = e->coarse[v] > 0
                                  ? fmax(e->coarse[v] / e->fine[v], e->fine[v] / e->coarse[v])
                                  : HUGE_VAL;
        worst = e->fine[v] > 0 ? fmax(worst, factor) : worst;
    }
    return worst;
}

/* What is known of levels l and l + 1 where all matrices are on the device, and which of them is to
 * be transposed: a given R, or P. */
static bool find_there(const cmg_hierarchy *h, int l, cmgi_levels_there *to,
                       const cmgi_resident **turned)
{
    const cmgi_resident *A = cmgi_hierarchy_there(h, l, CMG_ROLE_A);
    const cmgi_resident *P = cmgi_hierarchy_there(h, l, CMG_ROLE_P);
    const cmgi_resident *R = cmgi_hierarchy_there(h, l, CMG_ROLE_R);
    const cmgi_resident *C = cmgi_hierarchy_there(h, l + 1, CMG_ROLE_A);
    if (A == NULL || P == NULL || (R == NULL && cmgi_hierarchy_has(h, l, CMG_ROLE_R)) ||
        C == NULL || C->csr.rows == 0 || C->facts.zero_diagonal >= 0) {
        return false;
    }
    *turned = R != NULL ? R : P;
    *to = (cmgi_levels_there){.A = A->csr,
                              .P = P->csr,
                              .R = (*turned)->csr,
                              .left = P->csr,
                              .C = C->csr,
                              .diagonal = C->diagonal,
                              .turned = R == NULL,
                              .longest_R = (*turned)->rows.longest,
                              .longest_C = C->rows.longest};
    return true;
}

cmg_status cmgi_energy_misfits_there(cmg_hierarchy *h, int first, cmgi_dirichlet *d,
                                     cmgi_meanwhile *meanwhile, double *factor)
{
    CMGI_CUDA_ONLY(look, cmgi_energies_cuda);
    cmgi_levels_there levels[CMGI_HIERARCHY_LEVELS];
    cmgi_energies e[CMGI_HIERARCHY_LEVELS];
    const cmgi_resident *from[CMGI_HIERARCHY_LEVELS];
    cmgi_csr of_R[CMGI_HIERARCHY_LEVELS] = {0};
    cmgi_csr *to[CMGI_HIERARCHY_LEVELS];
    int of[CMGI_HIERARCHY_LEVELS];
    cmg_status status = CMG_OK;
    int count = 0;
    for (int l = first; l < h->levels; ++l) {
        if (!h->level[l].formed && find_there(h, l - 1, &levels[count], &from[count])) {
            to[count] = levels[count].turned ? &h->level[l - 1].PT : &of_R[count];
            of[count++] = l;
        }
    }
    if (count == 0 || look == NULL) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_transposes_there(h->ctx, count, from, to));
    for (int k = 0; k < count; ++k) {
        const cmgi_resident *T = to[k]->there;
        CMGI_TRY_GOTO(done, cmgi_dirichlet_at(h->ctx, CMGI_DEVICE, &d[of[k] - 1], &d[of[k]]));
        levels[k].fine = d[of[k] - 1].there;
        levels[k].coarse = d[of[k]].there;
        *(levels[k].turned ? &levels[k].R : &levels[k].left) = T->csr;
        levels[k].longest_R = levels[k].turned ? T->rows.longest : levels[k].longest_R;
    }
    const cmgi_meanwhile other = *meanwhile;
    *meanwhile = (cmgi_meanwhile){0};
    CMGI_TRY_GOTO(done, look(h->ctx, levels, count, &other, e));
    for (int k = 0; k < count; ++k) {
        factor[of[k]] = worst_of(&e[k]);
    }
done:
    for (int k = 0; k < count; ++k) {
        cmgi_csr_free(h->ctx, &of_R[k]);
    }
    return status;
}

cmg_status cmgi_energy_misfit(const cmg_hierarchy *h, int l, cmgi_dirichlet *fine,
                              cmgi_dirichlet *coarse, double *factor)
{
    cmg_context *ctx = h->ctx;
    probe p = {.ctx = ctx, .fine = fine, .coarse = coarse};
    CMGI_FREED(ctx, &p.list, &p.at, &p.inverse, &p.x, &p.y, &p.slot, &p.row, &p.image);
    CMGI_TRY(cmgi_dirichlet_at(ctx, CMGI_HOST, fine, coarse));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &p.A));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &p.P));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l + 1, CMG_ROLE_A, NULL, 0, &p.C));
    p.R = cmgi_hierarchy_find(h, l, CMG_ROLE_R, NULL, 0);
    p.looks = cmgi_hierarchy_looks(h, l);
    const cmg_size n = p.C.rows;
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *p.list, &p.list));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *p.inverse, &p.inverse));
    CMGI_TRY(cmgi_alloc_zero(ctx, n, sizeof *p.at, &p.at));
    cmgi_energies e = {0};
    choose_rows(&p);
    CMGI_TRY(cmgi_alloc_zero(ctx, (p.count + 1) * LANES, sizeof *p.x, &p.x));
    CMGI_TRY(cmgi_alloc_zero(ctx, (p.count + 1) * LANES, sizeof *p.y, &p.y));
    make_smooth(&p);
    add_energies(&p, &p.C, p.at, p.x, e.coarse);
    CMGI_TRY(number_fine(&p));
    CMGI_TRY(cmgi_alloc(ctx, p.places * (p.R != NULL ? LANES : 1), sizeof *p.image, &p.image));
    if (p.R == NULL) {
        CMGI_TRY(mark_rows(&p));
    }
    CMGI_TRY(fine_energies(&p, e.fine));
    if (p.R == NULL) {
        CMGI_TRY(diagonal_misfit(&p, &e.single));
    }
    *factor = worst_of(&e);
    return CMG_OK;
}
