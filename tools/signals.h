/*
 * Interrupts. Outside writing, SIGINT, SIGTERM and SIGHUP end the program at once, as they do
 * without this. While a file is written they make the library stop at its next report of progress,
 * which removes the file that is half written; then the program ends by the signal. While an
 * iteration runs under watch, the first one ends the iteration, and the program goes on with what
 * it has.
 */
#pragma once
#include <stdbool.h>

/* For the whole program, before any thread is started. */
void signals_begin(void);
/* Around whatever writes files. */
void writing_begin(void);
void writing_end(void);
/* Around an iteration that asks interrupted() again and again. */
void watch_begin(void);
void watch_end(void);
/* A signal has come while an iteration was watched. */
bool interrupted(void);
/* A signal has come while writing. */
bool stop_wanted(void);
