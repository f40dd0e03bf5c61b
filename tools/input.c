/* What a command reads: the hierarchy, the levels in use, right-hand sides and guesses. */
#define _POSIX_C_SOURCE 200809L
#include "input.h"

#include "status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void input_args_add(args *a, input_args *in)
{
    const arg_option rows[] = {
        {"level", ARG_INT, &in->level, "N", 0, 63, "level of the file to take as the finest"},
        {"drop-coarsest", ARG_INT, &in->drop_coarsest, "K", 0, 63,
         "leave out the K coarsest levels"},
    };
    args_add(a, "Levels", rows, ARGS_COUNT(rows));
}

int input_read(input_args *in, device_args *d, cmg_context *ctx, const char *path,
               cmg_hierarchy **h)
{
    const double begin = tool_seconds();
    cmg_hierarchy *made = NULL;
    cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &made);
    progress_end(&d->line);
    in->load_seconds = tool_seconds() - begin;
    if (status != CMG_OK) {
        return library_error(ctx, status, path);
    }
    if (!in->as_stored) {
        status = cmg_hierarchy_galerkin(made, 0); /* A that the file leaves out */
        progress_end(&d->line);
    }
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&made);
        return library_error(ctx, status, path);
    }
    const int levels = cmg_hierarchy_levels(made);
    if (in->level + in->drop_coarsest >= levels) {
        cmg_hierarchy_destroy(&made);
        return usage_error("%s: --level %d and --drop-coarsest %d leave none of %d levels", path,
                           in->level, in->drop_coarsest, levels);
    }
    if (in->level > 0 || in->drop_coarsest > 0) {
        status = cmg_hierarchy_select(made, in->level, in->drop_coarsest);
    }
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&made);
        return library_error(ctx, status, path);
    }
    *h = made;
    return EXIT_DONE;
}

int input_open(input_args *in, device_args *d, const char *path, cmg_context **ctx,
               cmg_hierarchy **h)
{
    const int status = device_open(d, ctx);
    return THEN(status, input_read(in, d, *ctx, path, h));
}

/* A vector in the context's memory with n x columns values from the host. */
static cmg_status make_vector(cmg_context *ctx, cmg_size n, int columns, const double *values,
                              cmg_vector **x)
{
    cmg_vector *made = NULL;
    cmg_status status = cmg_vector_create_columns(ctx, n, columns, CMG_FP64, &made);
    status = THEN(status, cmg_vector_set(made, values));
    if (status != CMG_OK) {
        cmg_vector_destroy(&made);
        return status;
    }
    *x = made;
    return CMG_OK;
}

/* A vector of level 0 from a file of its own, of as many columns as the hierarchy's has. */
static int vector_from_file(cmg_context *ctx, const cmg_hierarchy *h, const char *path,
                            cmg_vector **x)
{
    const cmg_size rows = cmg_hierarchy_rows(h, 0);
    cmg_size n = 0;
    int columns = 1;
    double *values = NULL;
    cmg_status status = cmg_columns_read(ctx, path, &n, &columns, &values);
    if (status == CMG_OK && n != rows) {
        cmg_free(values);
        return file_error(path, "has %lld entries, A has %lld rows", (long long)n, (long long)rows);
    }
    status = THEN(status, make_vector(ctx, n, columns, values, x));
    cmg_free(values);
    return status == CMG_OK ? EXIT_DONE : library_error(ctx, status, path);
}

/* A vector of level 0 that the hierarchy holds. */
static int vector_from_hierarchy(cmg_context *ctx, const cmg_hierarchy *h, const char *path,
                                 const char *kind, const char *name, cmg_vector **x)
{
    cmg_size n = 0;
    const double *values = NULL;
    cmg_status status = cmg_hierarchy_get_vector(h, 0, kind, name, &n, &values);
    if (status == CMG_OK && n != cmg_hierarchy_rows(h, 0)) {
        return file_error(path, "vector %s of %s has %lld entries, A has %lld rows", name, kind,
                          (long long)n, (long long)cmg_hierarchy_rows(h, 0));
    }
    status = THEN(status, make_vector(ctx, n, 1, values, x));
    return status == CMG_OK ? EXIT_DONE : library_error(ctx, status, path);
}

static bool has_vector(const cmg_hierarchy *h, const char *kind, const char *wanted)
{
    const char *name = NULL;
    for (int i = 0; (name = cmg_hierarchy_vector_name(h, kind, i)) != NULL; ++i) {
        if (strcmp(name, wanted) == 0) {
            return true;
        }
    }
    return false;
}

