/*
 * A CSR on the device gives, bit for bit, the storage that the same CSR on the host gives: columns,
 * values and value map; new values may come from the device, too.
 */
#include "core/vector.h"
#include "spmv/cpu_kernels.h"
#include "spmv/create.h"
#include "spmv/formats.h"
#include "spmv/stencil.h"
#include "csr/templates.h"
#include "arrays.h"
#include "suite.h"

static const cmg_format formats[] = {CMG_FORMAT_AUTO,       CMG_FORMAT_CSR,  CMG_FORMAT_ELLPACK,
                                     CMG_FORMAT_ELLR,       CMG_FORMAT_ELLT, CMG_FORMAT_SELL,
                                     CMG_FORMAT_K1,         CMG_FORMAT_K2,   CMG_FORMAT_K2RS,
                                     CMG_FORMAT_COMPRESSED, CMG_FORMAT_DENSE};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* An array on the host and one on the device. */
static void check_array_at(const void *here, const void *there, cmg_size count, size_t size)
{
    const size_t bytes = (size_t)count * size;
    scoped char *fetched = malloc(bytes + 1);
    CHECK_OK(cmgi_to_host(ctx, fetched, there, bytes));
    CHECK(memcmp(here, fetched, bytes) == 0);
}

static void check_same(const cmg_matrix *A, const cmg_matrix *B)
{
    CHECK(A->format == B->format && A->stored == B->stored && A->nnz == B->nnz &&
          A->bytes == B->bytes);
    if (A->format != B->format || A->stored != B->stored || !A->format->fills) {
        return;
    }
    check_arrays(A->values, B->values, A->stored, cmgi_precision_bytes(A->options.precision));
    check_arrays(A->value_map, B->value_map, A->nnz, sizeof *A->value_map);
    if (A->options.format == CMG_FORMAT_CSR) {
        const cmgi_csr_storage *a = A->data;
        const cmgi_csr_storage *b = B->data;
        check_arrays(a->columns, b->columns, A->nnz, sizeof *a->columns);
        check_arrays(a->indptr, b->indptr, A->rows + 1, sizeof *a->indptr);
    } else {
        const cmgi_slices *a = A->data;
        const cmgi_slices *b = B->data;
        check_arrays(a->columns, b->columns, A->stored, sizeof *a->columns);
        check_arrays(a->rowmap, b->rowmap, A->rows, sizeof *a->rowmap);
    }
}

/* y = A x of both, bit for bit, but in so many rows at either end. */
static void check_products_within(const cmg_matrix *A, const cmg_matrix *B, cmg_size ends)
{
    scoped_vector *x = vector_random(A->cols, A->options.precision, 5);
    scoped_vector *y = vector_new(A->rows, A->options.precision);
    CHECK_OK(cmg_matrix_apply(A, x, y));
    scoped double *ya = values_of(y);
    CHECK_OK(cmg_matrix_apply(B, x, y));
    scoped double *yb = values_of(y);
    CHECK(memcmp(ya + ends, yb + ends, (size_t)(A->rows - 2 * ends) * sizeof *ya) == 0);
}

static void check_products(const cmg_matrix *A, const cmg_matrix *B)
{
    check_products_within(A, B, 0);
}

static void check_format(const cmgi_csr *A, const cmg_csr *there, cmg_format format,
                         cmg_precision precision)
{
    cmg_matrix_options options =
        matrix_options("keep_map format=%s precision=%s t=%d threshold=%d", WORD("format", format),
                       WORD("precision", precision), format == CMG_FORMAT_ELLT ? 4 : 0,
                       format == CMG_FORMAT_K2 ? 3 : 0);
    scoped_matrix *M = matrix_new(&A->view, &options);
    scoped_matrix *N = matrix_new(there, &options);
    if (M != NULL && N != NULL) {
        check_same(M, N);
        check_products(M, N);
        scoped double *twice = random_values(A->indptr[A->rows], 9);
        scoped_device double *twice_there = copy_there(twice, A->indptr[A->rows], sizeof *twice);
        CHECK_OK(cmg_matrix_update(M, twice));
        CHECK_OK(cmg_matrix_update(N, twice_there));
        check_same(M, N);
    }
}

