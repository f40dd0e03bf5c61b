/* Values of options that are lists, separated by commas. */
#include "lists.h"

#include "status.h"

#include <stdlib.h>
#include <string.h>

bool list_split(text_list *list, const char *text)
{
    const size_t length = strlen(text) + 1;
    *list = (text_list){.copy = tool_alloc(length, 1)};
    memcpy(list->copy, text, length);
    char *at = list->copy;
    while (at != NULL && list->count < LIST_LENGTH) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at == '\0') {
            list_free(list);
            return false;
        }
        list->text[list->count++] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
    if (at != NULL) {
        list_free(list);
        return false;
    }
    return true;
}

void list_free(text_list *list)
{
    free(list->copy);
    *list = (text_list){0};
}

int list_enums(const text_list *list, const char *kind, int values[LIST_LENGTH])
{
    for (int i = 0; i < list->count; ++i) {
        if (cmg_enum_parse(kind, list->text[i], &values[i]) != CMG_OK) {
            return i;
        }
    }
    return -1;
}
