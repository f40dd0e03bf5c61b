/*
 * Memory of the program. A solve of ten thousand unknowns takes 3 MB, and where the kernel clears
 * and maps them 4 KiB at a time, that is a quarter of its set-up.
 */
#pragma once

/* For the whole program, before anything is allocated; nothing happens where libc is another. */
void heap_begin(void);
