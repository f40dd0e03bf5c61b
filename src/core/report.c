/* Reports in structs whose size the caller knows. */
#include "core/report.h"

#include "core/options.h"

#include <string.h>

void cmg_report_init(cmg_report *report, size_t size)
{
    if (report != NULL && size >= sizeof size) {
        memset(report, 0, size);
        report->size = size < sizeof *report ? size : sizeof *report;
    }
}

cmg_status cmgi_report_check(cmg_context *ctx, const cmg_report *report)
{
    char why[CMG_MESSAGE] = "";
    if (report == NULL) {
        return CMG_OK;
    }
    const cmg_status status = cmgi_size_check("cmg_report", report->size, sizeof *report, why);
    return status == CMG_OK ? CMG_OK : cmgi_fail(ctx, status, "%s", why);
}

void cmgi_report_give(const cmg_report *ours, cmg_report *report)
{
    if (report != NULL) {
        const size_t size = report->size;
        memcpy(report, ours, size);
        report->size = size;
    }
}
