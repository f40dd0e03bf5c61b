/* Smoothers of a level by their names. */
#include "core/hash.h"
#include "core/memory.h"
#include "hierarchy/hierarchy.h"

#include <string.h>

static void clear_smoother(cmg_context *ctx, cmgi_stored_smoother *s)
{
    for (int k = 0; k < CMGI_HIERARCHY_FACTORS; ++k) {
        cmgi_csr_free(ctx, &s->factor[k]);
    }
    CMGI_FREE(ctx, s->name, s);
}

void cmgi_stored_smoothers_clear(cmg_context *ctx, cmgi_stored_level *level)
{
    for (int i = 0; i < level->smoothers; ++i) {
        clear_smoother(ctx, level->smoother[i]);
    }
    CMGI_FREE(ctx, level->smoother, level->slot);
}

/* Where the name is in the table, or would be put. */
static int *slot_of(const cmgi_stored_level *level, const char *name)
{
    uint64_t hash = 0;
    for (const char *p = name; *p != '\0'; ++p) {
        hash = cmgi_hash_mix(hash, (unsigned char)*p);
    }
    const int mask = level->slots - 1;
    int at = (int)(hash & (uint64_t)mask);
    while (level->slot[at] >= 0 && strcmp(level->smoother[level->slot[at]]->name, name) != 0) {
        at = (at + 1) & mask;
    }
    return &level->slot[at];
}

static void fill_slots(cmgi_stored_level *level)
{
    for (int k = 0; k < level->slots; ++k) {
        level->slot[k] = -1;
    }
    for (int i = 0; i < level->smoothers; ++i) {
        *slot_of(level, level->smoother[i]->name) = i;
    }
}

cmgi_stored_smoother *cmgi_stored_smoother_find(const cmgi_stored_level *level, const char *name)
{
    const int found = name != NULL && level->slot != NULL ? *slot_of(level, name) : -1;
    return found >= 0 ? level->smoother[found] : NULL;
}

cmg_status cmgi_stored_smoother_open(cmg_context *ctx, cmgi_stored_level *level, const char *name,
                                     cmgi_stored_smoother **smoother)
{
    *smoother = cmgi_stored_smoother_find(level, name);
    if (*smoother != NULL) {
        return CMG_OK;
    }
    cmgi_scoped char *own_name = NULL;
    CMGI_SCOPED_ZERO(ctx, 1, cmgi_stored_smoother, made);
    CMGI_TRY(cmgi_strdup(ctx, name, &own_name));
    CMGI_TRY(cmgi_hierarchy_grow(ctx, &level->smoother, level->smoothers, sizeof made));
    if (2 * level->smoothers >= level->slots) { /* the table gets room for one more */
        const int slots = level->slots > 0 ? 2 * level->slots : 16;
        CMGI_SCOPED(ctx, slots, int, larger);
        cmgi_free(ctx, level->slot);
        level->slot = cmgi_pass_on(&larger);
        level->slots = slots;
        fill_slots(level);
    }
    made->name = cmgi_pass_on(&own_name);
    *smoother = cmgi_pass_on(&made);
    *slot_of(level, name) = level->smoothers;
    level->smoother[level->smoothers++] = *smoother;
    return CMG_OK;
}

void cmgi_hierarchy_drop_smoother(cmg_hierarchy *h, int level, const char *name)
{
    cmgi_stored_level *stored = &h->level[level];
    const int i = stored->slot != NULL ? *slot_of(stored, name) : -1;
    if (i >= 0) {
        clear_smoother(h->ctx, stored->smoother[i]);
        stored->smoother[i] = stored->smoother[--stored->smoothers];
        fill_slots(stored);
        ++h->generation;
    }
}
