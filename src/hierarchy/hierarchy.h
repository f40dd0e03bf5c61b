/*
 * The hierarchy: what a solver is built from, as CSR on the host in the caller's numbering. It
 * holds matrices by level and role, named vectors, and text attributes.
 */
#pragma once
#include "csr/elements.h"
#include "csr/kinds.h"

enum { CMGI_HIERARCHY_LEVELS = 64, CMGI_HIERARCHY_FACTORS = 64 };

/* A named smoother of a level: M = F_(k-1) ... F_0. */
typedef struct cmgi_stored_smoother {
    char *name;
    int factors;
    cmgi_csr factor[CMGI_HIERARCHY_FACTORS];
} cmgi_stored_smoother;

/*
 * Matrices of a level, on the host or the device; absent where neither has one. A below level 0 may
 * be absent where P leads to it: A then has its rows and cols alone, and is R A P.
 */
typedef struct cmgi_stored_level {
    cmgi_csr A;
    cmgi_csr_facts facts; /* of A on the host, while the hierarchy is checked */
    cmgi_csr AP; /* product A P, whose pattern serves new values of the next level's formed A */
    cmgi_csr PT; /* P^T for them, where all of them are on the device */
    int block;   /* unknowns a node of an algebraic level, 0 = the attribute block_size */
    bool exact_nullspace;   /* A takes the vectors of kind nullspace to 0 */
    bool formed;            /* A is R A P of this library, and follows new values above it */
    bool ideal;             /* R is ideal for A (csr/ideal.h), and follows its new values */
    cmgi_elements elements; /* dofs NULL = none */
    bool elements_borrowed;
    bool assembled; /* A is the sum of the elements */
    cmgi_csr P;
    cmgi_csr R;
    cmgi_csr inverse;
    cmgi_stored_smoother **smoother;
    int smoothers;
    int *slot; /* hash table of their names: number of a smoother or -1 */
    int slots; /* a power of two */
} cmgi_stored_level;

typedef struct cmgi_stored_vector {
    int level;
    char *kind;
    char *name; /* "" where none was given */
    cmg_size n;
    double *values;
} cmgi_stored_vector;

typedef struct cmgi_attribute {
    char *key;
    char *value;
} cmgi_attribute;

/*
 * The mesh that level 0 lives on, for output. Cells are triangles (dim 2, 3 corners), quads (2, 4),
 * tets (3, 4) or hexes (3, 8) with corner i + 2j + 4k of quads and hexes at (i, j, k) of the unit
 * cube. Spaces of higher order are shown on refined cells, so that all unknowns sit at nodes.
 */
typedef struct cmgi_stored_mesh {
    int dim;
    int corners;
    int components; /* unknowns a node */
    cmg_size nodes;
    cmg_size cells;
    cmg_size boundary;       /* nodes without unknowns */
    double *x;               /* nodes x dim */
    cmg_index *cell_nodes;   /* cells x corners */
    cmg_index *unknown;      /* node i has unknowns unknown[i] * components ..; -1 = none */
    double *boundary_values; /* boundary x components: values at those nodes, in node order */
} cmgi_stored_mesh;

/* A range of the rows of every level: hierarchy/own.h. */
typedef struct cmgi_own cmgi_own;

struct cmg_hierarchy {
    cmg_context *ctx;
    int levels;
    int above; /* levels that others have above these, for messages */
    cmgi_stored_level level[CMGI_HIERARCHY_LEVELS];
    cmgi_stored_vector *vector;
    int vectors;
    cmgi_attribute *attribute;
    int attributes;
    cmgi_stored_mesh *mesh; /* NULL = none */
    cmgi_own *own;          /* NULL = all rows are here, in `level` */
    bool stale;             /* values have changed above a formed A */
    bool checked;           /* cmg_hierarchy_check passed, as would it now */
    uint64_t generation;    /* rises whenever sizes, patterns or numbering change */
    uint64_t values;        /* rises whenever a matrix takes new values */
};

