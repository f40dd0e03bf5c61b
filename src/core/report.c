/* Reports and other structs whose size the caller knows. */
#include "core/report.h"

#include "cmg.h"
#include "core/options.h"

#include <string.h>

void cmg_report_init(cmg_report *report, size_t size)
{
    if (report != NULL && size >= sizeof size) {
        memset(report, 0, size);
        report->size = size < sizeof *report ? size : sizeof *report;
    }
}

cmg_status cmgi_sized_check(cmg_context *ctx, const char *name, const void *to, size_t ours)
{
    char why[CMG_MESSAGE] = "";
    if (to == NULL) {
        return CMG_OK;
    }
    const cmg_status status = cmgi_size_check(name, cmgi_options_size(to), ours, why);
    return status == CMG_OK ? CMG_OK : cmgi_fail(ctx, status, "%s", why);
}

void cmgi_sized_give(const void *ours, void *to)
{
    if (to != NULL) {
        const size_t own = sizeof(size_t);
        memcpy((char *)to + own, (const char *)ours + own, cmgi_options_size(to) - own);
    }
}

cmg_status cmgi_sized_fill(cmg_context *ctx, const char *name, const void *ours, size_t bytes,
                           void *to)
{
    CMGI_TRY(cmgi_sized_check(ctx, name, to, bytes));
    cmgi_sized_give(ours, to);
    return CMG_OK;
}

bool cmg_outcome_converged(cmg_outcome outcome)
{
    return outcome == CMG_CONVERGED_RTOL || outcome == CMG_CONVERGED_ATOL ||
           outcome == CMG_ROUNDING;
}
