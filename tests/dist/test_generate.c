/* Rows that every rank generates by itself are those of the whole, bit for bit. */
#include "ranks.h"

#include "hierarchy/own.h"
#include "generated.h"

typedef struct task {
    cmg_generate_options options;
    cmg_hierarchy *whole;
    long wrong;
    int levels;
} task;

static long compare_rows(const cmgi_own_rows *own, const cmg_csr *all)
{
    long wrong = 0;
    for (cmg_size i = 0; i < own->rows; ++i) {
        const cmg_size row = own->first + i;
        const cmg_size begin = all->indptr[row];
        const cmg_size length = all->indptr[row + 1] - begin;
        wrong += own->indptr[i + 1] - own->indptr[i] != length;
        for (cmg_size k = 0; k < length && wrong == 0; ++k) {
            const double a = own->values[own->indptr[i] + k];
            const double b = all->values[begin + k];
            wrong += own->indices[own->indptr[i] + k] != all->indices[begin + k];
            wrong += memcmp(&a, &b, sizeof a) != 0;
        }
    }
    return wrong;
}

static long compare_level(const cmg_hierarchy *h, const cmg_hierarchy *whole, int l)
{
    const cmgi_own_level *own = &h->own->level[l];
    const cmg_csr A = whole->level[l].A.view;
    long wrong = own->A.indptr != NULL ? compare_rows(&own->A, &A) : 0;
    if (l + 1 < whole->levels) {
        const cmg_csr P = whole->level[l].P.view;
        wrong += compare_rows(&own->P, &P);
    }
    return wrong;
}

static long compare_rhs(const cmg_hierarchy *h, const cmg_hierarchy *whole)
{
    const double *mine = NULL;
    const double *all = NULL;
    cmg_size count = 0;
    cmg_size n = 0;
    cmg_size first = 0;
    cmg_size rows = 0;
    (void)cmg_hierarchy_own_rows(h, 0, &first, &rows);
    (void)cmg_hierarchy_get_vector(h, 0, "rhs", "b", &count, &mine);
    (void)cmg_hierarchy_get_vector(whole, 0, "rhs", "b", &n, &all);
    return count != rows || first + rows > n ||
           memcmp(mine, all + first, (size_t)rows * sizeof *all) != 0;
}

static cmg_status generate_rank(void *user, const cmg_transport *transport)
{
    task *t = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    long wrong = 0;
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_generate(mine, &t->options, &h);
    if (rank_end(transport, mine, status) == CMG_OK && h->levels == t->whole->levels) {
        for (int l = 0; l < h->levels; ++l) {
            wrong += compare_level(h, t->whole, l);
        }
        wrong += compare_rhs(h, t->whole);
    }
    __atomic_add_fetch(&t->wrong, status == CMG_OK ? wrong : 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->levels, status == CMG_OK ? h->levels : -1, __ATOMIC_SEQ_CST);
    return status;
}

static void compare(const char *text)
{
    static const int ranks[] = {1, 2, 3, 8, 40};
    task t = {.options = generate_options("%s", text)};
    scoped_hierarchy *whole = hierarchy_generated(&t.options);
    t.whole = whole;
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
        t.wrong = 0;
        run_ranks(ranks[r], 60, generate_rank, &t, CMG_OK, "");
        CHECK_SAY(t.wrong == 0, "%s, %d ranks: %ld wrong", text, ranks[r], t.wrong);
        CHECK(t.levels == t.whole->levels);
    }
}

TEST(grids)
{
    compare("dim=2 cells=32");
    compare("dim=3 cells=16 distort=0.3 coefficient=smooth");
    compare("dim=3 cells=8 element=q2 dirichlet=identity");
    compare("dim=2 cells=16 dirichlet=identity-keep problem=convection");
    compare("dim=2 cells=12 problem=elasticity distort=0.2");
    compare("dim=2 cells=16 problem=heat dirichlet=neumann");
    compare("dim=3 cells=8 dirichlet-labels=left,top");
    compare("dim=2 cells=16 coarse=galerkin");
}

/* What has no slabs is made as a whole and divided. */
TEST(others)
{
    compare("dim=2 cells=16 element=p1");
    compare("dim=2 shape=annulus cells=4");
    compare("dim=2 cells=16 numbering=cells");
}
