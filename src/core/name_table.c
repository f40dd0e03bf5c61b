/* Searches in tables of names. */
#include "core/name_table.h"

#include <string.h>

static const cmgi_name_table *find_table(const cmgi_name_table *tables, int count, const char *kind)
{
    for (int i = 0; kind != NULL && i < count; ++i) {
        if (strcmp(tables[i].kind, kind) == 0) {
            return &tables[i];
        }
    }
    return NULL;
}

cmg_status cmgi_names_parse(const cmgi_name_table *tables, int count, const char *kind,
                            const char *name, int *value)
{
    const cmgi_name_table *table = find_table(tables, count, kind);
    if (table == NULL || name == NULL || value == NULL) {
        return CMG_ERR_ARG;
    }
    for (int i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i].name, name) == 0) {
            *value = table->rows[i].value;
            return CMG_OK;
        }
    }
    return CMG_ERR_ARG;
}

const cmgi_name *cmgi_names_find(const cmgi_name_table *tables, int count, const char *kind,
                                 int value)
{
    const cmgi_name_table *table = find_table(tables, count, kind);
    for (int i = 0; table != NULL && i < table->count; ++i) {
        if (table->rows[i].value == value) {
            return &table->rows[i];
        }
    }
    return NULL;
}
