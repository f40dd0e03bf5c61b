/*
 * A hierarchy whose matrices are on the device gives the solver that the same hierarchy on the host
 * gives: storage, dampings and iterates are equal to the bit. On the CPU backend all of it is on
 * the host, and the tests see that nothing is different there.
 */
#include "cmg_fem.h"

#include "twins.h"

static const char *const options_text[] = {"format=compressed precision=mixed",
                                           "precision=fp64",
                                           "format=sell smoother=jacobi",
                                           "format=compressed precision=mixed",
                                           "format=compressed precision=mixed galerkin=always",
                                           "galerkin=always reuse=bounds",
                                           "precision=mixed smoother=fsai"};

static void compare(cmg_hierarchy *h)
{
    for (size_t k = 0; k < sizeof options_text / sizeof *options_text; ++k) {
        cmg_csr arrays[MOST_ARRAYS];
        cmg_hierarchy *twin = twin_of(h, k % 2 == 0, arrays);
        cmg_solver *s = NULL;
        cmg_solver *t = NULL;
        cmg_solver_options o;
        cmg_solver_options_default(&o);
        CHECK_OK(cmg_solver_options_set(&o, options_text[k]));
        o.matrix.keep_map = k >= 3;
        CHECK_OK(cmg_solver_create(h, &o, &s));
        CHECK_OK(cmg_solver_create(twin, &o, &t));
        if (s != NULL && t != NULL) {
            check_levels(&s->mg.levels, &t->mg.levels);
            check_solves(s, t, cmg_hierarchy_rows(h, 0));
            check_staged(h, &o, s);
            if (o.matrix.keep_map) {
                check_refresh(h, 1.25, h, twin, s, t);
                check_refresh(h, 1.25, h, twin, s, t);
            }
        }
        cmg_solver_destroy(&s);
        cmg_solver_destroy(&t);
        cmg_hierarchy_destroy(&twin);
        for (int a = 0; a < MOST_ARRAYS; ++a) {
            free_there(&arrays[a]);
        }
    }
}

static void generated_hierarchies(void)
{
    static const struct {
        cmg_element element;
        int dim;
        cmg_size cells;
        double distort;
        bool boundary;
    } meshes[] = {{CMG_ELEMENT_Q1, 2, 48, 0, false},
                  {CMG_ELEMENT_Q1, 3, 16, 0, false},
                  {CMG_ELEMENT_Q1, 3, 12, 0.2, false},
                  {CMG_ELEMENT_P1, 2, 24, 0.2, false},
                  {CMG_ELEMENT_Q1, 2, 24, 0, true}};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; ++m) {
        cmg_generate_options g;
        cmg_hierarchy *h = NULL;
        cmg_generate_options_default(&g);
        g.element = meshes[m].element;
        g.dim = meshes[m].dim;
        g.cells = meshes[m].cells;
        g.levels = 3;
        g.distort = meshes[m].distort;
        g.boundary = meshes[m].boundary ? CMG_BOUNDARY_IDENTITY : CMG_BOUNDARY_ELIMINATE;
        CHECK_OK(cmg_hierarchy_generate(ctx, &g, &h));
        if (h != NULL) {
            compare(h);
        }
        cmg_hierarchy_destroy(&h);
    }
}

/* A diagonal of the next level that is larger: its matrix has another density of eigenvalues. */
static void spoil_next(cmg_hierarchy *h)
{
    cmg_csr A;
    CHECK_OK(cmg_hierarchy_get_csr(h, 1, CMG_ROLE_A, NULL, 0, &A));
    double *values = malloc((size_t)A.indptr[A.rows] * sizeof *values);
    for (cmg_size i = 0; i < A.rows; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            values[k] = A.values[k] * (A.indices[k] == i ? 3 : 1);
        }
    }
    cmg_csr spoiled = A;
    spoiled.values = values;
    CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &spoiled));
    free(values);
}

/*
 * The bounds of a level rest on those of the next one where three steps of Lanczos come out like
 * there, and then differ from those of a whole estimate by little; else they are these. A solve
 * that fails may make them anew, apart from each other.
 */
