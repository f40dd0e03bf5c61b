/* Exit statuses and the one line a failure prints on standard error. */
#pragma once
#include "cmg.h"

enum {
    EXIT_DONE = 0,          /* done, and converged */
    EXIT_USAGE = 1,         /* the command line, or a method this build lacks */
    EXIT_FILE = 2,          /* a file that cannot be read or written, or is not valid */
    EXIT_NOT_CONVERGED = 3, /* the solve ended otherwise; its results are written */
    EXIT_FAULT = 4          /* out of memory, a device fault, an internal error */
};

/* The next step, after those that ended with 0: EXIT_DONE, CMG_OK. */
#define THEN(status, call) ((status) == 0 ? (call) : (status))

/* Prints "cmg: ..." and returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "cmg: FILE: message" and returns EXIT_FILE. */
int file_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Prints the context's last message after the name of the file in work (NULL: none) and returns
 * the exit status of a library status. A message that already names the file is not given twice.
 */
int library_error(const cmg_context *ctx, cmg_status status, const char *file);
/* The exit status that stands for a library status. */
int exit_status(cmg_status status);
/* malloc that ends the program with one line and EXIT_FAULT when there is no memory. */
void *tool_alloc(size_t count, size_t size);
