/* Status names and texts, generated from one list. */
#include "core/status.h"

#include "cmg.h"

#define STR_(x) #x
#define STR(x) STR_(x)

#define ROW(code, text) [CMG_##code] = {"CMG_" #code, text},
static const struct {
    const char *name;
    const char *text;
} rows[] = {CMG_STATUS_LIST(ROW)};

enum { STATUS_COUNT = sizeof rows / sizeof rows[0] };

const char *cmg_status_name(cmg_status status)
{
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? rows[i].name : "CMG_UNKNOWN";
}

const char *cmg_status_text(cmg_status status)
{
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? rows[i].text : "unknown status";
}

const char *cmg_version(void)
{
    return STR(CMG_VERSION_MAJOR) "." STR(CMG_VERSION_MINOR) "." STR(CMG_VERSION_PATCH);
}
