/* The group `elements` of a level of the container, read; docs/container.md. */
#include "core/memory.h"
#include "io/h5.h"
#include "io/io.h"

/* A dataset of `count` rows; *there = it is in the file. */
static cmg_status open_member(cmgi_h5 *h5, int level, const char *member, bool *there,
                              cmgi_dataset *d)
{
    char name[CMGI_H5_NAME];
    (void)snprintf(name, sizeof name, "/levels/%d/elements/%s", level, member);
    *there = cmgi_h5_exists(h5, name);
    return *there ? cmgi_dataset_open(h5, name, d) : CMG_OK;
}

static cmg_status read_real(cmgi_h5 *h5, int level, const char *member, cmg_size count, double **to)
{
    cmgi_dataset d = {0};
    bool there = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(open_member(h5, level, member, &there, &d));
    if (!there) {
        return CMG_OK;
    }
    CMGI_CHECK_GOTO(done, h5->ctx, d.count == count, CMG_ERR_FILE, "%s: %s: %lld values, not %lld",
                    h5->path, d.name, (long long)d.count, (long long)count);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, count, sizeof **to, to));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_real(&d, 0, count, *to));
done:
    cmgi_dataset_close(&d);
    return status;
}

static cmg_status read_dofs(cmgi_h5 *h5, int level, cmgi_elements *E)
{
    cmgi_dataset d = {0};
    bool there = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(open_member(h5, level, "dofs", &there, &d));
    CMGI_CHECK(h5->ctx, there, CMG_ERR_FILE, "%s: /levels/%d/elements has no dofs", h5->path,
               level);
    E->count = d.dims[0];
    E->local = d.dims[1] <= CMGI_ELEMENT_MOST ? (int)d.dims[1] : 0;
    CMGI_CHECK_GOTO(done, h5->ctx, d.rank == 2 && E->local >= 1, CMG_ERR_FILE,
                    "%s: %s: not elements x unknowns, 1 .. %d of them", h5->path, d.name,
                    CMGI_ELEMENT_MOST);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, d.count, sizeof *E->dofs, &E->dofs));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_index(&d, E->dofs));
done:
    cmgi_dataset_close(&d);
    return status;
}

/* Matrices, a row of local^2 each: of the elements, or templates and their numbers. */
static cmg_status read_matrices(cmgi_h5 *h5, int level, cmgi_elements *E)
{
    cmgi_dataset d = {0};
    bool there = false;
    cmg_status status = CMG_OK;
    CMGI_TRY(open_member(h5, level, "template", &there, &d));
    if (!there) {
        const cmg_size square = (cmg_size)E->local * E->local;
        CMGI_TRY(read_real(h5, level, "matrices", E->count * square, &E->matrices));
        CMGI_CHECK(h5->ctx, E->matrices != NULL, CMG_ERR_FILE,
                   "%s: /levels/%d/elements has neither matrices nor template", h5->path, level);
        return CMG_OK;
    }
    E->templates = d.dims[0];
    const bool empty = d.count == 0; /* templates = 0 is a matrix for every element */
    cmgi_dataset_close(&d);
    CMGI_CHECK(h5->ctx, !empty, CMG_ERR_FILE, "%s: /levels/%d/elements/template is empty", h5->path,
               level);
    CMGI_TRY(read_real(h5, level, "template", E->templates * E->local * E->local, &E->matrices));
    CMGI_TRY(open_member(h5, level, "number", &there, &d));
    if (!there) {
        return CMG_OK;
    }
    CMGI_CHECK_GOTO(done, h5->ctx, d.count == E->count, CMG_ERR_FILE,
                    "%s: %s: %lld numbers for %lld elements", h5->path, d.name, (long long)d.count,
                    (long long)E->count);
    CMGI_TRY_GOTO(done, cmgi_alloc(h5->ctx, d.count, sizeof *E->number, &E->number));
    CMGI_TRY_GOTO(done, cmgi_dataset_read_index(&d, E->number));
done:
    cmgi_dataset_close(&d);
    return status;
}

cmg_status cmgi_container_read_elements(cmgi_h5 *h5, int level, cmg_hierarchy *h)
{
    char name[CMGI_H5_NAME];
    cmgi_elements E = {.rows = cmg_hierarchy_rows(h, level)};
    cmg_status status = CMG_OK;
    (void)snprintf(name, sizeof name, "/levels/%d/elements", level);
    if (!cmgi_h5_exists(h5, name)) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, read_dofs(h5, level, &E));
    CMGI_TRY_GOTO(done, read_matrices(h5, level, &E));
    CMGI_TRY_GOTO(done, read_real(h5, level, "factor", E.count, &E.factor));
    CMGI_TRY_GOTO(done, read_real(h5, level, "diagonal", E.rows, &E.diagonal));
    const cmg_elements view = cmgi_elements_view(&E);
    status = cmgi_in_file(h5->ctx, h5->path, cmg_hierarchy_set_elements(h, level, &view));
done:
    cmgi_elements_free(h5->ctx, &E);
    return status;
}
