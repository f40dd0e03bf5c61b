/* Values of options that are lists, separated by commas. */
#pragma once
#include "cmg.h"

enum { LIST_LENGTH = 64 };

typedef struct text_list {
    char *text[LIST_LENGTH]; /* into `copy` */
    int count;
    char *copy;
} text_list;

/* "a,b,c"; false when it has an empty entry or more than LIST_LENGTH. To be freed. */
bool list_split(text_list *list, const char *text);
void list_free(text_list *list);
/* Every entry a name of the cmg_enum_parse kind; the index of the first that is not, -1 = all are.
 */
int list_enums(const text_list *list, const char *kind, int values[LIST_LENGTH]);
