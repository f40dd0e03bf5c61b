/*
 * Energies of three random vectors, smoothed by damped Jacobi sweeps on the coarse matrix. On large
 * levels they vanish outside of balls of the matrix graph, and no other row is multiplied.
 */
#include "transfer/energy.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/search.h"
#include "transfer/energy_there.h"

#include <math.h>
#include <string.h>

/* A row of the vectors has LANES places, the last of them 0: registers take four at once. */
enum { VECTORS = 3, LANES = 4, SWEEPS = 8, ROWS = 1 << 16, BALLS = 16 };
/* Rows whose basis functions are compared, as many as on a device, spread evenly in runs that share
 * what they read; fine rows that a thread takes at once, and that sums are made of. */
enum { SAMPLE = 1 << 13, RUN = 32, CHUNK = 4096 };

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
    bool *inside;    /* of all coarse rows */
    double *inverse; /* 1 / (2 c_ii), 0 in Dirichlet rows; of the rows of the list */
    double *x;       /* coarse rows x LANES */
    double *y;
    cmg_index *slot; /* fine rows: place in the vectors there, which begin with a row of zeros */
    cmg_index *row;  /* fine rows that are not zero, from place 1 on */
    cmg_size places;
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
    }
}

/* sum[v] = (row i of M) x_v */
static inline void multiply_row(const cmg_csr *M, cmg_size i, const double *x, double sum[LANES])
{
    double s[LANES] = {0}; /* stays in registers */
    for (cmg_size k = M->indptr[i]; k < M->indptr[i + 1]; ++k) {
        const double *from = x + (cmg_size)M->indices[k] * LANES;
        const double a = M->values[k];
        for (int v = 0; v < LANES; ++v) {
            s[v] += a * from[v];
        }
    }
    memcpy(sum, s, sizeof s);
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
            p->x[i * LANES + v] = fixed ? 0 : value;
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
        for (cmg_size e = 0; e < p->count; ++e) {
            const cmg_size i = p->list[e];
            const double inverse = p->inverse[e];
            double sum[LANES];
            multiply_row(&p->C, i, p->x, sum);
            for (int v = 0; v < LANES; ++v) {
                p->y[i * LANES + v] = inverse == 0 ? 0 : p->x[i * LANES + v] - sum[v] * inverse;
            }
        }
        double *swapped = p->x;
        p->x = p->y;
        p->y = swapped;
    }
}

static void coarse_energies(const probe *p, double energy[VECTORS])
{
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size i = p->list[e];
        double sum[LANES];
        multiply_row(&p->C, i, p->x, sum);
        for (int v = 0; v < VECTORS; ++v) {
            energy[v] += p->x[i * LANES + v] * sum[v];
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
        const cmg_index reached = p->slot[i];
        p->row[p->places] = (cmg_index)i; /* taken back where it is not: the next one comes there */
        p->slot[i] = reached != 0 ? (cmg_index)p->places : 0;
        p->places += reached;
    }
    return CMG_OK;
}

/* w = R^T x */
static void restrict_back(const probe *p, double *w)
{
    for (cmg_size e = 0; e < p->count; ++e) {
        const cmg_size j = p->list[e];
        for (cmg_size k = p->R->indptr[j]; k < p->R->indptr[j + 1]; ++k) {
            double *to = w + (cmg_size)p->slot[p->R->indices[k]] * LANES;
            for (int v = 0; v < VECTORS; ++v) {
                to[v] += p->R->values[k] * p->x[j * LANES + v];
            }
        }
    }
    memset(w, 0, LANES * sizeof *w);
}