/* What a matrix of a role is called, in messages and files: "A", "P", "R" or "inverse". */
extern const char *const cmgi_role_names[];
/* CMG_ERR_ARG unless there is such a level. */
cmg_status cmgi_hierarchy_check_level(const cmg_hierarchy *h, int level);
/* The place of A, P, R or the inverse in a level, NULL for smoothers. */
static inline cmgi_csr *cmgi_stored_matrix(const cmgi_stored_level *level, cmg_role role)
{
    const cmgi_csr *const matrices[] = {&level->A, &level->P, &level->R, NULL, &level->inverse};
    return (cmgi_csr *)(uintptr_t)matrices[role];
}
/* h gets the attributes of another one. */
cmg_status cmgi_hierarchy_copy_attributes(const cmg_hierarchy *from, cmg_hierarchy *h);
/* The attribute of that key as a whole number, `none` where it is not given. */
long long cmgi_hierarchy_number(const cmg_hierarchy *h, const char *key, long long none);
/* NULL = none of that name. */
cmgi_stored_smoother *cmgi_stored_smoother_find(const cmgi_stored_level *level, const char *name);
/* The smoother of that name, made if it is not there. */
cmg_status cmgi_stored_smoother_open(cmg_context *ctx, cmgi_stored_level *level, const char *name,
                                     cmgi_stored_smoother **smoother);
void cmgi_stored_smoothers_clear(cmg_context *ctx, cmgi_stored_level *level);

/*
 * Gives a level one of its matrices; the arrays (cmgi_csr_alloc) are taken over, or freed where it
 * is refused, and *csr is cleared. The structure is checked, but for what the library has made on
 * the device.
 */
cmg_status cmgi_hierarchy_take_csr(cmg_hierarchy *h, int level, cmg_role role, const char *name,
                                   int factor, cmgi_csr *csr);
/* The same for A, P or R in arrays on the device (cmgi_alloc_device). */
cmg_status cmgi_hierarchy_take_there(cmg_hierarchy *h, int level, cmg_role role, cmg_csr *csr);
/* The same for a vector, an array of cmgi_alloc. */
cmg_status cmgi_hierarchy_take_vector(cmg_hierarchy *h, int level, const char *kind,
                                      const char *name, cmg_size n, double *values);
/* The level's A was formed as R A P, here or on the device; takes it over as above. */
cmg_status cmgi_hierarchy_take_formed(cmg_hierarchy *h, int level, cmgi_csr *csr);
/*
 * One more element at the end of an array of `count`, cleared; the array may be moved. It has only
 * ever been grown by this.
 */
cmg_status cmgi_hierarchy_grow(cmg_context *ctx, void *array, cmg_size count, size_t size);
void cmgi_stored_vector_clear(cmg_context *ctx, cmgi_stored_vector *v);

/* NULL where there is none, without a message: threads of ranks look at one hierarchy. */
cmgi_stored_vector *cmgi_hierarchy_vector(const cmg_hierarchy *h, int level, const char *kind,
                                          const char *name);
/* Keeps the vectors of levels first .. last, renumbered. */
void cmgi_hierarchy_select_vectors(cmg_hierarchy *h, int first, int last);
/* Forgets the elements of a level. */
void cmgi_stored_elements_clear(cmg_context *ctx, cmgi_stored_level *level);
/* Forgets a named smoother of a level, if it is there. */
void cmgi_hierarchy_drop_smoother(cmg_hierarchy *h, int level, const char *name);
/* Position of the first value that is not finite, -1 if none. */
cmg_size cmgi_first_not_finite(cmg_context *ctx, cmg_size n, const double *values);
/* What cmg_hierarchy_check asks of the values of A, P or R, and what its pass over A has told. */
cmg_status cmgi_hierarchy_check_values(cmg_context *ctx, const char *name, cmg_role role,
                                       const cmgi_csr *M, cmgi_csr_facts *facts);
/* cmg_hierarchy_check, once. With `looks` for a set-up, which gets to know what the pass has seen
 * of every row of A, where there was one; and forgets it. */
