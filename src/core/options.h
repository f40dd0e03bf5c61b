/*
 * One table per option struct: each row has key, text, default, range and place of one field. From
 * it come the defaults, the check of every struct that the library is given, the text setter, and,
 * outside the library, the command line, JSON, the help and the table in docs/cli.md.
 *
 *     #define ROW(kind, field, ...) CMGI_OPTION_ROW(cmg_x_options, "Group", kind, field,
 * __VA_ARGS__) static const cmg_option rows[] = { ROW(INT, pre, .standard = 1, .high = 1000, .text
 * = "smoothing steps before"),
 *     };
 *     static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_x_options, rows);
 *
 * Every struct begins with `size_t size` and `char refused[CMG_MESSAGE]`.
 */
#pragma once
#include "core/context.h"

#define CMGI_OPTION_ROW(struct_, group_, kind_, field_, ...)                                       \
    CMGI_OPTION_ROW_AS(#field_, struct_, group_, kind_, field_, __VA_ARGS__)
#define CMGI_OPTION_ROW_AS(key_, struct_, group_, kind_, field_, ...)                              \
    {                                                                                              \
        .key = key_, .group = group_, .type = CMG_OPTION_##kind_,                                  \
        .offset = offsetof(struct_, field_), .bytes = sizeof(((struct_ *)0)->field_), __VA_ARGS__  \
    }
#define CMGI_OPTION_TABLE(struct_, rows_)                                                          \
    {                                                                                              \
        .name = #struct_, .rows = rows_, .count = (int)(sizeof(rows_) / sizeof((rows_)[0])),       \
        .bytes = sizeof(struct_)                                                                   \
    }

typedef struct cmgi_option_table {
    const char *name; /* of the struct */
    const cmg_option *rows;
    int count;
    size_t bytes; /* of the struct in this library */
} cmgi_option_table;

enum { CMGI_OPTIONS_MOST = 4096 }; /* bytes of the largest option struct */

/* Zeros `size` bytes, as many as the caller's struct has, and fills in the defaults of the rows. */
void cmgi_options_init(const cmgi_option_table *table, void *options, size_t size);
/*
 * A whole struct `own` from what a caller gave: NULL means the defaults, a smaller struct of an
 * older program has the defaults in the fields it lacks. Refused are a size that cannot be, texts
 * that the setter refused, and values out of range; `why` then says which.
 */
cmg_status cmgi_options_accept(const cmgi_option_table *table, const void *given, void *own,
                               char why[CMG_MESSAGE]);
/* The same with the sentence in the context. */
cmg_status cmgi_options_take(cmg_context *ctx, const cmgi_option_table *table, const void *given,
                             void *own);
/* CMG_ERR_ARG on every rank of the context, naming the field, where they have not been given the
 * same in whole structs `own`; collective. */
cmg_status cmgi_options_agree(cmg_context *ctx, const cmgi_option_table *table, const void *own);
/* Sets options from text, all or none; a refusal is kept in the struct. */
cmg_status cmgi_options_set(const cmgi_option_table *table, void *options, const char *text);
/* Row i, NULL past the last. */
const cmg_option *cmgi_options_row(const cmgi_option_table *table, int i);
/* CMG_ERR_ARG and a sentence unless `size`, of a caller's struct, is over 0 and at most `ours`. */
cmg_status cmgi_size_check(const char *name, size_t size, size_t ours, char why[CMG_MESSAGE]);
/* The first field of any option struct. */
size_t cmgi_options_size(const void *options);

/* The public functions of a struct: its defaults, its text setter, and its rows one by one. */
#define CMGI_OPTION_FUNCTIONS(struct_, row_, table_)                                               \
    void struct_##_init(struct_ *options, size_t size)                                             \
    {                                                                                              \
        cmgi_options_init(&(table_), options, size);                                               \
    }                                                                                              \
    cmg_status struct_##_set(struct_ *options, const char *text)                                   \
    {                                                                                              \
        return cmgi_options_set(&(table_), options, text);                                         \
    }                                                                                              \
    const cmg_option *row_(int i)                                                                  \
    {                                                                                              \
        return cmgi_options_row(&(table_), i);                                                     \
    }

/* Name of a value of a word's enumeration, NULL past the last. */
const char *cmgi_option_word(const cmg_option *row, int value);
/* One field: as a number (0 of a text), put there, checked, and whether a struct reaches to it. */
double cmgi_option_number(const cmg_option *row, const void *options);
void cmgi_option_put(const cmg_option *row, void *options, double value);
cmg_status cmgi_option_check_number(const cmg_option *row, double v, char why[CMG_MESSAGE]);
cmg_status cmgi_option_check(const cmg_option *row, const void *options, char why[CMG_MESSAGE]);
bool cmgi_option_fits(const cmg_option *row, size_t size);
/* CMG_ERR_ARG with a sentence in `why`, which may be NULL. */
cmg_status cmgi_option_refuse(char why[CMG_MESSAGE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "smoother: 'fsia' is unknown; did you mean fsai? ...", with what is known. */
cmg_status cmgi_option_refuse_word(const char *key, const char *word, const char *const *words,
                                   int count, char why[CMG_MESSAGE]);
