/*
 * A file in memory, read word by word with the line known, or number by number in binary parts. The
 * first failure stays: from then on words are empty and numbers the lowest that are allowed.
 */
#pragma once
#include "core/context.h"

typedef struct cmgi_text {
    cmg_context *ctx;
    const char *path;
    cmg_status status; /* of the first failure */
    char *data;        /* size bytes and a terminating zero */
    cmg_size size;
    const char *p;  /* next byte */
    cmg_size line;  /* of p, from 1 */
    char comment;   /* from here to the end of a line nothing counts, 0 = no such character */
    bool binary;    /* numbers come as bytes */
    bool swap;      /* in the other byte order */
    char word[128]; /* last word read, cut off if longer */
} cmgi_text;

/* "path:line: ..." or, in a binary part, "path: byte n: ..."; line <= 0 is left out. Returns the
 * status of the first failure. */
cmg_status cmgi_text_fail(cmgi_text *t, cmg_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails so where `good` is not true. */
#define CMGI_TEXT_CHECK(t, good, code, ...)                                                        \
    do {                                                                                           \
        if (!(good)) {                                                                             \
            (void)cmgi_text_fail((t), (code), __VA_ARGS__);                                        \
        }                                                                                          \
    } while (0)
/* Next word into t->word, empty at the end of the file. */
void cmgi_text_word(cmgi_text *t);
/* Moves to the next word and says whether there is one; same_line: only on this line. */
bool cmgi_text_more(cmgi_text *t, bool same_line);
/* Fails unless the next word is this one. */
void cmgi_text_expect(cmgi_text *t, const char *word);
/* Fails unless nothing is left on this line; binary parts have no lines. */
void cmgi_text_end_line(cmgi_text *t, const char *what);
/* Leaves the line as it is, past its end. */
void cmgi_text_skip_line(cmgi_text *t);
/* A whole number from low to high; `what` names it in messages. In binary parts 4 bytes. */
cmg_size cmgi_text_int(cmgi_text *t, const char *what, cmg_size low, cmg_size high);
/* The same, 8 bytes in binary parts. */
cmg_size cmgi_text_size(cmgi_text *t, const char *what, cmg_size low, cmg_size high);
/* A finite number, 8 bytes in binary parts. */
double cmgi_text_real(cmgi_text *t, const char *what);
/* Moves to the next place where `mark` stands. */
void cmgi_text_skip_to(cmgi_text *t, const char *mark);
/* How many items of at least `bytes` the rest of the file can hold: the limit for counts. */
cmg_size cmgi_text_room(const cmgi_text *t, cmg_size bytes);