TEST(every_format_is_made_on_the_device)
{
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        scoped_csr_there there = csr_there(&A.view);
        for (int f = 0; f < FORMATS; ++f) {
            const bool fits = (formats[f] != CMG_FORMAT_K2RS || A.rows == A.cols) &&
                              (formats[f] != CMG_FORMAT_DENSE || A.rows <= 2000);
            for (int p = CMG_FP64; fits && p <= CMG_FP32; ++p) {
                check_format(&A, &there, formats[f], (cmg_precision)p);
            }
        }
    }
}

/* ------------------------------------------------------------------ compressed */

static void check_templates(const cmg_matrix *A, const cmg_matrix *B)
{
    const cmgi_compressed *a = A->data;
    const cmgi_compressed *b = B->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    CHECK(a->t.count == b->t.count && a->t.kinds == b->t.kinds && a->t.entries == b->t.entries);
    CHECK((a->t.stencil != NULL) == (b->t.stencil != NULL));
    if (a->t.count != b->t.count || a->t.kinds != b->t.kinds || a->t.entries != b->t.entries) {
        return;
    }
    check_arrays(a->t.slice, b->t.slice, a->t.count, sizeof *a->t.slice);
    check_arrays(a->t.id, b->t.id, a->rows, sizeof *a->t.id);
    check_arrays(a->t.begin, b->t.begin, a->t.kinds + 1, sizeof *a->t.begin);
    check_arrays(a->t.pair, b->t.pair, a->t.entries, 2 * value);
    if (a->t.stencil != NULL && b->t.stencil != NULL) {
        const cmgi_stencil *s = a->t.stencil;
        CHECK(s->runs == b->t.stencil->runs &&
              memcmp(s->run, b->t.stencil->run, (size_t)s->runs * sizeof *s->run) == 0);
        check_arrays(s->value, b->t.stencil->value,
                     (cmg_size)a->t.kinds * s->runs * CMGI_RUN_STORED, value);
    }
}

static void check_packed(const cmg_matrix *A, const cmg_matrix *B)
{
    const cmgi_packed_slices *a = &((const cmgi_compressed *)A->data)->p;
    const cmgi_packed_slices *b = &((const cmgi_compressed *)B->data)->p;
    CHECK(a->count == b->count && a->steps == b->steps && a->code_bytes == b->code_bytes);
    if (a->count != b->count || a->steps != b->steps || a->code_bytes != b->code_bytes) {
        return;
    }
    check_arrays(a->slice, b->slice, a->count, sizeof *a->slice);
    check_arrays(a->step, b->step, a->count + 1, sizeof *a->step);
    check_arrays(a->code, b->code, a->count + 1, sizeof *a->code);
    check_arrays(a->bytes, b->bytes, a->count, sizeof *a->bytes);
    check_arrays(a->base, b->base, a->steps, sizeof *a->base);
    check_arrays(a->codes, b->codes, a->code_bytes, 1);
    check_arrays(A->values, B->values, A->stored,
                 cmgi_values_bytes(A->options.values, A->options.precision));
    check_arrays(a->scale, b->scale, a->count, sizeof *a->scale);
    check_arrays(A->value_map, B->value_map, A->nnz, sizeof *A->value_map);
    check_arrays(a->place, b->place, A->nnz, sizeof *a->place);
    check_arrays(a->entry, b->entry, a->count + 1, sizeof *a->entry);
}

static void resident_free(cmgi_resident *R)
{
    cmgi_resident_free(ctx, R);
}

#define scoped_resident scoped_by(resident_free) cmgi_resident

static cmgi_resident resident_of(const cmg_csr *A)
{
    cmgi_resident R = {0};
    CHECK_OK(cmgi_resident_send(ctx, A, &R));
    return R;
}

/* With the facts that are known of a matrix in a hierarchy. */
static cmgi_resident known_resident(const cmg_csr *A)
{
    cmgi_resident R = resident_of(A);
    CHECK_OK(cmgi_resident_kernels_of(ctx)->entries(ctx, &R.csr, &R));
    return R;
}

/* As the device builds it, from templates that were found before or not, beside another or not. */
static cmg_matrix *matrix_beside(const cmgi_resident *R, cmgi_twin *twin, const cmg_matrix *like,
                                 const cmg_matrix_options *options)
{
    const cmgi_matrix_source from = {.there = R, .twin = twin, .like = like};
    cmg_matrix *M = NULL;
    CHECK_OK(cmgi_matrix_create(ctx, &from, CMGI_USE_ANY, options, &M));
    return M;
}

