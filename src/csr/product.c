/*
 * C = A B, row by row (Gustavson 1978, doi:10.1145/355791.355796).
 *
 * With several unknowns a node, neighbouring rows have the same columns. Such rows of A are formed
 * together, side by side in `sum`, and such rows of B are walked through together: a column number
 * is looked up once for all of them, 9 products for one of elasticity in three dimensions. What is
 * added to a place of C comes in the order of A's row all the same.
 */
#include "core/memory.h"
#include "core/order.h"
#include "csr/csr.h"

#include <string.h>

enum {
    TOGETHER = 6,    /* most rows that are formed at once */
    PIECE = 1 << 17, /* products that a thread forms before it puts entries away: 1.5 MB */
    SHORT = 20,      /* lists up to here are sorted by insertion */
    BITS = 64,
    AHEAD = 6 /* rows of B that are asked for before they are needed */
};

/* What a thread needs. */
typedef struct room {
    cmg_index *mark; /* columns of B: who has seen it last */
    cmg_index *list; /* longest + 1 columns of a row */
    /* zeros between groups: */
    double *sum;     /* widest numbers a column of B */
    uint64_t *bits;  /* a bit a column of B */
    uint64_t *words; /* a bit a word of these */
} room;

/* Groups that a thread forms one after the other, and their entries. */
typedef struct piece {
    cmg_index begin;
    cmg_index end;
    cmg_index *columns;
    double *values;
} piece;

/* Who does what: rows of A in groups of equal columns, and rows of B that repeat the one before. */
typedef struct plan {
    const cmg_csr *A;
    const cmg_csr *B;
    cmg_index *group; /* groups + 1: first rows */
    cmg_index groups;
    uint8_t *again; /* rows of B */
    bool repeat;    /* any of them */
    int widest;     /* rows of a group */
    bool ordered;   /* columns of C are to ascend */
    int threads;
    cmg_size longest; /* most entries that a row of C can have */
    room all;         /* of all threads */
    piece *piece;
    int pieces;       /* as many as threads, or more */
    cmg_size largest; /* most entries that a piece can have */
} plan;

static cmg_size words_of(cmg_size bits)
{
    return (bits + BITS - 1) / BITS;
}

static bool same_columns(const cmg_csr *M, cmg_size i, cmg_size j)
{
    const cmg_size length = M->indptr[i + 1] - M->indptr[i];
    return length == M->indptr[j + 1] - M->indptr[j] &&
           memcmp(M->indices + M->indptr[i], M->indices + M->indptr[j],
                  (size_t)length * sizeof *M->indices) == 0;
}

static cmg_status make_plan(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, plan *p)
{
    p->A = A;
    p->B = B;
    p->threads = ctx->threads;
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *p->group, &p->group));
    CMGI_TRY(cmgi_alloc_zero(ctx, B->rows, sizeof *p->again, &p->again));
    p->widest = 1;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const int rows = p->groups > 0 ? (int)(i - p->group[p->groups - 1]) : TOGETHER;
        if (rows == TOGETHER || !same_columns(A, i - 1, i)) {
            p->group[p->groups++] = (cmg_index)i;
        } else if (rows >= p->widest) {
            p->widest = rows + 1;
        }
    }
    p->group[p->groups] = (cmg_index)A->rows;
    bool repeat = false;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(|| : repeat)
    for (cmg_size r = 1; r < B->rows; ++r) {
        p->again[r] = same_columns(B, r - 1, r);
        repeat = repeat || p->again[r];
    }
    p->repeat = repeat;
    return cmgi_alloc_zero(ctx, B->cols * p->threads, (size_t)p->widest * sizeof *p->all.sum,
                           &p->all.sum);
}

/* As many pieces a thread as leave about PIECE products to one, and what the threads need for
 * columns that are to be found. */
