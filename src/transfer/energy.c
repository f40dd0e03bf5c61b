/*
 * Energies of three random vectors, smoothed by damped Jacobi sweeps on the coarse matrix. On large
 * levels they vanish outside of balls of the matrix graph, and no other row is multiplied.
 */
#include "transfer/energy.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/random.h"
#include "transfer/energy_rows.h"
#include "transfer/galerkin.h"

#include <math.h>
#include <string.h>

/* The last place of a row of the vectors is of MARKS, the sum of basis functions so far apart that
 * A couples no two of them. */
enum { VECTORS = 3, MARKS = 3, LANES = CMGI_ENERGY_LANES, SWEEPS = 8 };
enum { ROWS = 1 << 14, BALLS = 16, PARTS = 64 };
enum { BATCH = 64 }; /* rows multiplied before their sums are used */
/* Places that a thread takes at once, and that sums are made of. */
enum { CHUNK = 4096 };

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
    cmgi_energy_rows_fn rows;
    cmg_index *list; /* coarse rows of the vectors */
    cmg_size count;
    bool *inside;    /* of all coarse rows */
    cmg_index *at;   /* coarse rows: place in the vectors, which begin with a row of zeros */
    double *inverse; /* 1 / (2 c_ii), 0 in Dirichlet rows; of the rows of the list */
    double *x;       /* (count + 1) x LANES; row e of the list has place e + 1 */
    double *y;
    cmg_index *slot; /* fine rows: place in the vectors there, which begin with a row of zeros */
    cmg_index *row;  /* fine rows that are not zero, from place 1 on */
    cmg_size places;
    double *image;               /* by place: A P of MARKS */
    const cmgi_row_looks *looks; /* at the rows of A, or NULL */
} probe;

/* Rows around `seed` in the graph of C, up to `most` more. */
static void grow_ball(probe *p, cmg_size seed, cmg_size most)
{
    const cmg_size end = p->count + most < p->C.rows ? p->count + most : p->C.rows;
    cmg_size next = p->count;
    for (cmg_size i = seed; i < p->C.rows && next == p->count; ++i) {
        if (!p->inside[i]) {
            p->inside[i] = true;
            p->list[p->count++] = (cmg_index)i;
        }
    }
    for (; next < p->count && p->count < end; ++next) {
        const cmg_size i = p->list[next];
        for (cmg_size k = p->C.indptr[i]; k < p->C.indptr[i + 1] && p->count < end; ++k) {
            const cmg_index j = p->C.indices[k];
            if (!p->inside[j]) {
                p->inside[j] = true;
                p->list[p->count++] = j;
            }
        }
    }
}

static void choose_rows(probe *p)
{
    if (p->C.rows > ROWS) {
        for (int b = 0; b < BALLS; ++b) {
            grow_ball(p, p->C.rows / BALLS * b, ROWS / BALLS);
        }
    } else {
        memset(p->inside, true, (size_t)p->C.rows);
    }
    p->count = 0;
    for (cmg_size i = 0; i < p->C.rows; ++i) { /* in order, as C is read */
        p->list[p->count] = (cmg_index)i;
        p->count += p->inside[i];
        p->at[i] = p->inside[i] ? (cmg_index)p->count : 0;
    }
}

/* y = x - D^-1 C x / 2 on rows of the list from `first` on. */
static void sweep_batch(const probe *p, cmg_size first)
{
    const cmg_size count = first + BATCH < p->count ? BATCH : p->count - first;
    double sum[BATCH * LANES];
    p->rows(&p->C, p->list + first, count, p->at, p->x, sum);
    for (cmg_size c = 0; c < count; ++c) {
        const double inverse = p->inverse[first + c];
        const double *x = p->x + (first + c + 1) * LANES;
        double *y = p->y + (first + c + 1) * LANES;
        for (int v = 0; v < LANES; ++v) {
            y[v] = inverse == 0 ? 0 : x[v] - sum[c * LANES + v] * inverse;
        }
    }
}

/* Random values, zero at Dirichlet rows, and SWEEPS times x <- x - D^-1 C x / 2 on the rows. */
static void make_smooth(probe *p)
{
    uint64_t seed = 11;
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size i = p->list[e];
        const bool fixed = p->coarse->row != NULL && p->coarse->row[i];
        for (int v = 0; v < VECTORS; ++v) {
            const double value = 2 * cmgi_random(&seed) - 1;
            p->x[(e + 1) * LANES + v] = fixed ? 0 : value;
        }
    }
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->count > 1024)
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size i = p->list[e];
        const double diagonal = cmgi_csr_diagonal_at(&p->C, i);
        const bool fixed = p->coarse->row != NULL && p->coarse->row[i];
        p->inverse[e] = fixed || diagonal == 0 ? 0 : 0.5 / diagonal;
    }
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->count > 1024)
        for (cmg_size e = 0; e < p->count; e += BATCH) {
            sweep_batch(p, e);
        }
        double *swapped = p->x;
        p->x = p->y;
        p->y = swapped;
    }
}