static cmg_matrix *matrix_there(const cmgi_resident *R, cmgi_twin *twin,
                                const cmg_matrix_options *options)
{
    return matrix_beside(R, twin, NULL, options);
}

static cmg_matrix_options compressed(cmg_precision precision, cmg_values values, bool keep_map)
{
    return matrix_options("format=compressed precision=%s values=%s keep_map=%d",
                          WORD("precision", precision), WORD("values", values), keep_map);
}

static void check_the_same(const cmg_matrix *M, const cmg_matrix *N)
{
    const cmgi_compressed *a = M->data;
    const cmgi_compressed *b = N->data;
    CHECK(M->stored == N->stored && M->bytes == N->bytes && M->nnz == N->nnz);
    check_arrays(a->ref, b->ref, M->rows, sizeof *a->ref);
    check_arrays(a->diagonal, b->diagonal, M->rows, sizeof *a->diagonal);
    check_templates(M, N);
    check_packed(M, N);
    check_products(M, N);
}

/* The format as the host builds it, and as the device builds it; in 16 and 8 bits beside a matrix
 * in fp64, too. */
static void check_compressed(const cmgi_csr *A, cmg_precision precision, cmg_values values,
                             bool keep_map)
{
    const cmgi_matrix_source from = {.csr = &A->view};
    cmg_matrix_options options = compressed(precision, values, keep_map);
    matrix_set(&options, "warp=32 block=128 t=1 threshold=1");
    scoped_matrix *M = NULL;
    scoped_resident R = known_resident(&A->view);
    CHECK_OK(cmgi_matrix_make(ctx, cmgi_format_find(ctx, options.format), &from, &options, &M));
    const cmg_matrix_options full = compressed(CMG_FP64, CMG_VALUES_FULL, false);
    scoped_matrix *wide = values != CMG_VALUES_FULL ? matrix_there(&R, NULL, &full) : NULL;
    for (int k = 0; k <= (wide != NULL); ++k) {
        scoped_matrix *N = matrix_beside(&R, NULL, k == 0 ? NULL : wide, &options);
        if (M != NULL && N != NULL) {
            check_the_same(M, N);
        }
    }
}

/* A 9-point stencil on a grid, its rows of `kinds` different values, some columns out of order. */
static cmgi_csr grid_matrix(cmg_size n, int kinds, bool shuffled)
{
    uint64_t seed = 3;
    cmgi_csr A = csr_new(n * n, n * n, 9 * n * n);
    for (cmg_size i = 0; i < n * n; ++i) {
        const int kind = kinds > 0 ? (int)(cmgi_random(&seed) * kinds) : 0;
        for (cmg_size d = 0; d < 9; ++d) {
            const cmg_size x = i % n + d % 3 - 1;
            const cmg_size y = i / n + d / 3 - 1;
            if (x >= 0 && x < n && y >= 0 && y < n) {
                csr_put(&A, i, (y * n + x),
                        d == 4      ? 8.0 + kind
                        : kinds < 0 ? cmgi_random(&seed)
                                    : -1.0);
            }
        }
    }
    csr_end(&A);
    for (cmg_size i = 0; shuffled && i < n * n; i += 7) {
        cmg_index *first = &A.indices[A.indptr[i]];
        const cmg_index kept = first[0];
        first[0] = first[1];
        first[1] = kept;
    }
    return A;
}

/* In both precisions, with a value map, and with values in 16 and 8 bits. */
static void check_all_compressed(const cmgi_csr *A)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        check_compressed(A, (cmg_precision)p, CMG_VALUES_FULL, false);
        check_compressed(A, (cmg_precision)p, CMG_VALUES_FULL, true);
    }
    check_compressed(A, CMG_FP32, CMG_VALUES_FP16, false);
    check_compressed(A, CMG_FP32, CMG_VALUES_FP8, false);
}

/* What a diagonal that is kept apart may do to a row: be the first, the last, the only entry, lack,
 * be out of order, or follow whole eights of others, near and far. */
