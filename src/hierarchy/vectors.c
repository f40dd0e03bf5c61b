/* Storage of a hierarchy: named vectors of its levels, and attributes. */
#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <stdlib.h>
#include <string.h>

cmg_status cmgi_hierarchy_grow(cmg_context *ctx, void *array, cmg_size count, size_t size)
{
    void *larger = NULL;
    void *old = *(void **)array;
    if (count > 0 && (count & (count - 1)) != 0) { /* there is room up to the next power of two */
        memset((char *)old + (size_t)count * size, 0, size);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, count > 0 ? 2 * count : 1, size, &larger));
    if (count > 0) {
        memcpy(larger, old, (size_t)count * size);
    }
    cmgi_free(ctx, old);
    *(void **)array = larger;
    return CMG_OK;
}

void cmgi_stored_vector_clear(cmg_context *ctx, cmgi_stored_vector *v)
{
    CMGI_FREE(ctx, v->kind, v->name, v->values);
}

cmgi_stored_vector *cmgi_hierarchy_vector(const cmg_hierarchy *h, int level, const char *kind,
                                          const char *name)
{
    for (int i = 0; i < h->vectors; ++i) {
        cmgi_stored_vector *v = &h->vector[i];
        if (v->level == level && strcmp(v->kind, kind) == 0 &&
            strcmp(v->name, name != NULL ? name : "") == 0) {
            return v;
        }
    }
    return NULL;
}

static cmg_status check_vector(const cmg_hierarchy *h, int level, const char *kind,
                               const char *name, cmg_size n)
{
    enum { NAMED = 3, KINDS = 5 }; /* from NAMED on they have names */
    static const char *const kinds[] = {"coords", "nullspace", "partition", "rhs", "solutions"};
    cmg_context *ctx = h->ctx;
    int k = 0;
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    while (k < KINDS && (kind == NULL || strcmp(kind, kinds[k]) != 0)) {
        ++k;
    }
    CMGI_CHECK(ctx, k < KINDS, CMG_ERR_ARG, "unknown kind of vector \"%s\"",
               kind != NULL ? kind : "");
    const bool coords = k < NAMED;
    CMGI_CHECK(ctx, coords == (name == NULL), CMG_ERR_ARG,
               coords ? "coords, nullspace and partition take no name"
                      : "a vector of kind \"%s\" needs a name",
               kind);
    const cmgi_csr *A = &h->level[level].A; /* one that comes later is checked with the whole */
    CMGI_CHECK(ctx, coords || !cmgi_csr_given(A) || n == A->rows, CMG_ERR_SHAPE,
               "level %d: vector %s %s has %lld entries, A has %lld rows", level, kind, name,
               (long long)n, (long long)A->rows);
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_vector(cmg_hierarchy *h, int level, const char *kind,
                                      const char *name, cmg_size n, double *values)
{
    cmg_context *ctx = h->ctx;
    cmgi_scoped double *held = values;
    cmgi_scoped char *own_kind = NULL;
    cmgi_scoped char *own_name = NULL;
    CMGI_TRY(check_vector(h, level, kind, name, n));
    if (strcmp(kind, "nullspace") == 0) {
        h->level[level].exact_nullspace = false;
    }
    cmgi_stored_vector *old = cmgi_hierarchy_vector(h, level, kind, name);
    if (old != NULL) {
        cmgi_free(ctx, old->values);
        old->values = cmgi_pass_on(&held);
        old->n = n;
        h->checked = false;
        return CMG_OK;
    }
    CMGI_TRY(cmgi_strdup(ctx, kind, &own_kind));
    CMGI_TRY(cmgi_strdup(ctx, name != NULL ? name : "", &own_name));
    CMGI_TRY(cmgi_hierarchy_grow(ctx, &h->vector, h->vectors, sizeof *h->vector));
    h->vector[h->vectors++] = (cmgi_stored_vector){level, cmgi_pass_on(&own_kind),
                                                   cmgi_pass_on(&own_name), n, cmgi_pass_on(&held)};
    h->checked = false;
    return CMG_OK;
}

cmg_status cmg_hierarchy_set_vector(cmg_hierarchy *h, int level, const char *kind, const char *name,
                                    cmg_size n, const double *values)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, n >= 0 && (values != NULL || n == 0), CMG_ERR_ARG,
               "vector of %lld entries: values is NULL or the length negative", (long long)n);
    CMGI_SCOPED(h->ctx, n, double, copy);
    if (n > 0) {
        memcpy(copy, values, (size_t)n * sizeof *copy);
    }
    return cmgi_hierarchy_take_vector(h, level, kind, name, n, cmgi_pass_on(&copy));
}

