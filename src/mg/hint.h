/* Advice on a solve that was not good, from facts that are known. */
#pragma once
#include "mg/multigrid.h"

enum { CMGI_HINT = 240 };

/* One line, or "" where there is nothing to say. Of a singular matrix and what b has outside its
 * range, `nullspace` tells nothing: those are projected out. `indefinite`: p^T A p <= 0 in the
 * iteration before, 0 = never. */
cmg_status cmgi_hint(cmgi_multigrid *mg, const cmg_report *report, int indefinite,
                     char text[CMGI_HINT]);
