/*
 * The hierarchy container, written: by one who has all rows, or by several who each have a range of
 * them. Then one of them has the file, and the others' rows come to it piece by piece, in a way
 * that is theirs.
 */
#pragma once
#include "hierarchy/own.h"

/* Rows of a dataset that are here. */
typedef struct cmgi_pieces {
    cmg_size rows;
    size_t row; /* bytes */
    const void *data;
    cmg_size chunk; /* rows of a chunk of the file, which pieces should end with */
} cmgi_pieces;

/* Writes rows from number `first` on. */
typedef cmg_status (*cmgi_put_rows)(void *file, cmg_size first, cmg_size rows, const void *data);

/* Those who have the other rows; what they do is collective. */
typedef struct cmgi_others {
    bool last;            /* nobody's rows come after those that are here */
    const cmg_size *rows; /* of all, by level; one more than there are levels */
    /* How many the ones before have, and all, where this one has `mine`. */
    cmg_status (*count)(cmg_context *ctx, cmg_size mine, cmg_size *before, cmg_size *all);
    /* All rows, own and others', to the one who can put them; `put` is NULL with the others. */
    cmg_status (*collect)(cmg_context *ctx, const cmgi_pieces *mine, cmgi_put_rows put, void *file);
} cmgi_others;

/* A file being written; until it is finished, it has another name. */
typedef struct cmgi_container cmgi_container;

cmg_status cmgi_container_create(cmg_context *ctx, const char *path, cmgi_container **c);
/* Writes a hierarchy; c is NULL with those who do not have the file. Alone, others is NULL. */
cmg_status cmgi_container_put(cmgi_container *c, const cmg_hierarchy *h, const cmgi_others *others);
/* Closes the file and gives it its name, or removes it; returns the first failure. */
cmg_status cmgi_container_finish(cmgi_container **c, cmg_status status);
