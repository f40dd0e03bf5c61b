/*
 * Arguments of a smoother, written after its name and separated by colons:
 *
 *     spai                       every key at its default
 *     spai:tau=0.1:side=right    two keys given
 *     chebyshev:degree=4:base=spai:tau=0.1      what follows base= is a whole smoother
 *     file:NAME                  a method that takes a name takes it first
 *
 * A method lists its keys in a table; the table is what is parsed by, checked against and shown to
 * people. Every method also has the key omega: a number, or "auto" for an estimate.
 */
#pragma once
#include "core/context.h"

enum { CMGI_MAX_KEYS = 12, CMGI_MAX_NAME = 64 };

typedef cmg_smoother_key cmgi_key; /* tables end with a NULL key */

typedef struct cmgi_arguments {
    char name[CMGI_MAX_NAME];    /* of a method that takes one, else "" */
    double value[CMGI_MAX_KEYS]; /* in the order of the method's table */
    const char *rest;            /* text of the key that takes the rest, NULL = not given */
    double omega;                /* 0 = not given */
    bool omega_auto;             /* omega=auto */
} cmgi_arguments;

/*
 * Parses what follows "method" in a smoother's name, "" or ":...". `keys` ends with a NULL key and
 * may be NULL.
 *
 * @return CMG_OK, CMG_ERR_ARG for unknown or repeated keys, malformed or out-of-range values,
 *         a name that is missing or one too many
 */
cmg_status cmgi_arguments_parse(cmg_context *ctx, const char *method, const char *text,
                                const cmgi_key *keys, bool takes_name, cmgi_arguments *out);
