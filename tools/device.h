/* Where a command computes: the options --backend, --threads and --device, and the context. */
#pragma once
#include "args.h"
#include "output.h"

enum { DEVICE_WARNINGS = 32, DEVICE_WARNING = 256 };

typedef struct device_args {
    cmg_context_options options;
    progress line;                                 /* progress on standard error */
    char warning[DEVICE_WARNINGS][DEVICE_WARNING]; /* of the library, the first ones */
    int warnings;
} device_args;

void device_args_default(device_args *d);
void device_args_add(args *a, device_args *d);
/* Creates the context; EXIT_DONE, or another exit status after one error line. */
int device_open(device_args *d, cmg_context **ctx);
/* Opens the JSON of a command: its name, the version, and "warnings", what the library has warned
 * of; false after an error line. */
bool report_open(json *j, const char *path, const char *command, const device_args *d);
/* "cpu, 2 threads" or "cuda, device 0"; returns text. */
const char *device_describe(const device_args *d, const cmg_context *ctx, char text[64]);