static cmgi_csr diagonal_matrix(cmg_size n, cmg_size others, cmg_size stride, int kind)
{
    cmgi_csr A = {0};
    uint64_t seed = 21;
    cmg_size nnz = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, n, n, (others + 1) * n, &A));
    for (cmg_size i = 0; i < n; ++i) {
        const int how = kind < 5 ? kind : (int)(i % 5);
        const cmg_size mine = kind < 5 ? others : (cmg_size)(cmgi_random(&seed) * (double)others);
        const cmg_size before = how == 0 ? 0 : how == 1 ? mine : mine / 2;
        A.indptr[i] = nnz;
        for (cmg_size d = 0; d <= mine; ++d) {
            const cmg_size at = i + (d - before) * stride;
            if (at >= 0 && at < n && (d != before || how != 2) && (d == before || how != 3)) {
                A.indices[nnz] = (cmg_index)at;
                A.values[nnz++] = ldexp(cmgi_random(&seed) - 0.4, (int)(d % 9) - 4);
            }
        }
        if (how == 4 && nnz > A.indptr[i] + 1) { /* the last entry comes first */
            const cmg_index last = A.indices[nnz - 1];
            for (cmg_size k = nnz - 1; k > A.indptr[i]; --k) {
                A.indices[k] = A.indices[k - 1];
            }
            A.indices[A.indptr[i]] = last;
        }
    }
    A.indptr[n] = nnz;
    return A;
}

TEST(compressed_is_the_same)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        check_all_compressed(&A);
    }
    static const int kinds[] = {0, 2, 300, -1}; /* -1: all rows differ */
    for (int k = 0; k < 8; ++k) {
        scoped_csr A = grid_matrix(k < 4 ? 61 : 130, kinds[k % 4], k % 2 == 1);
        check_all_compressed(&A);
    }
}

/* Matrices in fp32 and then in fp64 whose templates are found once are those that are made each by
 * itself; `joined`: rounding to fp32 makes different rows equal. */
static void check_two(const cmgi_csr *A, bool joined)
{
    cmgi_twin twin = {0};
    scoped_resident R = resident_of(&A->view);
    int kinds[2] = {0, 0};
    for (int p = CMG_FP32; p >= CMG_FP64; --p) {
        const cmg_matrix_options options = compressed((cmg_precision)p, CMG_VALUES_FULL, false);
        scoped_matrix *M = matrix_there(&R, NULL, &options);
        scoped_matrix *N = matrix_there(&R, &twin, &options);
        if (M != NULL && N != NULL) {
            CHECK(M->stored == N->stored && M->bytes == N->bytes);
            check_templates(M, N);
            check_packed(M, N);
            kinds[p] = ((const cmgi_compressed *)N->data)->t.kinds;
        }
        CHECK((twin.templates.id != NULL) == (p == CMG_FP32)); /* the second has taken it */
    }
    CHECK((kinds[CMG_FP32] < kinds[CMG_FP64]) == joined);
    cmgi_twin_free(ctx, &twin);
}

TEST(templates_are_found_once_for_two)
{
    static const int kinds[] = {0, 2, 300, -1};
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int k = 0; k < 5; ++k) {
        const bool joined = k == 4;
        scoped_csr A = grid_matrix(130, kinds[joined ? 1 : k], false);
        for (cmg_size e = 0; joined && e < A.indptr[A.rows]; ++e) {
            A.values[e] = A.values[e] == 9 ? 8 * (1 + 0x1p-40) : A.values[e];
        }
        check_two(&A, joined);
    }
}

TEST(a_diagonal_apart_may_be_anywhere)
{
    static const cmg_size others[] = {0, 1, 7, 8, 9, 16, 31, 32, 33, 65};
    static const cmg_size strides[] = {1, 37, 1999};
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int k = 0; k < 6 * 10 * 3; ++k) {
        const bool far = k / 60 == 2; /* codes of 32 bits */
        const cmg_size mine = others[k / 6 % 10];
        if (!far || (k % 6 > 3 && (mine == 9 || mine == 33))) {
            scoped_csr A = diagonal_matrix(far ? 66666 : 331, mine, strides[k / 60], k % 6);
            check_compressed(&A, CMG_FP32, CMG_VALUES_FP16, false);
            check_compressed(&A, CMG_FP32, CMG_VALUES_FP8, false);
        }
    }
}