static void coarse_energies(const probe *p, double energy[VECTORS])
{
    double sum[BATCH * LANES];
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size c = e % BATCH;
        const cmg_size left = p->count - e;
        if (c == 0) {
            p->rows(&p->C, p->list + e, left < BATCH ? left : BATCH, p->at, p->x, sum);
        }
        const double *x = p->x + (e + 1) * LANES;
        for (int v = 0; v < VECTORS; ++v) {
            energy[v] += x[v] * sum[c * LANES + v];
        }
    }
}

/* Row i of P is no Dirichlet row and has a column that is looked at. */
static bool wants_row(const probe *p, cmg_size i)
{
    bool wanted = false;
    for (cmg_size e = p->P.indptr[i]; e < p->P.indptr[i + 1] && !wanted; ++e) {
        wanted = p->inside[p->P.indices[e]];
    }
    return wanted && !(p->fine->row != NULL && p->fine->row[i]);
}

/* The fine rows that P x or R^T x reach, without Dirichlet rows. */
static cmg_status number_fine(probe *p)
{
    cmg_context *ctx = p->ctx;
    const cmg_size n = p->P.rows;
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *p->slot, &p->slot));
    CMGI_TRY(cmgi_alloc(ctx, n + 1, sizeof *p->row, &p->row));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > CHUNK)
    for (cmg_size i = 0; i < n; ++i) {
        p->slot[i] = wants_row(p, i);
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

/* estimate[j] = sum of p_ij^2 a_ii over the fine rows: near (P^T A P)_jj, and cheap. */
static void estimate_diagonal(const probe *p, double *estimate)
{
#pragma omp parallel for num_threads(p->ctx->threads) schedule(static) if (p->places > CHUNK)
    for (cmg_size c = 1; c < p->places; ++c) {
        p->image[c] = p->looks != NULL ? p->looks->diagonal[p->row[c]]
                                       : cmgi_csr_diagonal_at(&p->A, p->row[c]);
    }
    for (cmg_size c = 1; c < p->places; ++c) {
        for (cmg_size e = p->P.indptr[p->row[c]]; e < p->P.indptr[p->row[c] + 1]; ++e) {
            const double value = p->P.values[e];
            estimate[p->P.indices[e]] += value * value * p->image[c];
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
    double *estimate = NULL;
    bool *near = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(p->ctx, p->C.rows, sizeof *estimate, &estimate));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(p->ctx, p->C.rows, sizeof *near, &near));
    estimate_diagonal(p, estimate);
    mark_extremes(p, estimate, near, 0, p->count);
    for (cmg_size k = 0; k < PARTS; ++k) {
        mark_extremes(p, estimate, near, p->count * k / PARTS, p->count * (k + 1) / PARTS);
    }
    for (cmg_size e = 0; e < p->count; ++e) {
        mark(p, near, p->list[e]);
    }
done:
    CMGI_FREE(p->ctx, estimate, near);
    return status;
}

/* w = R^T x */
static void restrict_back(const probe *p, double *w)
{
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size j = p->list[e];
        for (cmg_size k = p->R->indptr[j]; k < p->R->indptr[j + 1]; ++k) {
            double *to = w + (cmg_size)p->slot[p->R->indices[k]] * LANES;
            for (int v = 0; v < VECTORS; ++v) {
                to[v] += p->R->values[k] * p->x[(e + 1) * LANES + v];
            }
        }
    }
    memset(w, 0, LANES * sizeof *w);
}

/* sum[v] = left_v . (A y_v) over the places of a chunk, and the image of the marks there */
static void chunk_energies(const probe *p, cmg_size chunk, const double *left, const double *y,
                           double *sum)
{
    const cmg_size first = chunk > 0 ? chunk * CHUNK : 1;
    const cmg_size last = (chunk + 1) * CHUNK < p->places ? (chunk + 1) * CHUNK : p->places;
    double row[BATCH * LANES];
    for (cmg_size from = first; from < last; from += BATCH) {
        const cmg_size count = last - from < BATCH ? last - from : BATCH;
        p->rows(&p->A, p->row + from, count, p->slot, y, row);
        for (cmg_size c = 0; c < count; ++c) {
            for (int v = 0; v < VECTORS; ++v) {
                sum[v] += left[(from + c) * LANES + v] * row[c * LANES + v];
            }
            p->image[from + c] = row[c * LANES + MARKS];
        }
    }
}