static void bounds_begin_with_the_next_level(void)
{
    for (int k = 0; k < 3; ++k) {
        cmg_csr arrays[MOST_ARRAYS];
        cmg_generate_options g;
        cmg_solver_options o;
        cmg_hierarchy *h = NULL;
        cmg_solver *s = NULL;
        cmg_generate_options_default(&g);
        g.dim = 2;
        g.cells = 160; /* 79 x 79 unknowns below */
        g.levels = 3;
        g.distort = k == 1 ? 0.1 : 0;
        CHECK_OK(cmg_hierarchy_generate(ctx, &g, &h));
        if (k == 2) {
            spoil_next(h);
        }
        cmg_solver_options_default(&o);
        CHECK_OK(cmg_solver_options_set(&o, "galerkin=missing"));
        cmg_hierarchy *twin = twin_of(h, false, arrays);
        CHECK_OK(cmg_solver_create(twin, &o, &s));
        const cmgi_smoother *first = &s->mg.levels.level[0].smoother;
        const double omega = first->omega[0];
        if (k == 0) { /* one stencil: no step is taken */
            CHECK(omega == s->mg.levels.level[1].smoother.omega[0]);
        }
        CHECK(first->renewed == (k < 2) && s->mg.borrowed == (k < 2));
        CHECK(!s->mg.levels.level[1].smoother.renewed); /* level 2 is too small */
        s->mg.apart = true;
        cmgi_multigrid_clear(&s->mg);
        CHECK_OK(cmgi_multigrid_build(&s->mg));
        CHECK(!first->renewed && !s->mg.borrowed);
        CHECK_NEAR(first->omega[0] / omega, 1, k < 2 ? 0.03 : 0);
        cmg_solver_destroy(&s);
        cmg_hierarchy_destroy(&twin);
        for (int a = 0; a < MOST_ARRAYS; ++a) {
            free_there(&arrays[a]);
        }
        cmg_hierarchy_destroy(&h);
    }
}

/* How often a set-up on a device waits for it depends on its levels, not on their rows. */
static void waits_do_not_grow_with_rows(void)
{
    enum { LEVELS = 3, A_LEVEL = 12 };
    for (cmg_size cells = 48; cells <= 192; cells *= 2) {
        cmg_csr arrays[MOST_ARRAYS];
        cmg_generate_options g;
        cmg_solver_options o;
        cmg_hierarchy *h = NULL;
        cmg_solver *s = NULL;
        cmg_generate_options_default(&g);
        g.dim = 2;
        g.cells = cells;
        g.levels = LEVELS;
        CHECK_OK(cmg_hierarchy_generate(ctx, &g, &h));
        cmg_hierarchy *twin = twin_of(h, false, arrays);
        cmg_solver_options_default(&o);
        CHECK_OK(cmg_solver_options_set(&o, "format=compressed precision=mixed coarsen=false"));
        const long long before = ctx->waits;
        CHECK_OK(cmg_solver_create(twin, &o, &s));
        CHECK(ctx->waits - before <= LEVELS * A_LEVEL);
        cmg_solver_destroy(&s);
        cmg_hierarchy_destroy(&twin);
        for (int a = 0; a < MOST_ARRAYS; ++a) {
            free_there(&arrays[a]);
        }
        cmg_hierarchy_destroy(&h);
    }
}

static void hierarchies_made_by_others(void)
{
    static const char *const names[] = {"hier/honei_poisson_q1", "hier/raptor_rss"};
    if (test_shared_data() == NULL) {
        SKIP("hierarchies made by others: no shared data");
        return;
    }
    for (int i = 0; i < 2; ++i) {
        char path[1024];
        cmg_hierarchy *h = NULL;
        (void)snprintf(path, sizeof path, "%s/%s", test_shared_data(), names[i]);
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
        if (h != NULL) {
            compare(h);
        }
        cmg_hierarchy_destroy(&h);
    }
}

