/* Reports are made whole and given out as far as the caller's struct reaches. */
#pragma once
#include "core/context.h"

/* CMG_ERR_ARG unless the report is NULL or says a size that can be. */
cmg_status cmgi_report_check(cmg_context *ctx, const cmg_report *report);
/* Copies what the caller's struct has room for; NULL takes nothing. */
void cmgi_report_give(const cmg_report *ours, cmg_report *report);
