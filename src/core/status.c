/* Status names and texts, generated from one list. */
#include "core/status.h"

#include "cmg.h"

#define STR_(x) #x
#define STR(x) STR_(x)

#define NAME(code, text) "CMG_" #code,
static const char *const names[] = {CMG_STATUS_LIST(NAME)};
#define TEXT(code, text) text,
static const char *const texts[] = {CMG_STATUS_LIST(TEXT)};

enum { STATUS_COUNT = sizeof names / sizeof names[0] };
#define CHECK_ORDER(code, text) CODE_##code,
enum { CMG_STATUS_LIST(CHECK_ORDER) CODE_COUNT };
#define SAME(code, text)                                                                           \
    _Static_assert((int)CMG_##code == (int)CODE_##code,                                            \
                   "CMG_STATUS_LIST is not in the order of cmg_status");
CMG_STATUS_LIST(SAME)

const char *cmg_status_name(cmg_status status)
{
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? names[i] : "CMG_UNKNOWN";
}

const char *cmg_status_text(cmg_status status)
{
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? texts[i] : "unknown status";
}

const char *cmg_version(void)
{
    return STR(CMG_VERSION_MAJOR) "." STR(CMG_VERSION_MINOR) "." STR(CMG_VERSION_PATCH);
}
