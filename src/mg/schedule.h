/*
 * Storage of the cycle's values by level and role, from text:
 *
 * - schedule: clause { ; clause }, later clauses win
 * - clause: [levels :] what
 * - levels: 2 | 2-4 | 2- | -4, where 0 is the finest, and - alone reaches to the end of that side
 * - what: storage, of every role, or role : storage { , role : storage }
 * - role: A | P | R | M | inverse
 * - storage: full | fp32 | fp16 | fp8; full and fp32 mean the same, the cycle is in fp32
 *
 * Blanks count nowhere.
 */
#pragma once
#include "core/context.h"

enum { CMGI_MAX_LEVELS = 64, CMGI_ROLES = 5 };

/* A storage that is not given is what cmg_solver_options.matrix says. */
typedef struct cmgi_schedule {
    bool given[CMGI_MAX_LEVELS][CMGI_ROLES]; /* by level and cmg_role */
    cmg_values values[CMGI_MAX_LEVELS][CMGI_ROLES];
    bool halves; /* what is not given may be fp16 in level matrices where that is faster (create.h)
                  */
} cmgi_schedule;

/* NULL gives nothing. @return CMG_OK, CMG_ERR_ARG: the message names what is not understood
 */
cmg_status cmgi_schedule_parse(cmg_context *ctx, const char *text, cmgi_schedule *schedule);
/* The storage with the fewest bits that is given; FULL when there is none below. */
cmg_values cmgi_schedule_least(const cmgi_schedule *schedule);