/* sum[v] = left_v . (A y_v) over the places of a chunk */
static void chunk_energies(const probe *p, cmg_size chunk, const double *left, const double *y,
                           double sum[VECTORS])
{
    const cmg_size first = chunk > 0 ? chunk * CHUNK : 1;
    for (cmg_size c = first; c < p->places && c < (chunk + 1) * CHUNK; ++c) {
        const cmg_size i = p->row[c];
        double s[LANES] = {0};
        for (cmg_size k = p->A.indptr[i]; k < p->A.indptr[i + 1]; ++k) {
            const double *from = y + (cmg_size)p->slot[p->A.indices[k]] * LANES;
            const double a = p->A.values[k];
            for (int v = 0; v < LANES; ++v) {
                s[v] += a * from[v];
            }
        }
        for (int v = 0; v < VECTORS; ++v) {
            sum[v] += left[c * LANES + v] * s[v];
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
    for (cmg_size c = 1; c < p->places; ++c) {
        multiply_row(&p->P, p->row[c], p->x, y + c * LANES);
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

/* p_ij (A P)_ij of an entry (i, j) of P */
static double diagonal_part(const probe *p, cmg_size i, cmg_size entry)
{
    const cmg_index j = p->P.indices[entry];
    double sum = 0;
    for (cmg_size k = p->A.indptr[i]; k < p->A.indptr[i + 1]; ++k) {
        const cmg_index r = p->A.indices[k];
        for (cmg_size e = p->P.indptr[r]; e < p->P.indptr[r + 1]; ++e) {
            sum += p->P.indices[e] == j ? p->A.values[k] * p->P.values[e] : 0;
        }
    }
    return p->P.values[entry] * sum;
}

/* The entries of P in rows of a chunk, Dirichlet rows apart, and in sampled columns, whose number
 * is returned; where `part` is not NULL, their columns and parts. */
static cmg_size sample_chunk(const probe *p, cmg_size chunk, const bool *sampled, cmg_index *column,
                             double *part)
{
    cmg_size found = 0;
    for (cmg_size i = chunk * CHUNK; i < p->P.rows && i < (chunk + 1) * CHUNK; ++i) {
        const bool fixed = p->fine->row != NULL && p->fine->row[i];
        for (cmg_size e = p->P.indptr[i]; !fixed && e < p->P.indptr[i + 1]; ++e) {
            const cmg_index j = p->P.indices[e];
            if (sampled[j] && part != NULL) {
                column[found] = j;
                part[found] = diagonal_part(p, i, e);
            }
            found += sampled[j];
        }
    }
    return found;
}

/* The largest factor between c_jj and the diagonal of P^T A P, in sampled rows. */
static double compare_diagonals(const probe *p, const bool *sampled, const double *diagonal)
{
    double factor = 1;
    for (cmg_size j = 0; j < p->C.rows; ++j) {
        if (!sampled[j]) {
            continue;
        }
        const double c = cmgi_csr_diagonal_at(&p->C, j);
        const bool known = p->coarse->row == NULL || !p->coarse->row[j];
        if (known && c > 0 && diagonal[j] > 0) {
            factor = fmax(factor, fmax(c / diagonal[j], diagonal[j] / c));
        }
    }
    return factor;
}

/*
 * The largest factor between c_jj and (P^T A P)_jj over a sample of rows: the energies of single
 * basis functions, which a coefficient that the coarse mesh cuts through changes by its contrast.
 */
static cmg_status diagonal_misfit(const probe *p, double *factor)
{
    cmg_context *ctx = p->ctx;
    const cmg_size step = (p->C.rows + SAMPLE - 1) / SAMPLE;
    const cmg_size chunks = (p->P.rows + CHUNK - 1) / CHUNK;
    bool *sampled = NULL;
    cmg_size *first = NULL;   /* chunks + 1: entries of sampled columns before a chunk */
    cmg_index *column = NULL; /* of those */
    double *part = NULL;
    double *diagonal = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, p->C.rows, sizeof *sampled, &sampled));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, p->C.rows, sizeof *diagonal, &diagonal));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, chunks + 1, sizeof *first, &first));
    for (cmg_size j = 0; j < p->C.rows; ++j) {
        sampled[j] = j / RUN % step == 0;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size c = 0; c < chunks; ++c) {
        first[c + 1] = sample_chunk(p, c, sampled, NULL, NULL);
    }
    cmgi_add_up(first, chunks);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, first[chunks], sizeof *column, &column));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, first[chunks], sizeof *part, &part));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size c = 0; c < chunks; ++c) {
        (void)sample_chunk(p, c, sampled, column + first[c], part + first[c]);
    }
    for (cmg_size e = 0; e < first[chunks]; ++e) {
        diagonal[column[e]] += part[e];
    }
    *factor = compare_diagonals(p, sampled, diagonal);
