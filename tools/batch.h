/* `cmg solve FILE --batch VALUES`: many systems on the pattern of the file's matrix. */
#pragma once
#include "solve_job.h"

/* Everything from reading to results; an exit status. */
int batch_run(solve_job *job);