cmg_status cmg_hierarchy_set_nullspace(cmg_hierarchy *h, int level, int vectors,
                                       const double *values)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, vectors >= 1, CMG_ERR_ARG, "nullspace: %d vectors", vectors);
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    CMGI_TRY(cmg_hierarchy_set_vector(h, level, "nullspace", NULL, h->level[level].A.rows * vectors,
                                      values));
    h->level[level].exact_nullspace = true;
    return CMG_OK;
}

cmg_status cmg_hierarchy_get_vector(const cmg_hierarchy *h, int level, const char *kind,
                                    const char *name, cmg_size *n, const double **values)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, kind != NULL && n != NULL && values != NULL, CMG_ERR_ARG,
               "hierarchy: kind or an out-pointer is NULL");
    const cmgi_stored_vector *v = cmgi_hierarchy_vector(h, level, kind, name);
    CMGI_CHECK(h->ctx, v != NULL, CMG_ERR_STATE, "level %d has no vector %s %s", level, kind,
               name != NULL ? name : "");
    *n = v->n;
    *values = v->values;
    return CMG_OK;
}

const char *cmg_hierarchy_vector_name(const cmg_hierarchy *h, const char *kind, int i)
{
    for (int k = 0; h != NULL && kind != NULL && k < h->vectors; ++k) {
        if (h->vector[k].level == 0 && strcmp(h->vector[k].kind, kind) == 0 && i-- == 0) {
            return h->vector[k].name;
        }
    }
    return NULL;
}

void cmgi_hierarchy_select_vectors(cmg_hierarchy *h, int first, int last)
{
    int kept = 0;
    for (int i = 0; i < h->vectors; ++i) {
        cmgi_stored_vector v = h->vector[i];
        if (v.level < first || v.level > last) {
            cmgi_stored_vector_clear(h->ctx, &v);
            continue;
        }
        v.level -= first;
        h->vector[kept++] = v;
    }
    h->vectors = kept;
}

cmg_status cmg_hierarchy_set_attribute(cmg_hierarchy *h, const char *key, const char *value)
{
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, key != NULL && key[0] != '\0' && value != NULL, CMG_ERR_ARG,
               "attribute: key or value is missing");
    cmgi_scoped char *copy = NULL;
    cmgi_scoped char *name = NULL;
    CMGI_TRY(cmgi_strdup(ctx, value, &copy));
    for (int i = 0; i < h->attributes; ++i) {
        if (strcmp(h->attribute[i].key, key) == 0) {
            cmgi_free(ctx, h->attribute[i].value);
            h->attribute[i].value = cmgi_pass_on(&copy);
            return CMG_OK;
        }
    }
    CMGI_TRY(cmgi_strdup(ctx, key, &name));
    CMGI_TRY(cmgi_hierarchy_grow(ctx, &h->attribute, h->attributes, sizeof *h->attribute));
    h->attribute[h->attributes++] = (cmgi_attribute){cmgi_pass_on(&name), cmgi_pass_on(&copy)};
    return CMG_OK;
}

cmg_status cmgi_hierarchy_copy_attributes(const cmg_hierarchy *from, cmg_hierarchy *h)
{
    for (int i = 0; i < from->attributes; ++i) {
        CMGI_TRY(cmg_hierarchy_set_attribute(h, from->attribute[i].key, from->attribute[i].value));
    }
    return CMG_OK;
}

const char *cmg_hierarchy_attribute(const cmg_hierarchy *h, const char *key)
{
    for (int i = 0; h != NULL && key != NULL && i < h->attributes; ++i) {
        if (strcmp(h->attribute[i].key, key) == 0) {
            return h->attribute[i].value;
        }
    }
    return NULL;
}

long long cmgi_hierarchy_number(const cmg_hierarchy *h, const char *key, long long none)
{
    const char *text = cmg_hierarchy_attribute(h, key);
    return text != NULL ? strtoll(text, NULL, 10) : none;
}
