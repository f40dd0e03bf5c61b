/* What is suspicious about a hierarchy, in sentences. */
#pragma once
#include "cmg.h"

typedef struct findings {
    char **text;
    int count;
    int capacity;
} findings;

void findings_add(findings *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void findings_free(findings *f);

/* Looks at all levels; `info` holds one entry a level. */
void findings_collect(findings *f, const cmg_hierarchy *h, const cmg_level_info *info);