static cmg_status cut(cmg_context *ctx, plan *p)
{
    const cmg_csr *A = p->A;
    const cmg_csr *B = p->B;
    const cmg_size mean = B->rows > 0 ? B->indptr[B->rows] / B->rows + 1 : 0;
    cmg_size longest = 0;
    cmg_size largest = 0;
    p->pieces = p->threads * (int)(1 + A->indptr[A->rows] / p->threads * mean / PIECE);
    CMGI_TRY(cmgi_alloc_zero(ctx, p->pieces, sizeof *p->piece, &p->piece));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max                  \
                                                                              : longest, largest)
    for (int q = 0; q < p->pieces; ++q) {
        piece *own = &p->piece[q];
        cmg_size entries = 0;
        own->begin = (cmg_index)((cmg_size)p->groups * q / p->pieces);
        own->end = (cmg_index)((cmg_size)p->groups * (q + 1) / p->pieces);
        for (cmg_size i = p->group[own->begin]; i < p->group[own->end]; ++i) {
            cmg_size products = 0;
            for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
                products += B->indptr[A->indices[k] + 1] - B->indptr[A->indices[k]];
            }
            const cmg_size most = products < B->cols ? products : B->cols;
            entries += most;
            longest = most > longest ? most : longest;
        }
        largest = entries > largest ? entries : largest;
    }
    p->longest = longest;
    p->largest = largest;
    const cmg_size words = words_of(B->cols) * p->threads;
    const cmg_size more = words_of(words_of(B->cols)) * p->threads;
    CMGI_TRY(cmgi_alloc_zero(ctx, B->cols * p->threads, sizeof *p->all.mark, &p->all.mark));
    CMGI_TRY(cmgi_alloc_zero(ctx, words, sizeof *p->all.bits, &p->all.bits));
    CMGI_TRY(cmgi_alloc_zero(ctx, more, sizeof *p->all.words, &p->all.words));
    return cmgi_alloc(ctx, (longest + 1) * p->threads, sizeof *p->all.list, &p->all.list);
}

/*
 * sum += a B for `count` rows of B with one list of columns, of which m rows of A have their
 * factors at a[t], `stride` apart. Columns that group g has not met go to the end of its list,
 * unless that is NULL; returns how many are listed then, and may have written one more.
 */
static inline cmg_size add_rows(const cmg_csr *B, cmg_index r, int count, const double *a,
                                const cmg_size *stride, int m, double *restrict sum,
                                cmg_index *restrict mark, cmg_index g, cmg_index *restrict list,
                                cmg_size listed)
{
    const cmg_size length = B->indptr[r + 1] - B->indptr[r];
    const cmg_index *columns = B->indices + B->indptr[r];
    const double *v = B->values + B->indptr[r];
    double factor[3][TOGETHER];
    for (int t = 0; t < m; ++t) {
        factor[0][t] = a[stride[t]];
        factor[1][t] = count > 1 ? a[stride[t] + 1] : 0;
        factor[2][t] = count > 2 ? a[stride[t] + 2] : 0;
    }
    for (cmg_size e = 0; e < length; ++e) {
        const cmg_index j = columns[e];
        double *s = sum + (cmg_size)j * m;
        if (list != NULL) { /* no branch: whether it is new cannot be foretold */
            list[listed] = j;
            listed += mark[j] != g + 1;
            mark[j] = g + 1;
        }
        if (count == 3) {
            for (int t = 0; t < m; ++t) {
                s[t] = s[t] + factor[0][t] * v[e] + factor[1][t] * v[length + e] +
                       factor[2][t] * v[2 * length + e];
            }
        } else if (count == 2) {
            for (int t = 0; t < m; ++t) {
                s[t] = s[t] + factor[0][t] * v[e] + factor[1][t] * v[length + e];
            }
        } else {
            for (int t = 0; t < m; ++t) {
                s[t] += factor[0][t] * v[e];
            }
        }
    }
    return listed;
}

/* Sums of the m rows of group g; returns the length of its list of columns, which is unordered.
 * Inlined for each m, as compilers else keep one for all. */