cmg_status cmgi_hierarchy_ensure_checked(cmg_hierarchy *h, bool looks);
void cmgi_hierarchy_forget(cmg_hierarchy *h);
/* NULL where it is not known. */
static inline const cmgi_row_looks *cmgi_hierarchy_looks(const cmg_hierarchy *h, int level)
{
    const cmgi_row_looks *looks = &h->level[level].facts.looks;
    return looks->diagonal != NULL ? looks : NULL;
}
/* What its pass over A has told; NULL where A is on the device, or was formed since. */
static inline const cmgi_csr_facts *cmgi_hierarchy_facts(const cmg_hierarchy *h, int level)
{
    return h->checked && h->level[level].facts.known ? &h->level[level].facts : NULL;
}
/* Whether there is a matrix of a role, on the host or on the device. */
bool cmgi_hierarchy_has(const cmg_hierarchy *h, int level, cmg_role role);
/* The kinds of rows that A, P or R was given as, else NULL ... */
const cmgi_kinds *cmgi_hierarchy_templates(const cmg_hierarchy *h, int level, cmg_role role);
/* ... and those of what is used so: it is too large for a CSR, or P or R of such a level. */
const cmgi_kinds *cmgi_hierarchy_kinds(const cmg_hierarchy *h, int level, cmg_role role);
/* Whether P is given as kinds, and R as well or as P^T of a grid. */
bool cmgi_hierarchy_restricts(const cmg_hierarchy *h, int level);
/* The matrix of a role on the device, NULL = it is not there. */
const cmgi_resident *cmgi_hierarchy_there(const cmg_hierarchy *h, int level, cmg_role role);
/* What is known of A of a level, wherever it is; NULL = nothing. */
static inline const cmgi_row_facts *cmgi_hierarchy_row_facts(const cmg_hierarchy *h, int level)
{
    const cmgi_resident *there = cmgi_hierarchy_there(h, level, CMG_ROLE_A);
    const cmgi_csr_facts *here = cmgi_hierarchy_facts(h, level);
    return there != NULL ? &there->facts.rows : here != NULL ? &here->rows : NULL;
}
/* A of a level, on the device where it is *there. */
cmg_status cmgi_hierarchy_matrix(const cmg_hierarchy *h, int level, const cmgi_resident **there,
                                 cmg_csr *A);
/* All A, P and R are on the host, too. */
cmg_status cmgi_hierarchy_bring(const cmg_hierarchy *h);
/* What is on the host leaves the device: all of it, or what was staged. */
void cmgi_hierarchy_leave_device(cmg_hierarchy *h, bool all);
/*
 * Large matrices on the host set out for the device, for a set-up there; undone by the last. Until
 * it has arrived, alone the finest A or all, nothing is known of a matrix.
 */
cmg_status cmgi_hierarchy_stage(cmg_hierarchy *h);
cmg_status cmgi_hierarchy_arrive(cmg_hierarchy *h, bool finest);
/* Stored matrix of a role on the host, fetched where it is on the device alone; or NULL. */
const cmgi_csr *cmgi_hierarchy_find(const cmg_hierarchy *h, int level, cmg_role role,
                                    const char *name, int factor);
/* A view of it; false, and no message, when there is none. */
static inline bool cmgi_hierarchy_view(const cmg_hierarchy *h, int level, cmg_role role,
                                       const char *name, int factor, cmg_csr *csr)
{
    const cmgi_csr *found = cmgi_hierarchy_find(h, level, role, name, factor);
    if (found != NULL) {
        *csr = found->view;
    }
    return found != NULL;
}

/* Arrays for a mesh, uninitialised; sizes has none. */
cmg_status cmgi_stored_mesh_create(cmg_context *ctx, const cmgi_stored_mesh *sizes,
                                   cmgi_stored_mesh **mesh);
void cmgi_stored_mesh_destroy(cmg_context *ctx, cmgi_stored_mesh **mesh);
CMGI_RELEASES(cmgi_stored_mesh_destroy, cmgi_stored_mesh *)
/* Checks a mesh against level 0 and takes it over; *mesh is NULL on success, unchanged on failure.
 */
cmg_status cmgi_hierarchy_take_mesh(cmg_hierarchy *h, cmgi_stored_mesh **mesh);