static cmg_status fine_energies(const probe *p, double energy[VECTORS])
{
    cmg_context *ctx = p->ctx;
    double *y = NULL;
    double *w = NULL;
    double *part = NULL;
    const cmg_size chunks = (p->places + CHUNK - 1) / CHUNK;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, p->places * LANES, sizeof *y, &y));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, chunks * VECTORS, sizeof *part, &part));
    memset(y, 0, LANES * sizeof *y);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size k = 0; k < chunks; ++k) {
        const cmg_size c = k > 0 ? k * CHUNK : 1;
        const cmg_size last = (k + 1) * CHUNK < p->places ? (k + 1) * CHUNK : p->places;
        p->rows(&p->P, p->row + c, last - c, p->at, p->x, y + c * LANES);
    }
    if (p->R != NULL) {
        CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, p->places * LANES, sizeof *w, &w));
        restrict_back(p, w);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size c = 0; c < chunks; ++c) {
        chunk_energies(p, c, w != NULL ? w : y, y, part + c * VECTORS);
    }
    for (cmg_size c = 0; c < chunks * VECTORS; ++c) {
        energy[c % VECTORS] += part[c];
    }
done:
    CMGI_FREE(ctx, y, w, part);
    return status;
}

/*
 * The largest factor between c_jj and (P^T A P)_jj in the rows with a mark: the energies of single
 * basis functions, which a coefficient that the coarse mesh cuts through changes by its contrast.
 */
static cmg_status diagonal_misfit(const probe *p, double *factor)
{
    double *diagonal = NULL;
    CMGI_TRY(cmgi_alloc_zero(p->ctx, p->C.rows, sizeof *diagonal, &diagonal));
    for (cmg_size c = 1; c < p->places; ++c) {
        const cmg_size i = p->row[c];
        for (cmg_size e = p->P.indptr[i]; p->image[c] != 0 && e < p->P.indptr[i + 1]; ++e) {
            diagonal[p->P.indices[e]] += p->P.values[e] * p->image[c];
        }
    }
    *factor = 1;
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size j = p->list[e];
        const bool marked = p->x[(e + 1) * LANES + MARKS] != 0;
        const double c = marked ? cmgi_csr_diagonal_at(&p->C, j) : 0;
        if (c > 0 && diagonal[j] > 0) {
            *factor = fmax(*factor, fmax(c / diagonal[j], diagonal[j] / c));
        }
    }
    cmgi_free(p->ctx, diagonal);
    return CMG_OK;
}

static double misfit(double coarse, double fine)
{
    if (!(fine > 0)) {
        return 1;
    }
    return coarse > 0 ? fmax(coarse / fine, fine / coarse) : HUGE_VAL;
}

/* The matrices of levels l and l + 1, where all are on the device. */
static bool find_there(const cmg_hierarchy *h, int l, cmgi_levels_there *there)
{
    const bool has_r = cmgi_hierarchy_has(h, l, CMG_ROLE_R);
    *there = (cmgi_levels_there){.A = cmgi_hierarchy_there(h, l, CMG_ROLE_A),
                                 .P = cmgi_hierarchy_there(h, l, CMG_ROLE_P),
                                 .R = cmgi_hierarchy_there(h, l, CMG_ROLE_R),
                                 .C = cmgi_hierarchy_there(h, l + 1, CMG_ROLE_A)};
    return there->A != NULL && there->P != NULL && there->C != NULL &&
           (there->R != NULL || !has_r) && there->C->csr.rows > 0 &&
           there->C->facts.zero_diagonal < 0;
}

/* P^T, which is kept for the cycle's R, or in its place the transpose of a given R. */
static cmg_status turn(cmg_context *ctx, int count, cmgi_csr *const *PT, cmgi_csr *RT,
                       cmgi_levels_there *l)
{
    const cmgi_resident *from[CMGI_HIERARCHY_LEVELS];
    cmgi_csr *to[CMGI_HIERARCHY_LEVELS];
    for (int k = 0; k < count; ++k) {
        from[k] = l[k].R != NULL ? l[k].R : l[k].P;
        to[k] = l[k].R != NULL ? &RT[k] : PT[k];
    }
    CMGI_TRY(cmgi_transposes_there(ctx, count, from, to));
    for (int k = 0; k < count; ++k) {
        l[k].turned = to[k]->there;
    }
    return CMG_OK;
}

