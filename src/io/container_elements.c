/* The group `elements` of a level of the container, read; docs/container.md. */
#include "io/h5.h"

enum { DOFS, TEMPLATE, MATRICES, NUMBER, FACTOR, DIAGONAL };

/* A dataset of the group, if it is there; NULL else. */
static cmg_status read_member(cmgi_h5 *h5, int level, int member, cmg_size count, cmgi_dataset *d,
                              void *array)
{
    static const char *const names[] = {"dofs",   "template", "matrices",
                                        "number", "factor",   "diagonal"};
    const bool real = member != DOFS && member != NUMBER;
    char name[CMGI_H5_NAME];
    (void)snprintf(name, sizeof name, "/levels/%d/elements/%s", level, names[member]);
    return cmgi_h5_read_array(h5, name, real, count, d, array);
}

/* Matrices, a row of local^2 each: of the elements, or templates and their numbers. */
static cmg_status read_matrices(cmgi_h5 *h5, int level, cmgi_elements *E)
{
    const cmg_size square = (cmg_size)E->local * E->local;
    cmgi_dataset d = {0};
    CMGI_TRY(read_member(h5, level, TEMPLATE, -1, &d, &E->matrices));
    if (E->matrices == NULL) {
        CMGI_TRY(read_member(h5, level, MATRICES, E->count * square, &d, &E->matrices));
        CMGI_IN_FILE(h5, E->matrices != NULL,
                     "/levels/%d/elements has neither matrices nor template", level);
        return CMG_OK;
    }
    E->templates = d.dims[0]; /* 0 is a matrix for every element */
    CMGI_IN_FILE(h5, d.count > 0, "%s is empty", d.name);
    CMGI_IN_DATA(h5, d.name, d.count / square == E->templates && d.count % square == 0,
                 "%lld values, not %lld matrices of %lld", (long long)d.count,
                 (long long)E->templates, (long long)square);
    return read_member(h5, level, NUMBER, E->count, &d, &E->number);
}

cmg_status cmgi_container_read_elements(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char name[CMGI_H5_NAME];
    cmgi_elements E = {.rows = cmg_hierarchy_rows(h, level)};
    cmgi_dataset d = {0};
    CMGI_RELEASED(cmgi_elements_free, h5->ctx, &E);
    (void)snprintf(name, sizeof name, "/levels/%d/elements", level);
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY(read_member(h5, level, DOFS, -1, &d, &E.dofs));
    CMGI_IN_FILE(h5, E.dofs != NULL, "%s has no dofs", name);
    CMGI_IN_DATA(h5, d.name, d.rank == 2 && d.dims[1] >= 1 && d.dims[1] <= CMGI_ELEMENT_MOST,
                 "not elements x unknowns, 1 .. %d of them", CMGI_ELEMENT_MOST);
    E.count = d.dims[0];
    E.local = (int)d.dims[1];
    CMGI_TRY(read_matrices(h5, level, &E));
    CMGI_TRY(read_member(h5, level, FACTOR, E.count, &d, &E.factor));
    CMGI_TRY(read_member(h5, level, DIAGONAL, E.rows, &d, &E.diagonal));
    const cmg_elements view = cmgi_elements_view(&E);
    return cmgi_in_file(h5->ctx, h5->path, cmg_hierarchy_set_elements(h, level, &view));
}
