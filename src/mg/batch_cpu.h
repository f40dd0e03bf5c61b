/* A system by one thread: its set-up or its solve, for each instruction set. */
#pragma once
#include "mg/batch.h"

typedef void (*cmgi_batch_one)(const cmgi_batch_plan *plan, cmg_size number, int thread,
                               bool setup);
void cmgi_batch_one_portable(const cmgi_batch_plan *plan, cmg_size number, int thread, bool setup);
void cmgi_batch_one_avx2(const cmgi_batch_plan *plan, cmg_size number, int thread, bool setup);
