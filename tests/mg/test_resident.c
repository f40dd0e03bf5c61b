/*
 * A hierarchy whose matrices are on the device gives the solver that the same hierarchy on the host
 * gives: storage, dampings and iterates are bitwise equal. On the CPU backend all of it is on
 * the host, and the tests see that nothing is different.
 */
#include "twins.h"
#include "generated.h"

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
        scoped_twin twin = twin_of(h, k % 2 == 0);
        cmg_solver_options o = solver_options("%s", options_text[k]);
        o.matrix.keep_map = k >= 3;
        scoped_solver *s = solver_new(h, &o);
        scoped_solver *t = solver_new(twin.h, &o);
        if (s != NULL && t != NULL) {
            check_levels(&s->mg.levels, &t->mg.levels);
            check_solves(s, t);
            check_staged(h, &o, s);
            if (o.matrix.keep_map) {
                check_refresh(h, 1.25, h, &twin, s, t);
                check_refresh(h, 1.25, h, &twin, s, t);
            }
        }
    }
}

TEST(generated_hierarchies)
{
    static const char *const meshes[] = {"element=q1 dim=2 cells=48", "element=q1 dim=3 cells=16",
                                         "element=q1 dim=3 cells=12 distort=0.2",
                                         "element=p1 dim=2 cells=24 distort=0.2",
                                         "element=q1 dim=2 cells=24 dirichlet=identity"};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; ++m) {
        scoped_hierarchy *h = generated("levels=3 %s", meshes[m]);
        if (h != NULL) {
            compare(h);
        }
    }
}

/* A diagonal of the next level that is larger: its matrix has another density of eigenvalues. */
static void spoil_next(cmg_hierarchy *h)
{
    const cmg_csr A = csr_of(h, 1, CMG_ROLE_A);
    scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
    EACH_ENTRY (&A, i, k) {
        values[k] *= A.indices[k] == i ? 3 : 1;
    }
    cmg_csr spoiled = A;
    spoiled.values = values;
    CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &spoiled));
}

/*
 * The bounds of a level are those of the next one where both are one stencil, and then differ from
 * those of an estimate by little; else they are these, on a mesh that is distorted, too. A solve
 * that fails may make them anew, apart from each other.
 */
TEST(bounds_begin_with_the_next_level)
{
    for (int k = 0; k < 3; ++k) {
        scoped_hierarchy *h = generated("dim=2 cells=160 levels=3 distort=%g", /* 79 x 79 below */
                                        k == 1 ? 0.1 : 0);
        if (k == 2) {
            spoil_next(h);
        }
        scoped_twin twin = twin_of(h, false);
        scoped_solver *s = solver_with(twin.h, "galerkin=missing");
        const cmgi_smoother *first = &s->mg.levels.level[0].smoother;
        const double omega = first->omega[0];
        CHECK(k > 0 || omega == s->mg.levels.level[1].smoother.omega[0]); /* no step is taken */
        CHECK(first->renewed == (k == 0) && s->mg.borrowed == (k == 0));
        CHECK(!s->mg.levels.level[1].smoother.renewed); /* level 2 is too small */
        s->mg.apart = true;
        cmgi_multigrid_clear(&s->mg);
        CHECK_OK(cmgi_multigrid_build(&s->mg));
        first = &s->mg.levels.level[0].smoother;
        CHECK(!first->renewed && !s->mg.borrowed);
        CHECK_NEAR(first->omega[0] / omega, 1, k == 0 ? 0.03 : 0);
    }
}

/* How often a set-up on a device waits for it depends on its levels, not on their rows. */
TEST(waits_do_not_grow_with_rows)
{
    enum { LEVELS = 3, A_LEVEL = 12 };
    for (int cells = 48; cells <= 192; cells *= 2) {
        scoped_hierarchy *h = generated("dim=2 cells=%d levels=%d", cells, LEVELS);
        scoped_twin twin = twin_of(h, false);
        const long long before = ctx->waits;
        scoped_solver *s = solver_with(twin.h, "format=compressed precision=mixed coarsen=false");
        CHECK(s != NULL && ctx->waits - before <= LEVELS * A_LEVEL);
    }
}

TEST(hierarchies_made_by_others)
{
    static const char *const names[] = {"hier/honei_poisson_q1", "hier/raptor_rss"};
    NEEDS(test_shared_data() != NULL, "hierarchies made by others: no shared data");
    for (int i = 0; i < 2; ++i) {
        scoped_hierarchy *h = NULL;
        const char *path = sprint("%s/%s", test_shared_data(), names[i]);
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
        if (h != NULL) {
            compare(h);
        }
    }
}