/* Values in 16 and 8 bits are rounded from the matrix in fp64 beside which they are made, where
 * slices are patterns: not where the grid begins and ends, as offsets would lead outside. */
TEST(fewer_bits_come_of_the_matrix_beside)
{
    enum { SIDE = 131, ENDS = 2 * SIDE + CMGI_SLICE };
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    const cmg_matrix_options full = compressed(CMG_FP64, CMG_VALUES_FULL, false);
    for (int values = CMG_VALUES_FP16; values <= CMG_VALUES_FP8; ++values) {
        const cmg_matrix_options options = compressed(CMG_FP32, (cmg_values)values, false);
        scoped_csr A = grid_matrix(SIDE, -1, false);
        scoped_resident of_A = known_resident(&A.view);
        for (cmg_size k = 0; k < A.indptr[A.rows]; ++k) {
            A.values[k] *= 3;
        }
        scoped_resident of_3A = known_resident(&A.view);
        scoped_matrix *wide = matrix_there(&of_3A, NULL, &full);
        scoped_matrix *M = matrix_there(&of_3A, NULL, &options);
        scoped_matrix *N = matrix_beside(&of_A, NULL, wide, &options);
        check_products_within(M, N, ENDS);
    }
}

/* The largest row sum of |D^-1 A| of a square matrix. */
static double gershgorin(const cmg_csr *A)
{
    double bound = 0;
    for (cmg_size i = 0; i < A->rows && A->rows == A->cols; ++i) {
        const double d = cmgi_csr_diagonal_at(A, i);
        bound = d != 0 ? fmax(bound, cmgi_row_magnitude(A, i) * fabs(1 / d)) : bound;
    }
    return bound;
}

static void check_transpose(const cmgi_csr *P)
{
    scoped_resident R = resident_of(&P->view);
    scoped_csr T = {0};
    cmg_csr there = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &P->view, &T));
    CHECK_OK(cmgi_resident_kernels_of(ctx)->transpose(ctx, &R.csr, P->indptr[P->rows], &there));
    CHECK(there.rows == P->cols && there.cols == P->rows);
    check_array_at(T.indptr, there.indptr, T.rows + 1, sizeof *T.indptr);
    check_array_at(T.indices, there.indices, T.indptr[T.rows], sizeof *T.indices);
    check_array_at(T.values, there.values, T.indptr[T.rows], sizeof *T.values);
    cmgi_resident_free_arrays(ctx, &there);
}

/* P with the pattern of linear interpolation from every second position along `dims` axes and
 * values of its own. */
static cmgi_csr interpolating(int dims, const cmg_index *side)
{
    const cmg_index rows = side[0] * side[1] * side[2];
    const cmg_index coarse[3] = {side[0] / 2, dims > 1 ? side[1] / 2 : 1,
                                 dims > 2 ? side[2] / 2 : 1};
    cmgi_csr P = csr_new(rows, (cmg_size)coarse[0] * coarse[1] * coarse[2], (cmg_size)rows * 8);
    uint64_t seed = 7;
    for (cmg_index i = 0; i < rows; ++i) {
        const cmg_index at[3] = {i % side[0], i / side[0] % side[1], i / side[0] / side[1]};
        for (int n = 0; n < 8; ++n) { /* the coarse positions before and after along each axis */
            cmg_index j = 0;
            bool real = true;
            for (int k = 2; k >= 0; --k) {
                const int after = n >> k & 1;
                const cmg_index to = at[k] % 2 != 0 || after ? at[k] / 2 : at[k] / 2 - 1;
                real = real && (k < dims ? to >= 0 && to < coarse[k] && !(at[k] % 2 != 0 && after)
                                         : !after);
                j = j * coarse[k] + (k < dims ? to : 0);
            }
            if (real) {
                csr_put(&P, i, j, cmgi_random(&seed) - 0.5);
            }
        }
    }
    csr_end(&P);
    return P;
}