cmg_status cmgi_energy_misfits_there(cmg_hierarchy *h, int first, cmgi_dirichlet *d,
                                     cmgi_meanwhile *meanwhile, double *factor)
{
    static cmg_status (*const look)(cmg_context *, const cmgi_levels_there *, int,
                                    const cmgi_meanwhile *, cmgi_energies *) =
        CMGI_CUDA_FN(cmgi_energies_cuda);
    cmgi_levels_there levels[CMGI_HIERARCHY_LEVELS];
    cmgi_energies e[CMGI_HIERARCHY_LEVELS];
    int of[CMGI_HIERARCHY_LEVELS];
    cmgi_csr turned[CMGI_HIERARCHY_LEVELS] = {0};
    cmgi_csr *PT[CMGI_HIERARCHY_LEVELS];
    cmg_status status = CMG_OK;
    int count = 0;
    for (int l = first; l < h->levels; ++l) {
        of[count] = l;
        count += !h->level[l].formed && find_there(h, l - 1, &levels[count]);
    }
    if (count == 0 || look == NULL) {
        return CMG_OK;
    }
    for (int k = 0; k < count; ++k) {
        PT[k] = &h->level[of[k] - 1].PT;
    }
    CMGI_TRY_GOTO(done, turn(h->ctx, count, PT, turned, levels));
    for (int k = 0; k < count; ++k) {
        CMGI_TRY_GOTO(done, cmgi_dirichlet_send(h->ctx, &d[of[k] - 1]));
        CMGI_TRY_GOTO(done, cmgi_dirichlet_send(h->ctx, &d[of[k]]));
        levels[k].fine = d[of[k] - 1].there;
        levels[k].coarse = d[of[k]].there;
    }
    const cmgi_meanwhile other = *meanwhile;
    *meanwhile = (cmgi_meanwhile){0};
    CMGI_TRY_GOTO(done, look(h->ctx, levels, count, &other, e));
    for (int k = 0; k < count; ++k) {
        double *worst = &factor[of[k]];
        *worst = fmax(1, e[k].single / SINGLE);
        for (int v = 0; v < VECTORS; ++v) {
            *worst = fmax(*worst, misfit(e[k].coarse[v], e[k].fine[v]));
        }
    }
done:
    for (int k = 0; k < count; ++k) {
        cmgi_csr_free(h->ctx, &turned[k]);
    }
    return status;
}

cmg_status cmgi_energy_misfit(const cmg_hierarchy *h, int l, cmgi_dirichlet *fine,
                              cmgi_dirichlet *coarse, double *factor)
{
    cmg_context *ctx = h->ctx;
    probe p = {.ctx = ctx, .fine = fine, .coarse = coarse, .rows = cmgi_energy_rows_best()};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_dirichlet_bring(ctx, fine));
    CMGI_TRY(cmgi_dirichlet_bring(ctx, coarse));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &p.A));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &p.P));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l + 1, CMG_ROLE_A, NULL, 0, &p.C));
    p.R = cmgi_hierarchy_find(h, l, CMG_ROLE_R, NULL, 0);
    p.looks = cmgi_hierarchy_looks(h, l);
    const cmg_size n = p.C.rows;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *p.list, &p.list));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n, sizeof *p.inside, &p.inside));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *p.inverse, &p.inverse));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *p.at, &p.at));
    double here[VECTORS] = {0};
    double above[VECTORS] = {0};
    choose_rows(&p);
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, (p.count + 1) * LANES, sizeof *p.x, &p.x));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, (p.count + 1) * LANES, sizeof *p.y, &p.y));
    make_smooth(&p);
    coarse_energies(&p, here);
    CMGI_TRY_GOTO(done, number_fine(&p));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, p.places, sizeof *p.image, &p.image));
    if (p.R == NULL) {
        CMGI_TRY_GOTO(done, mark_rows(&p));
    }
    CMGI_TRY_GOTO(done, fine_energies(&p, above));
    *factor = 1;
    for (int v = 0; v < VECTORS; ++v) {
        *factor = fmax(*factor, misfit(here[v], above[v]));
    }
    if (p.R == NULL) {
        double single = 1;
        CMGI_TRY_GOTO(done, diagonal_misfit(&p, &single));
        *factor = fmax(*factor, single / SINGLE);
    }
done:
    CMGI_FREE(ctx, p.list, p.inside, p.at, p.inverse, p.x, p.y, p.slot, p.row, p.image);
    return status;
}
