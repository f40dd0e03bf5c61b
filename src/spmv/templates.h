/* Search for rows that repeat: the dictionary of row templates behind the compressed format. */
#pragma once
#include "csr/csr.h"

typedef struct cmgi_templates {
    int count;
    cmg_index *row; /* count: a row that is this template */
    uint16_t *id;   /* rows of the matrix: template, CMGI_NO_TEMPLATE for the others */
} cmgi_templates;

enum { CMGI_NO_TEMPLATE = 0xffff };

/* Repeats too, but there was no room for it. */
enum { CMGI_TEMPLATE_LEFT_OUT = 0xfffe };

/* What is looked for. */
typedef struct cmgi_template_search {
    const cmg_csr *A;
    const cmg_index *ref; /* reference column of a row, NULL = the row */
    bool single;          /* compare values in fp32 */
    bool offsets_only;    /* do not compare values */
    int most;             /* most templates, under CMGI_TEMPLATE_LEFT_OUT */
    cmg_size entries;     /* most entries of all templates */
    cmg_size least;       /* rows that make a template */
} cmgi_template_search;

/*
 * Finds rows with equal offsets (column minus ref) and equal values. A template is kept when at
 * least `least` rows share it, or any where the kinds are few, the most frequent ones first.
 * Parallel; the result does not depend on the threads.
 */
cmg_status cmgi_templates_find(cmg_context *ctx, const cmgi_template_search *what,
                               cmgi_templates *found);
void cmgi_templates_free(cmg_context *ctx, cmgi_templates *t);