__attribute__((always_inline)) static inline cmg_size add_group(const plan *p, cmg_index g, int m,
                                                                const room *own, cmg_index *list)
{
    const cmg_csr *A = p->A;
    const cmg_size i = p->group[g];
    const cmg_size begin = A->indptr[i];
    const cmg_size end = A->indptr[i + 1];
    cmg_size stride[TOGETHER] = {0};
    cmg_size listed = 0;
    for (int t = 0; t < m; ++t) {
        stride[t] = t * (end - begin);
    }
    for (cmg_size k = begin; k < end;) {
        const cmg_index r = A->indices[k];
        int count = 1;
        if (k + AHEAD < A->indptr[A->rows]) {
            const cmg_size soon = p->B->indptr[A->indices[k + AHEAD]];
            __builtin_prefetch(p->B->indices + soon);
            __builtin_prefetch(p->B->values + soon);
        }
        while (p->repeat && count < 3 && k + count < end && A->indices[k + count] == r + count &&
               p->again[r + count]) {
            ++count;
        }
        listed = add_rows(p->B, r, count, A->values + k, stride, m, own->sum, own->mark, g, list,
                          listed);
        k += count;
    }
    return listed;
}

static cmg_size add_any(const plan *p, cmg_index g, const room *own, cmg_index *list)
{
    switch (p->group[g + 1] - p->group[g]) { /* loops of constant length */
    case 1:
        return add_group(p, g, 1, own, list);
    case 2:
        return add_group(p, g, 2, own, list);
    case 3:
        return add_group(p, g, 3, own, list);
    case 6:
        return add_group(p, g, 6, own, list);
    default:
        return add_group(p, g, (int)(p->group[g + 1] - p->group[g]), own, list);
    }
}

/* The thread's list of columns in order: a long one by a bit each. */
static void order_columns(const room *own, cmg_size length, cmg_index *to)
{
    const cmg_index *list = own->list;
    uint64_t *bits = own->bits;
    uint64_t *words = own->words;
    cmg_index first = INT32_MAX;
    cmg_index last = -1;
    if (length <= SHORT) {
        memcpy(to, list, (size_t)length * sizeof *to);
        cmgi_sort_indices(to, length);
        return;
    }
    for (cmg_size e = 0; e < length; ++e) {
        const cmg_index w = list[e] / BITS;
        bits[w] |= (uint64_t)1 << list[e] % BITS;
        words[w / BITS] |= (uint64_t)1 << w % BITS;
        first = w < first ? w : first;
        last = w > last ? w : last;
    }
    for (cmg_index at = first / BITS; at <= last / BITS; ++at) {
        for (; words[at] != 0; words[at] &= words[at] - 1) {
            const cmg_index w = at * BITS + __builtin_ctzll(words[at]);
            for (; bits[w] != 0; bits[w] &= bits[w] - 1) {
                *to++ = w * BITS + __builtin_ctzll(bits[w]);
            }
        }
    }
}

/* The sums of a group of C, whose columns are these, go to its rows, and zeros are left. */
static void take_sums(const room *own, int m, const cmg_index *columns, cmg_size length,
                      double *values)
{
    for (cmg_size e = 0; e < length; ++e) {
        double *s = own->sum + (cmg_size)columns[e] * m;
        for (int t = 0; t < m; ++t) {
            values[t * length + e] = s[t];
            s[t] = 0;
        }
    }
}

/* A piece of C, whose arrays have room for it; returns how many entries it has. */
static cmg_size form_piece(const plan *p, const piece *q, cmgi_csr *C)
{
    const cmg_size cols = p->B->cols;
    const cmg_size thread = cmgi_thread();
    const room own = {.sum = p->all.sum + cols * thread * p->widest,
                      .mark = p->all.mark + cols * thread,
                      .list = p->all.list + (p->longest + 1) * thread,
                      .bits = p->all.bits + words_of(cols) * thread,
                      .words = p->all.words + words_of(words_of(cols)) * thread};
    cmg_size at = 0;
    for (cmg_index g = q->begin; g < q->end; ++g) {
        const int m = (int)(p->group[g + 1] - p->group[g]);
        const cmg_size length = add_any(p, g, &own, own.list);
        cmg_index *columns = q->columns + at;
        if (p->ordered) {
            order_columns(&own, length, columns);
        } else {
            memcpy(columns, own.list, (size_t)length * sizeof *columns);
        }
        C->indptr[p->group[g] + 1] = length;
        for (int t = 1; t < m; ++t) {
            C->indptr[p->group[g] + t + 1] = length;
            memcpy(columns + t * length, columns, (size_t)length * sizeof *columns);
        }
        take_sums(&own, m, columns, length, q->values + at);
        at += m * length;
    }
    return at;
}