/* Where P^T is guessed from a grid, and where the guess is wrong in one entry or altogether. */
TEST(transposes_of_interpolation)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    static const struct {
        int dims;
        cmg_index side[3];
    } cases[] = {{1, {8193, 1, 1}}, {1, {8201, 1, 1}},  {2, {129, 129, 1}}, {2, {3, 8201, 1}},
                 {2, {8201, 3, 1}}, {2, {131, 127, 1}}, {3, {33, 33, 33}},  {3, {3, 65, 257}},
                 {3, {257, 65, 3}}, {3, {65, 3, 259}},  {3, {35, 33, 31}},  {2, {130, 129, 1}},
                 {1, {9001, 1, 1}}, {3, {9, 9, 9}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        scoped_csr P = interpolating(cases[k].dims, cases[k].side);
        const cmg_size middle = P.indptr[P.rows / 2];
        check_transpose(&P);
        P.indices[middle] = P.indices[middle] == 5 ? 6 : 5;
        check_transpose(&P);
    }
}

/* What was looked at on the device is what the host sees. */
TEST(facts_are_those_of_the_rows)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        cmgi_row_statistics want;
        scoped_resident R = resident_of(&A.view);
        CHECK_OK(cmgi_row_statistics_take(ctx, &A.view, &want));
        CHECK_OK(cmgi_resident_look_again(ctx, &R));
        CHECK(R.rows.nnz == want.nnz && R.rows.longest == want.longest &&
              R.rows.filled == want.filled);
        CHECK(memcmp(R.rows.sliced, want.sliced, sizeof want.sliced) == 0);
        CHECK(R.rows.longest != want.longest ||
              memcmp(R.rows.count, want.count, (size_t)(want.longest + 1) * sizeof *want.count) ==
                  0);
        CHECK(cmgi_resident_is_diagonal(&R) == cmgi_csr_is_diagonal(ctx, &A.view));
        cmg_size identity = 0;
        for (cmg_size i = 0; i < A.rows && A.rows == A.cols; ++i) {
            identity += cmgi_csr_identity_row(&A.view, i);
        }
        CHECK(R.facts.rows.identity == identity && R.facts.rows.gershgorin == gershgorin(&A.view));
        check_transpose(&A);
        cmgi_row_statistics_free(ctx, &want);
    }
}

/* Rows of n entries, the diagonal after others that are counted in a byte and after more. */
static cmgi_csr full_matrix(cmg_size n)
{
    uint64_t seed = 9;
    cmgi_csr A = csr_new(n, n, n * n);
    for (cmg_size k = 0; k < n * n; ++k) {
        csr_put(&A, k / n, k % n, cmgi_random(&seed) - 0.5);
    }
    csr_end(&A);
    return A;
}

/* Facts of new values on the same pattern, for which columns are not read again. */
TEST(facts_follow_new_values)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int s = 0; s <= SUITE; ++s) {
        scoped_csr A = s < SUITE ? suite_make(&suite[s]) : full_matrix(300);
        const cmg_size nnz = A.indptr[A.rows];
        scoped_resident R = resident_of(&A.view);
        scoped double *diagonal = calloc((size_t)A.rows + 1, sizeof *diagonal);
        uint64_t seed = 4;
        CHECK_OK(cmgi_resident_look_again(ctx, &R));
        for (cmg_size k = 0; k < nnz; ++k) {
            A.values[k] *= 1 + cmgi_random(&seed);
        }
        if (nnz > 0) {
            CHECK_OK(cmgi_to_device(ctx, (void *)(uintptr_t)R.csr.values, A.values,
                                    (size_t)nnz * sizeof *A.values));
        }
        CHECK_OK(cmgi_resident_look_again(ctx, &R));
        cmg_size zero = -1;
        for (cmg_size i = 0; i < A.rows && A.rows == A.cols; ++i) {
            diagonal[i] = cmgi_csr_diagonal_at(&A.view, i);
            zero = diagonal[i] == 0 && zero < 0 ? i : zero;
        }
        CHECK(R.facts.rows.gershgorin == gershgorin(&A.view) && R.facts.zero_diagonal == zero);
        if (A.rows == A.cols) {
            check_array_at(diagonal, R.diagonal, A.rows, sizeof *diagonal);
        }
    }
}

/* The compressed storage of one precision, with a value map. */
static cmg_matrix *compressed_of(const cmg_csr *A, cmg_precision precision)
{
    const cmg_matrix_options options = compressed(precision, CMG_VALUES_FULL, true);
    scoped_resident R = resident_of(A);
    return matrix_there(&R, NULL, &options);
}

