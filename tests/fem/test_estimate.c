/* What cmg_generate_estimate says of a hierarchy before it is made, against what it comes to. */
#include "small.h"

static size_t csr_bytes(const cmg_csr *A)
{
    return (size_t)A->indptr[A->rows] * (sizeof(cmg_index) + sizeof(double)) +
           (size_t)(A->rows + 1) * sizeof(cmg_size);
}

/* Matrices, coordinates of all levels, vectors of the finest. */
static size_t array_bytes(const cmg_hierarchy *h, const cmg_generate_size *size, int vectors)
{
    size_t bytes = (size_t)vectors * (size_t)size->rows * sizeof(double);
    for (int l = 0; l < size->levels; ++l) {
        const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
        bytes += csr_bytes(&A) + (size_t)(A.rows / size->block_size * size->dim) * sizeof(double);
        if (l + 1 < size->levels) {
            const cmg_csr P = csr_of(h, l, CMG_ROLE_P);
            bytes += csr_bytes(&P);
        }
    }
    return bytes;
}

TEST(estimates_are_exact_on_grids)
{
    for (int c = 0; c < 32; ++c) {
        cmg_generate_options o = small(2 + c % 2, c / 2 % 2 ? CMG_ELEMENT_Q2 : CMG_ELEMENT_Q1);
        generate_set(&o, "dirichlet=%s problem=%s dirichlet-labels=left",
                     FEM_WORD("boundary", c / 4 % 4), c / 16 ? "elasticity" : "poisson");
        cmg_generate_size size = {.size = sizeof size};
        size_t before[2];
        size_t after[2];
        size_t peak[2];
        cmg_context_memory(ctx, before, NULL);
        CHECK_OK(cmg_generate_estimate(ctx, &o, &size));
        scoped_hierarchy *h = hierarchy_generated(&o);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        CHECK(size.exact && size.rows == A.rows && size.nnz == A.indptr[A.rows]);
        CHECK(size.levels == cmg_hierarchy_levels(h));
        cmg_context_memory(ctx, after, peak);
        /* names, attributes and the hierarchy itself come on top */
        CHECK(after[0] - before[0] >= size.bytes);
        CHECK(after[0] - before[0] < size.bytes + 100000);
        const size_t with_mesh = size.bytes;
        o.output_mesh = false;
        CHECK_OK(cmg_generate_estimate(ctx, &o, &size));
        CHECK(size.bytes == array_bytes(h, &size, o.load == CMG_LOAD_SOURCE ? 1 : 2));
        CHECK(with_mesh > size.bytes);
    }
}

/*
 * On meshes without Dirichlet rows the unknowns follow from vertices, edges, faces and cells, and
 * are exact; entries a row are those of large meshes, and boundaries have fewer. Elimination takes
 * rows away, and the estimate at most a surface too many or too few.
 */
TEST(estimates_are_close_on_meshes)
{
    static const cmg_element elements[] = {CMG_ELEMENT_P1, CMG_ELEMENT_P2, CMG_ELEMENT_Q1,
                                           CMG_ELEMENT_Q2};
    for (int c = 0; c < 32; ++c) {
        cmg_generate_options o = small(2 + c / 4 % 2, elements[c % 4]);
        generate_set(&o, "general levels=3");
        o.cells = o.dim == 2 ? 32 : 16;
        o.boundary = c / 8 % 2 ? CMG_BOUNDARY_ELIMINATE : CMG_BOUNDARY_IDENTITY_KEEP;
        o.problem = c / 16 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_POISSON;
        cmg_generate_size size = {.size = sizeof size};
        if (o.dim == 3 && c % 2 == 1) {
            o.cells = 8; /* the order is two */
        }
        CHECK_OK(cmg_generate_estimate(ctx, &o, &size));
        scoped_hierarchy *h = hierarchy_generated(&o);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        const double rows = (double)size.rows / (double)A.rows;
        const double nnz = (double)size.nnz / (double)A.indptr[A.rows];
        size_t held[2];
        size_t fixed[2];
        cmg_context_memory(ctx, held, NULL);
        cmg_hierarchy *empty = hierarchy_new(size.levels);
        cmg_context_memory(ctx, fixed, NULL);
        cmg_hierarchy_destroy(&empty);
        const double bytes = (double)size.bytes / (double)(2 * held[0] - fixed[0]);
        const double most = o.dim == 2 ? 1.2 : 1.7; /* 17^3 nodes are a third surface */
        CHECK(c / 8 % 2 == 0 ? rows == 1 : fabs(rows - 1) < 1e-3);
        CHECK(nnz > 1 && nnz < most);
        CHECK(bytes > 0.9 && bytes < most);
        CHECK(!size.exact && size.levels == cmg_hierarchy_levels(h));
        CHECK(size.dim == o.dim && size.block_size == (c / 16 ? o.dim : 1));
    }
}