/* What is wrong with arrays is said before anything reads them. */
TEST(wrong_arrays_are_refused)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_index indices[] = {0, 1};
    const double values[] = {2, 3};
    const double infinite[] = {2, INFINITY};
    const double hollow[] = {2, 0};
    cmg_csr good = {2, 2, indptr, indices, values};
    scoped_csr_there there = csr_there(&good);
    scoped_device double *d_infinite = copy_there(infinite, 2, sizeof *infinite);
    scoped_device double *d_hollow = copy_there(hollow, 2, sizeof *hollow);
    scoped_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_wrap_csr(h, 0, CMG_ROLE_A, NULL, 0, &there));
    CHECK_OK(cmg_hierarchy_check(h));
    CHECK_REFUSED(cmg_hierarchy_update(h, 0, CMG_ROLE_A, d_infinite), CMG_ERR_ARG,
                  "row 1, column 1: value inf");
    CHECK_REFUSED(cmg_hierarchy_update(h, 0, CMG_ROLE_A, d_hollow), CMG_ERR_ARG,
                  "row 1: the diagonal is zero");
    CHECK_OK(cmg_hierarchy_check(h)); /* the old ones are there */
    if (cmgi_on_cuda(
            ctx)) { /* borrowed on the device: values on the host cannot take their place */
        CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values), CMG_ERR_ARG);
        const cmg_csr split = {2, 2, there.indptr, indices, there.values};
        CHECK_REFUSED(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &split), CMG_ERR_ARG,
                      "indices is no memory of device");
    }
    cmg_csr view;
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, there.values));
    view = csr_of(h, 0, CMG_ROLE_A); /* on the host */
    CHECK(view.values[0] == 2 && view.values[1] == 3 && view.indices[1] == 1);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &there)); /* copied */
    const double *const refused[] = {d_infinite, d_hollow, infinite, hollow};
    const double *const taken[] = {there.values, values, there.values, values};
    for (int k = 0; k < 4; ++k) {
        CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, refused[k]), CMG_ERR_ARG);
        CHECK_OK(cmg_hierarchy_check(h));
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, taken[k]));
        view = csr_of(h, 0, CMG_ROLE_A);
        CHECK(view.values[0] == 2 && view.values[1] == 3);
    }
}

/* Row pointers of 32 bits and values in fp32, here or there, give the matrix in cmg_csr's types. */
TEST(other_types_are_taken)
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
        if (there) {
            M.indptr = copy_there(indptr, 4, (size_t)M.indptr_bits / 8);
            M.indices = copy_there(indices, 3, sizeof *indices);
            M.values = copy_there(values, 3, size);
            changed = copy_there(other, 3, sizeof *other);
        }
        scoped_hierarchy *h = hierarchy_new(2);
        CHECK_OK(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_P, &M));
        CHECK((cmgi_hierarchy_there(h, 0, CMG_ROLE_P) != NULL) == (there && cmgi_on_cuda(ctx)));
        cmg_csr view = csr_of(h, 0, CMG_ROLE_P);
        CHECK(memcmp(view.indptr, wide, sizeof wide) == 0);
        CHECK(memcmp(view.indices, indices, sizeof indices) == 0);
        CHECK(memcmp(view.values, full, sizeof full) == 0);
        CHECK_OK(cmg_hierarchy_update_typed(h, 0, CMG_ROLE_P, changed, CMG_FP32));
        view = csr_of(h, 0, CMG_ROLE_P);
        CHECK(view.values[0] == 4 && view.values[1] == 0.25 && view.values[2] == 5);
        if (there) {
            cmgi_free_device(ctx, (void *)(uintptr_t)M.indptr);
            cmgi_free_device(ctx, (void *)(uintptr_t)M.indices);
            cmgi_free_device(ctx, (void *)(uintptr_t)M.values);
            cmgi_free_device(ctx, (void *)(uintptr_t)changed);
        }
    }
}

TEST(other_types_that_are_none_are_refused)
{
    const int32_t indptr[] = {0, 1, 2};
    const int32_t descending[] = {0, 2, 1};
    const int32_t negative[] = {0, 1, -1};
    const cmg_index indices[] = {0, 1};
    const float values[] = {2, 3};
    const cmg_typed_csr good = {2, 2, indptr, 32, indices, values, CMG_FP32};
    cmg_typed_csr M = good;
    scoped_hierarchy *h = hierarchy_new(1);
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
        CHECK_REFUSED(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &M), CMG_ERR_ARG,
                      "indices is no memory of device");
        cmgi_free_device(ctx, (void *)(uintptr_t)M.indptr);
    }
    CHECK_OK(cmg_hierarchy_set_typed(h, 0, CMG_ROLE_A, &good));
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
TEST(stopped_refresh_is_made_up_for)
{
    const cmg_solver_options o = solver_options("format=compressed precision=mixed keep_map");
    int stops = 0;
    scoped_hierarchy *h = generated("dim=3 cells=12 levels=3");
    scoped_twin twin = twin_of(h, false);
    scoped_solver *s = solver_new(h, &o);
    scoped_solver *t = solver_new(twin.h, &o);
    for (bool through = false; !through && stops < 16; stops += !through) {
        int left = stops;
        ctx->options.progress = stop_later;
        ctx->options.progress_user = &left;
        const cmg_status status = cmg_solver_refresh(t);
        ctx->options.progress = NULL;
        ctx->options.progress_user = NULL;
        through = status == CMG_OK;
        CHECK(through || status == CMG_ERR_STATE);
        check_refresh(h, 1.25, h, &twin, s, t);
    }
    CHECK(stops >= 2 && stops < 16); /* a coarse level and more */
}