/* What is wrong with arrays is said before anything reads them. */
static void wrong_arrays_are_refused(void)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_index indices[] = {0, 1};
    const double values[] = {2, 3};
    const double infinite[] = {2, INFINITY};
    const double hollow[] = {2, 0};
    cmg_hierarchy *h = NULL;
    cmg_csr good = {2, 2, indptr, indices, values};
    const cmg_csr there = csr_there(&good);
    const double *d_infinite = copy_there(infinite, 2, sizeof *infinite);
    const double *d_hollow = copy_there(hollow, 2, sizeof *hollow);
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &h));
    CHECK_OK(cmg_hierarchy_wrap_csr(h, 0, CMG_ROLE_A, NULL, 0, &there));
    CHECK_OK(cmg_hierarchy_check(h));
    CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, d_infinite), CMG_ERR_ARG);
    CHECK(strstr(cmg_context_message(ctx), "row 1, column 1: value inf") != NULL);
    CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, d_hollow), CMG_ERR_ARG);
    CHECK(strstr(cmg_context_message(ctx), "row 1: the diagonal is zero") != NULL);
    CHECK_OK(cmg_hierarchy_check(h)); /* the old ones are there */
    if (cmgi_on_cuda(
            ctx)) { /* borrowed on the device: values on the host cannot take their place */
        CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values), CMG_ERR_ARG);
        const cmg_csr split = {2, 2, there.indptr, indices, there.values};
        CHECK_STATUS(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &split), CMG_ERR_ARG);
        CHECK(strstr(cmg_context_message(ctx), "indices is no memory of device") != NULL);
    }
    cmg_csr view;
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, there.values));
    CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &view)); /* on the host */
    CHECK(view.values[0] == 2 && view.values[1] == 3 && view.indices[1] == 1);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &there)); /* copied */
    const double *const refused[] = {d_infinite, d_hollow, infinite, hollow};
    const double *const taken[] = {there.values, values, there.values, values};
    for (int k = 0; k < 4; ++k) {
        CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, refused[k]), CMG_ERR_ARG);
        CHECK_OK(cmg_hierarchy_check(h));
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, taken[k]));
        CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &view));
        CHECK(view.values[0] == 2 && view.values[1] == 3);
    }
    cmg_hierarchy_destroy(&h);
    free_there(&there);
    cmgi_free_device(ctx, (void *)(uintptr_t)d_infinite);
    cmgi_free_device(ctx, (void *)(uintptr_t)d_hollow);
}

/* Row pointers of 32 bits and values in fp32, here or there, give the matrix in cmg_csr's types. */
static void other_types_are_taken(void)
{
    const int32_t narrow[] = {0, 2, 2, 3};
    const int64_t wide[] = {0, 2, 2, 3};
    const cmg_index indices[] = {0, 2, 1};
    const float single[] = {1.5F, -2, 3};
    const float other[] = {4, 0.25F, 5};
    const double full[] = {1.5, -2, 3};
    for (int k = 0; k < 8; ++k) {
        const bool there = k / 4 == 1;
        const void *const indptr = k % 2 == 0 ? (const void *)narrow : wide;
        const void *const values = k / 2 % 2 == 0 ? (const void *)single : full;
        const size_t size = k / 2 % 2 == 0 ? sizeof *single : sizeof *full;
        cmg_typed_csr M = {3,
                           3,
                           indptr,
                           k % 2 == 0 ? 32 : 64,
                           indices,
                           values,
                           k / 2 % 2 == 0 ? CMG_FP32 : CMG_FP64};
        const float *changed = other;
        cmg_hierarchy *h = NULL;
        cmg_csr view;
        if (there) {
            M.indptr = copy_there(indptr, 4, (size_t)M.indptr_bits / 8);
            M.indices = copy_there(indices, 3, sizeof *indices);
            M.values = copy_there(values, 3, size);
            changed = copy_there(other, 3, sizeof *other);
        }
        CHECK_OK(cmg_hierarchy_create(ctx, 2, &h));
        CHECK_OK(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_P, &M));
        CHECK((cmgi_hierarchy_there(h, 0, CMG_ROLE_P) != NULL) == (there && cmgi_on_cuda(ctx)));
        CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_P, NULL, 0, &view));
        CHECK(memcmp(view.indptr, wide, sizeof wide) == 0);
        CHECK(memcmp(view.indices, indices, sizeof indices) == 0);
        CHECK(memcmp(view.values, full, sizeof full) == 0);
        CHECK_OK(cmg_hierarchy_update_typed(h, 0, CMG_ROLE_P, changed, CMG_FP32));
        CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_P, NULL, 0, &view));
        CHECK(view.values[0] == 4 && view.values[1] == 0.25 && view.values[2] == 5);
        if (there) {
            cmgi_free_device(ctx, (void *)(uintptr_t)M.indptr);
            cmgi_free_device(ctx, (void *)(uintptr_t)M.indices);
            cmgi_free_device(ctx, (void *)(uintptr_t)M.values);
            cmgi_free_device(ctx, (void *)(uintptr_t)changed);
        }
        cmg_hierarchy_destroy(&h);
    }
}

