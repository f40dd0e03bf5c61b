/*
 * Local numbering of a few global indices: an open hash table that is emptied in the time of what
 * is in it, so that one table of a thread serves all rows.
 */
#pragma once
#include "core/memory.h"

typedef struct cmgi_index_map {
    cmg_size mask;    /* slots - 1, slots a power of two of at least twice the room */
    cmg_index *slot;  /* position in `list`, -1 = free */
    cmg_index *list;  /* global index of local 0, 1, ... */
    cmg_index length; /* how many there are */
} cmgi_index_map;

/* Room for `room` indices. */
static inline cmg_status cmgi_index_map_create(cmg_context *ctx, cmg_size room, cmgi_index_map *map)
{
    cmg_size slots = 16;
    while (slots < 2 * room) {
        slots *= 2;
    }
    CMGI_TRY(cmgi_alloc(ctx, slots, sizeof *map->slot, &map->slot));
    CMGI_TRY(cmgi_alloc(ctx, room, sizeof *map->list, &map->list));
    for (cmg_size s = 0; s < slots; ++s) {
        map->slot[s] = -1;
    }
    map->mask = slots - 1;
    map->length = 0;
    return CMG_OK;
}

static inline void cmgi_index_map_destroy(cmg_context *ctx, cmgi_index_map *map)
{
    CMGI_FREE(ctx, map->slot, map->list);
    *map = (cmgi_index_map){0};
}

/* The slot of a global index, or the free one where it belongs. */
static inline cmg_index *cmgi_index_map_slot(const cmgi_index_map *map, cmg_index global)
{
    cmg_size s = (cmg_size)(((uint32_t)global * UINT32_C(2654435769)) >> 7) & map->mask;
    while (map->slot[s] >= 0 && map->list[map->slot[s]] != global) {
        s = (s + 1) & map->mask;
    }
    return &map->slot[s];
}

/* Local number of a global index, -1 when it is not there. */
static inline cmg_index cmgi_index_map_find(const cmgi_index_map *map, cmg_index global)
{
    return *cmgi_index_map_slot(map, global);
}

/* Local number of a global index, a new one at the first call. */
static inline cmg_index cmgi_index_map_add(cmgi_index_map *map, cmg_index global)
{
    cmg_index *slot = cmgi_index_map_slot(map, global);
    if (*slot < 0) {
        *slot = map->length;
        map->list[map->length++] = global;
    }
    return *slot;
}

/* Empties the table: the last added leaves first, so that no probe chain is cut while in use. */
static inline void cmgi_index_map_clear(cmgi_index_map *map)
{
    while (map->length > 0) {
        *cmgi_index_map_slot(map, map->list[map->length - 1]) = -1;
        --map->length;
    }
}