const char *input_default_name(const cmg_hierarchy *h, const char *kind, const char *preferred)
{
    return has_vector(h, kind, preferred) ? preferred : cmg_hierarchy_vector_name(h, kind, 0);
}

/* What ones are to A: b of ones is solved by one step where all row sums are one number, and lies
 * outside the range of a symmetric A where they are 0. */
typedef enum row_sums { SUMS_DIFFER, SUMS_EQUAL, SUMS_ZERO } row_sums;

static row_sums judge_row_sums(const cmg_csr *A)
{
    double least = INFINITY;
    double most = -INFINITY;
    double size = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k];
            size = fmax(size, fabs(A->values[k]));
        }
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    if (A->rows < 2 || !(most - least <= 1e-12 * size)) {
        return SUMS_DIFFER;
    }
    return fabs(most) <= 1e-12 * size ? SUMS_ZERO : SUMS_EQUAL;
}

/* Entry i of the stream of numbers in [-1, 1) that SplitMix64 makes (Steele, Lea, Flood 2014). */
static double random_entry(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

/* Entry i of A x. */
static double product_with_random(const cmg_csr *A, cmg_size i)
{
    double sum = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        sum += A->values[k] * random_entry((uint64_t)A->indices[k]);
    }
    return sum;
}

/* Ones, or random numbers where ones would be no test: as b, or as x of b = A x. */
static int rhs_unasked(cmg_context *ctx, const cmg_hierarchy *h, cmg_vector **b,
                       char said[INPUT_TEXT])
{
    static const char *const words[] = {
        "ones (there is none in the file for this level)",
        ("random in [-1, 1) (none in the file for this level, and A takes constants to constants: "
         "ones are solved by one step)"),
        "A x of random x in [-1, 1) (none in the file for this level, and A takes constants to 0)"};
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_csr A = {0};
    const row_sums sums = cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A) == CMG_OK
                              ? judge_row_sums(&A)
                              : SUMS_DIFFER;
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof *values);
    if (values == NULL) {
        return library_error(ctx, CMG_ERR_MEMORY, NULL);
    }
    for (cmg_size i = 0; i < n; ++i) {
        values[i] = sums == SUMS_ZERO    ? product_with_random(&A, i)
                    : sums == SUMS_EQUAL ? random_entry((uint64_t)i)
                                         : 1;
    }
    (void)snprintf(said, INPUT_TEXT, "%s", words[sums]);
    const cmg_status status = make_vector(ctx, n, 1, values, b);
    free(values);
    return status == CMG_OK ? EXIT_DONE : library_error(ctx, status, NULL);
}

/* A name that is neither a vector of the hierarchy nor a file: which vectors there are. */
static int refuse_name(const cmg_hierarchy *h, const char *path, const char *kind,
                       const char *wanted)
{
    char names[INPUT_TEXT] = "";
    size_t used = 0;
    const char *name = NULL;
    for (int i = 0; (name = cmg_hierarchy_vector_name(h, kind, i)) != NULL && used < sizeof names;
         ++i) {
        const int n = snprintf(names + used, sizeof names - used, i > 0 ? ", %s" : "%s", name);
        used += n > 0 ? (size_t)n : 0;
    }
    return file_error(wanted, "no such file, and %s has %s%s", path,
                      names[0] != '\0' ? "the vectors " : "no vectors of that kind", names);
}

int input_rhs(cmg_context *ctx, const cmg_hierarchy *h, const char *path, const char *wanted,
              cmg_vector **b, char said[INPUT_TEXT])
{
    const char *name = wanted != NULL ? wanted : input_default_name(h, "rhs", "b");
    if (name == NULL) {
        return rhs_unasked(ctx, h, b, said);
    }
    if (has_vector(h, "rhs", name)) {
        (void)snprintf(said, INPUT_TEXT, "'%.80s' of the file", name);
        return vector_from_hierarchy(ctx, h, path, "rhs", name, b);
    }
    (void)snprintf(said, INPUT_TEXT, "file %.120s", name);
    if (access(name, F_OK) != 0 && errno == ENOENT) {
        return refuse_name(h, path, "rhs", name);
    }
    return vector_from_file(ctx, h, name, b);
}

int input_guess(cmg_context *ctx, const cmg_hierarchy *h, const char *path, const char *wanted,
                cmg_vector **x)
{
    if (has_vector(h, "solutions", wanted)) {
        return vector_from_hierarchy(ctx, h, path, "solutions", wanted, x);
    }
    if (access(wanted, F_OK) != 0 && errno == ENOENT) {
        return refuse_name(h, path, "solutions", wanted);
    }
    return vector_from_file(ctx, h, wanted, x);
}