static void other_types_that_are_none_are_refused(void)
{
    const int32_t indptr[] = {0, 1, 2};
    const int32_t descending[] = {0, 2, 1};
    const int32_t negative[] = {0, 1, -1};
    const cmg_index indices[] = {0, 1};
    const float values[] = {2, 3};
    const cmg_typed_csr good = {2, 2, indptr, 32, indices, values, CMG_FP32};
    cmg_typed_csr M = good;
    cmg_hierarchy *h = NULL;
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &h));
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_INVERSE, &good), CMG_ERR_ARG);
    M.indptr_bits = 16;
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_ARG);
    M = good;
    M.values = NULL;
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_ARG);
    M = good;
    M.indptr = descending;
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_SHAPE);
    M.indptr = negative;
    CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_hierarchy_update_typed(h, 0, CMG_ROLE_A, values, CMG_FP32), CMG_ERR_STATE);
    if (cmgi_on_cuda(ctx)) {
        M = good;
        M.indptr = copy_there(indptr, 3, sizeof *indptr);
        CHECK_STATUS(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_ARG);
        CHECK(strstr(cmg_context_message(ctx), "indices is no memory of device") != NULL);
        cmgi_free_device(ctx, (void *)(uintptr_t)M.indptr);
    }
    CHECK_OK(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &good));
    cmg_hierarchy_destroy(&h);
}

/* Goes on as often as `user` says, then stops. */
static int stop_later(void *user, const char *what, cmg_size done, cmg_size total)
{
    int *left = user;
    (void)what;
    (void)done;
    (void)total;
    return (*left)-- <= 0;
}

/* A refresh that was stopped, wherever that was, leaves nothing that the next takes for made. */
static void stopped_refresh_is_made_up_for(void)
{
    cmg_csr arrays[MOST_ARRAYS];
    cmg_generate_options g;
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_solver *t = NULL;
    cmg_solver_options o;
    int stops = 0;
    cmg_generate_options_default(&g);
    g.dim = 3;
    g.cells = 12;
    g.levels = 3;
    CHECK_OK(cmg_hierarchy_generate(ctx, &g, &h));
    cmg_hierarchy *twin = twin_of(h, false, arrays);
    cmg_solver_options_default(&o);
    CHECK_OK(cmg_solver_options_set(&o, "format=compressed precision=mixed keep_map"));
    CHECK_OK(cmg_solver_create(h, &o, &s));
    CHECK_OK(cmg_solver_create(twin, &o, &t));
    for (bool through = false; !through && stops < 16; stops += !through) {
        int left = stops;
        ctx->options.progress = stop_later;
        ctx->options.progress_user = &left;
        const cmg_status status = cmg_solver_refresh(t);
        ctx->options.progress = NULL;
        ctx->options.progress_user = NULL;
        through = status == CMG_OK;
        CHECK(through || status == CMG_ERR_STATE);
        check_refresh(h, 1.25, h, twin, s, t);
    }
    CHECK(stops >= 2 && stops < 16); /* a coarse level and more */
    cmg_solver_destroy(&s);
    cmg_solver_destroy(&t);
    cmg_hierarchy_destroy(&twin);
    cmg_hierarchy_destroy(&h);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(generated_hierarchies);
    RUN(bounds_begin_with_the_next_level);
    RUN(waits_do_not_grow_with_rows);
    RUN(hierarchies_made_by_others);
    RUN(stopped_refresh_is_made_up_for);
    RUN(wrong_arrays_are_refused);
    RUN(other_types_are_taken);
    RUN(other_types_that_are_none_are_refused);
    return TEST_END();
}
