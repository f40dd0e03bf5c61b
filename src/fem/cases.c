/* The named cases of preassembled/cases.inc: hierarchies that comparisons refer to. */
#include "cmg_fem.h"

#include <string.h>

typedef struct generate_case {
    const char *name;
    const char *text;
    const char *options; /* for cmg_generate_options_set */
} generate_case;

#define CMG_CASE(name, text, options) {name, text, options},
static const generate_case cases[] = {
#include "cases.inc"
};
enum { CASES = sizeof cases / sizeof cases[0] };

static const generate_case *find_case(const char *name)
{
    for (int i = 0; i < CASES && name != NULL; ++i) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

const char *cmg_generate_case_name(int i)
{
    return i >= 0 && i < CASES ? cases[i].name : NULL;
}

const char *cmg_generate_case_text(const char *name)
{
    const generate_case *found = find_case(name);
    return found != NULL ? found->text : NULL;
}

cmg_status cmg_generate_case(const char *name, cmg_generate_options *options)
{
    const generate_case *found = find_case(name);
    if (found == NULL || options == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_generate_options_default(options);
    return cmg_generate_options_set(options, found->options);
}