done:
    CMGI_FREE(ctx, sampled, diagonal, first, column, part);
    return status;
}

static double misfit(double coarse, double fine)
{
    if (!(fine > 0)) {
        return 1;
    }
    return coarse > 0 ? fmax(coarse / fine, fine / coarse) : HUGE_VAL;
}

/* The matrices of levels l and l + 1, where all are on the device, and no row is a Dirichlet
 * condition. */
static bool find_there(const cmg_hierarchy *h, int l, const cmgi_dirichlet *fine,
                       const cmgi_dirichlet *coarse, cmgi_levels_there *there)
{
    const bool has_r = cmgi_hierarchy_has(h, l, CMG_ROLE_R);
    *there = (cmgi_levels_there){.A = cmgi_hierarchy_there(h, l, CMG_ROLE_A),
                                 .P = cmgi_hierarchy_there(h, l, CMG_ROLE_P),
                                 .R = cmgi_hierarchy_there(h, l, CMG_ROLE_R),
                                 .C = cmgi_hierarchy_there(h, l + 1, CMG_ROLE_A)};
    return there->A != NULL && there->P != NULL && there->C != NULL &&
           (there->R != NULL || !has_r) && fine->row == NULL && coarse->row == NULL &&
           there->C->facts.zero_diagonal < 0;
}

cmg_status cmgi_energy_misfits_there(const cmg_hierarchy *h, int first, const cmgi_dirichlet *d,
                                     double *factor)
{
    static cmg_status (*const look)(cmg_context *, const cmgi_levels_there *, int,
                                    cmgi_energies *) = CMGI_CUDA_FN(cmgi_energies_cuda);
    cmgi_levels_there levels[CMGI_HIERARCHY_LEVELS];
    cmgi_energies e[CMGI_HIERARCHY_LEVELS];
    int of[CMGI_HIERARCHY_LEVELS];
    int count = 0;
    for (int l = first; l < h->levels; ++l) {
        of[count] = l;
        count += !h->level[l].formed && find_there(h, l - 1, &d[l - 1], &d[l], &levels[count]);
    }
    if (count == 0 || look == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(look(h->ctx, levels, count, e));
    for (int k = 0; k < count; ++k) {
        double *worst = &factor[of[k]];
        *worst = fmax(1, e[k].single / SINGLE);
        for (int v = 0; v < VECTORS; ++v) {
            *worst = fmax(*worst, misfit(e[k].coarse[v], e[k].fine[v]));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_energy_misfit(const cmg_hierarchy *h, int l, const cmgi_dirichlet *fine,
                              const cmgi_dirichlet *coarse, double *factor)
{
    cmg_context *ctx = h->ctx;
    probe p = {.ctx = ctx, .fine = fine, .coarse = coarse};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &p.A));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &p.P));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l + 1, CMG_ROLE_A, NULL, 0, &p.C));
    p.R = cmgi_hierarchy_find(h, l, CMG_ROLE_R, NULL, 0);
    const cmg_size n = p.C.rows;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *p.list, &p.list));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n, sizeof *p.inside, &p.inside));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *p.inverse, &p.inverse));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n * LANES, sizeof *p.x, &p.x));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n * LANES, sizeof *p.y, &p.y));
    double here[VECTORS] = {0};
    double above[VECTORS] = {0};
    choose_rows(&p);
    make_smooth(&p);
    coarse_energies(&p, here);
    CMGI_TRY_GOTO(done, number_fine(&p));
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
    CMGI_FREE(ctx, p.list, p.inside, p.inverse, p.x, p.y, p.slot, p.row);
    return status;
}
