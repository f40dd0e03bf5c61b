/* Enumerations <-> text: a table each, searched by kind. Every public header has one list of them.
 */
#pragma once
#include "cmg_types.h"

typedef struct cmgi_name {
    int value;
    const char *name;
    const char *text;
} cmgi_name;

typedef struct cmgi_name_table {
    const char *kind;
    const cmgi_name *rows;
    int count;
} cmgi_name_table;

#define CMGI_NAMES(kind, rows)                                                                     \
    {                                                                                              \
        kind, rows, (int)(sizeof rows / sizeof rows[0])                                            \
    }

/* CMG_ERR_ARG when the kind or the name is unknown or an argument is NULL; value unchanged then. */
cmg_status cmgi_names_parse(const cmgi_name_table *tables, int count, const char *kind,
                            const char *name, int *value);
/* NULL when the kind or the value is unknown. */
const cmgi_name *cmgi_names_find(const cmgi_name_table *tables, int count, const char *kind,
                                 int value);

/* The public functions of a header's list of tables. */
#define CMGI_NAME_FUNCTIONS(prefix_, tables_)                                                      \
    enum { TABLES = sizeof tables_ / sizeof tables_[0] };                                          \
    cmg_status prefix_##_parse(const char *kind, const char *name, int *value)                     \
    {                                                                                              \
        return cmgi_names_parse(tables_, TABLES, kind, name, value);                               \
    }                                                                                              \
    const char *prefix_##_name(const char *kind, int value)                                        \
    {                                                                                              \
        const cmgi_name *row = cmgi_names_find(tables_, TABLES, kind, value);                      \
        return row != NULL ? row->name : NULL;                                                     \
    }                                                                                              \
    const char *prefix_##_text(const char *kind, int value)                                        \
    {                                                                                              \
        const cmgi_name *row = cmgi_names_find(tables_, TABLES, kind, value);                      \
        return row != NULL ? row->text : NULL;                                                     \
    }