/* What compression makes of a matrix is reported of one on the device as of one on the host. */
TEST(compression_is_explained)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    scoped_csr A = grid_matrix(61, -1, true);
    cmg_matrix_options options = compressed(CMG_FP64, CMG_VALUES_FULL, false);
    options.explain = true;
    scoped_resident R = resident_of(&A.view);
    scoped_matrix *M = matrix_new(&A.view, &options);
    scoped_matrix *N = matrix_new(&R.csr, &options);
    CHECK(M->compression != NULL && N->compression != NULL);
    if (M->compression != NULL && N->compression != NULL) {
        CHECK(M->compression->rows == A.rows && M->compression->bytes > 0);
        CHECK(N->compression->rows == A.rows);
        CHECK(N->compression->bytes == M->compression->bytes);
    }
}

/* Matrices of two precisions that get new values are those that are made of them. */
TEST(updated_matrices_are_those_made_anew)
{
    NEEDS(cmgi_resident_kernels_of(ctx) != NULL, "no device");
    for (int s = 0; s <= SUITE; ++s) {
        scoped_csr A = s < SUITE ? suite_make(&suite[s]) : grid_matrix(61, -1, true);
        const cmg_size nnz = A.indptr[A.rows];
        cmg_matrix *both[2] = {compressed_of(&A.view, CMG_FP64), compressed_of(&A.view, CMG_FP32)};
        uint64_t seed = 8;
        FILL(A.values, k, nnz, cmgi_random(&seed) - 0.3);
        scoped_device double *values = copy_there(A.values, nnz, sizeof *values);
        for (int p = 0; p < 2; ++p) {
            CHECK_OK(cmg_matrix_update(both[p], values));
            scoped_matrix *anew = compressed_of(&A.view, p == 0 ? CMG_FP64 : CMG_FP32);
            CHECK(anew->stored == both[p]->stored);
            check_arrays(anew->values, both[p]->values, anew->stored,
                         cmgi_precision_bytes(anew->options.precision));
            cmg_matrix_destroy(&both[p]);
        }
    }
}

TEST(wrong_arrays_are_refused)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_size falling[] = {0, 2, 1};
    const cmg_index outside[] = {0, 7};
    const double values[] = {1, 2};
    const cmg_csr host = {2, 8, indptr, outside, values};
    scoped_csr_there right = csr_there(&host);
    scoped_device cmg_size *d_falling = copy_there(falling, 3, sizeof *falling);
    scoped_matrix *A = NULL;
    const cmg_csr wrong_column = {2, 2, right.indptr, right.indices, right.values};
    const cmg_csr wrong_rows = {2, 8, d_falling, right.indices, right.values};
    const cmg_csr no_values = {2, 8, right.indptr, right.indices, NULL};
    const cmg_csr split = {2, 8, indptr, right.indices, right.values};
    CHECK_REFUSED(cmg_matrix_create_csr(ctx, &wrong_column, NULL, &A), CMG_ERR_SHAPE, "column 7");
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &wrong_rows, NULL, &A), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &no_values, NULL, &A), CMG_ERR_ARG);
    CHECK(A == NULL);
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &split, NULL, &A),
                 cmgi_on_cuda(ctx) ? CMG_ERR_ARG : CMG_OK);
}

/* Storage with new values is that of a new matrix of them, padding too. */
TEST(new_values_of_packed_slices)
{
    for (int k = 0; k < 2 * SUITE; ++k) {
        const suite_row *row = &suite[k / 2];
        scoped_csr A = suite_make(row);
        scoped double *other = random_values(A.indptr[A.rows], 9);
        cmg_csr changed = A.view;
        const cmg_matrix_options options =
            compressed(k % 2 == 0 ? CMG_FP64 : CMG_FP32, CMG_VALUES_FULL, true);
        changed.values = other;
        scoped_matrix *M = matrix_new(&A.view, &options);
        scoped_matrix *fresh = matrix_new(&changed, &options);
        CHECK_OK(cmg_matrix_update(M, other));
        CHECK(M->stored == fresh->stored);
        check_arrays(M->values, fresh->values, M->stored, cmgi_precision_bytes(options.precision));
    }
}
