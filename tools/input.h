/* What a command reads: the hierarchy, the levels in use, right-hand sides and guesses. */
#pragma once
#include "device.h"

typedef struct input_args {
    int level;           /* level of the file that becomes the finest */
    int drop_coarsest;   /* levels left out at the coarse end */
    bool as_stored;      /* leave out what the file leaves out */
    double load_seconds; /* of the reading */
} input_args;

void input_args_add(args *a, input_args *in);
/* Reads the hierarchy and keeps the levels asked for; EXIT_DONE, or another exit status after one
 * error line. */
int input_read(input_args *in, device_args *d, cmg_context *ctx, const char *path,
               cmg_hierarchy **h);

/* The context, and the hierarchy in it. */
int input_open(input_args *in, device_args *d, const char *path, cmg_context **ctx,
               cmg_hierarchy **h);

enum { INPUT_TEXT = 160 };

/*
 * The right-hand side: the vector or file that `wanted` names; when it is NULL, vector "b" of the
 * hierarchy, else its first, else ones. A file may hold several columns. `said` gets in words
 * which one it is.
 */
int input_rhs(cmg_context *ctx, const cmg_hierarchy *h, const char *path, const char *wanted,
              cmg_vector **b, char said[INPUT_TEXT]);
/* The initial guess: a vector of kind "solutions" of the hierarchy, or a file. */
int input_guess(cmg_context *ctx, const cmg_hierarchy *h, const char *path, const char *wanted,
                cmg_vector **x);
/* Name of the vector of a kind that is taken unasked: the preferred one, else the first, or NULL.
 */
const char *input_default_name(const cmg_hierarchy *h, const char *kind, const char *preferred);