/* Entries of a piece leave the arrays of a thread for their own. */
static cmg_status put_away(cmg_context *ctx, piece *q, cmg_size count)
{
    const cmg_index *columns = q->columns;
    const double *values = q->values;
    cmg_status status = CMG_OK;
    q->columns = NULL;
    q->values = NULL;
#pragma omp critical
    {
        status = cmgi_alloc(ctx, count, sizeof *columns, &q->columns);
        status = status == CMG_OK ? cmgi_alloc(ctx, count, sizeof *values, &q->values) : status;
    }
    CMGI_TRY(status);
    memcpy(q->columns, columns, (size_t)count * sizeof *columns);
    memcpy(q->values, values, (size_t)count * sizeof *values);
    return CMG_OK;
}

/* C, its row pointers allocated, of all pieces. */
static cmg_status join_pieces(cmg_context *ctx, const plan *p, cmgi_csr *C)
{
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, C));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int k = 0; k < p->pieces; ++k) {
        const piece *q = &p->piece[k];
        const cmg_size to = C->indptr[p->group[q->begin]];
        const size_t count = (size_t)(C->indptr[p->group[q->end]] - to);
        memcpy(C->indices + to, q->columns, count * sizeof *C->indices);
        memcpy(C->values + to, q->values, count * sizeof *C->values);
    }
    return CMG_OK;
}

/*
 * C, its row pointers allocated. Every row is found and formed while its columns are in the cache,
 * in arrays for the largest piece, one for each piece or for each thread; in those entries are then
 * put away.
 */
static cmg_status form(cmg_context *ctx, const plan *p, cmgi_csr *C)
{
    CMGI_SCOPED(ctx, p->largest * p->threads, cmg_index, columns);
    CMGI_SCOPED(ctx, p->largest * p->threads, double, values);
    const bool stay = p->pieces == p->threads;
    cmg_status status = CMG_OK;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1)
    for (int k = 0; k < p->pieces; ++k) {
        piece *q = &p->piece[k];
        const cmg_size at = p->largest * (stay ? k : cmgi_thread());
        q->columns = columns + at;
        q->values = values + at;
        const cmg_size count = form_piece(p, q, C);
        const cmg_status own = stay ? CMG_OK : put_away(ctx, q, count);
        if (own != CMG_OK) {
#pragma omp atomic write
            status = own;
        }
    }
    status = status == CMG_OK ? join_pieces(ctx, p, C) : status;
    for (int k = 0; k < p->pieces && !stay; ++k) {
        CMGI_FREE(ctx, p->piece[k].columns, p->piece[k].values);
    }
    return status;
}

cmg_status cmgi_csr_multiply_loose(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                   bool ordered, cmgi_csr *C)
{
    CMGI_CHECK(ctx, A->cols == B->rows, CMG_ERR_SHAPE,
               "product: A has %lld columns, B has %lld rows", (long long)A->cols,
               (long long)B->rows);
    plan p = {.ordered = ordered};
    cmgi_scoped_csr made = {0};
    CMGI_FREED(ctx, &p.group, &p.again, &p.all.sum, &p.all.mark, &p.all.list, &p.all.bits,
               &p.all.words, &p.piece);
    CMGI_TRY(make_plan(ctx, A, B, &p));
    CMGI_TRY(cut(ctx, &p));
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, A->rows, B->cols, &made));
    CMGI_TRY(form(ctx, &p, &made));
    *C = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_csr_multiply(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, cmgi_csr *C)
{
    return cmgi_csr_multiply_loose(ctx, A, B, true, C);
}

cmg_status cmgi_csr_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                    cmgi_csr *C)
{
    plan p = {0};
    CMGI_FREED(ctx, &p.group, &p.again, &p.all.sum);
    CMGI_TRY(make_plan(ctx, A, B, &p));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_index g = 0; g < p.groups; ++g) {
        const room own = {.sum = p.all.sum + B->cols * cmgi_thread() * p.widest};
        const int m = (int)(p.group[g + 1] - p.group[g]);
        const cmg_size begin = C->indptr[p.group[g]];
        const cmg_size length = C->indptr[p.group[g] + 1] - begin;
        (void)add_any(&p, g, &own, NULL);
        take_sums(&own, m, C->indices + begin, length, C->values + begin);
    }
    return CMG_OK;
}
