/*
 * Long options in the GNU manner, from tables: `--name value`, `--name=value`, flags, `--` ends the
 * options, `-h` and `--help` print what the tables say, defaults and ranges included.
 *
 *   int steps = 2;
 *   const arg_option rows[] = {
 *       {"steps", ARG_INT, &steps, "N", 0, 100, "smoothing steps"},
 *   };
 *   args a;
 *   args_begin(&a, "solve", "FILE", "Solve with a preassembled hierarchy.");
 *   args_add(&a, "Cycle", rows, ARGS_COUNT(rows));
 *   const int status = args_parse(&a, argc, argv);
 *   if (status != ARGS_GO) { return status; }
 *
 * A value is what its variable holds when the row is added: that is the default the help shows.
 */
#pragma once
#include "cmg.h"

typedef enum arg_kind {
    ARG_FLAG = 0, /* bool: --name makes it true */
    ARG_OFF,      /* bool: --name makes it false */
    ARG_INT,      /* int in [lo, hi] */
    ARG_SIZE,     /* cmg_size in [lo, hi] */
    ARG_REAL,     /* double in [lo, hi] */
    ARG_TEXT,     /* const char *, NULL = not given; points into argv */
    ARG_ENUM,     /* int, one of the names of the cmg_enum_parse kind in `what` */
    ARG_CALL,     /* arg_call */
    ARG_ROW       /* arg_row */
} arg_kind;

/* What an option does with its text; returns ARGS_GO or the exit status. */
typedef struct arg_call {
    int (*call)(void *user, const char *text);
    void *user;
} arg_call;

/* An option of the library and the struct it is in. */
typedef struct arg_row {
    const cmg_option *row;
    void *options;
} arg_row;

typedef struct arg_option {
    const char *name; /* without the dashes */
    arg_kind kind;
    void *value; /* variable of the kind's type; holds the default */
    /* the value in the help ("N", "FILE"); of ARG_ENUM: the kind of enumeration */
    const char *what;
    double lo;        /* least value of a number */
    double hi;        /* greatest value of a number, ARG_ANY = no limit */
    const char *help; /* one sentence without a full stop */
} arg_option;

#define ARG_ANY (1e300)
#define ARGS_COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

enum {
    ARGS_GO = -1, /* args_parse: go on; anything else is the exit status */
    ARGS_MAX_OPTIONS = 64,
    ARGS_MAX_GROUPS = 8,
    ARGS_MAX_PLAIN = 8,
    ARGS_DEFAULT_LENGTH = 96,
    ARGS_NAME_LENGTH = 48
};

typedef struct args {
    const char *command; /* "solve" */
    const char *usage;   /* plain arguments: "FILE", "IN OUT", "FILE..." or "" */
    const char *summary; /* one sentence */
    arg_option option[ARGS_MAX_OPTIONS];
    char fallback[ARGS_MAX_OPTIONS][ARGS_DEFAULT_LENGTH]; /* defaults as text, "" = none */
    char row_name[ARGS_MAX_OPTIONS][ARGS_NAME_LENGTH];    /* of options of the library */
    arg_row row[ARGS_MAX_OPTIONS];                        /* they themselves */
    bool given[ARGS_MAX_OPTIONS];                         /* the option was on the command line */
    int options;
    const char *heading[ARGS_MAX_GROUPS];
    int heading_at[ARGS_MAX_GROUPS]; /* first option of the group */
    int groups;
    const char *plain[ARGS_MAX_PLAIN]; /* arguments that are not options, in order */
    int plains;
    const char *read[ARGS_MAX_PLAIN]; /* texts of ARG_CALL: files that were read */
    int reads;
} args;

void args_begin(args *a, const char *command, const char *usage, const char *summary);
/* Copies `count` rows under a heading of the help. */
void args_add(args *a, const char *heading, const arg_option *rows, int count);
/* Adds the rows of a table of the library that stand in `group`; --no-KEY is a flag that is on. */
void args_add_table(args *a, const char *group, const cmg_option *(*row)(int), void *options);
/* Adds one row of a table, by its key, to the last heading. */
void args_add_row(args *a, const char *key, const cmg_option *(*row)(int), void *options);
/*
 * argv[0] is the command. Returns ARGS_GO with the variables set; 0 after --help; 1 after one line
 * about the first mistake. The number of plain arguments is checked against `usage`.
 */
int args_parse(args *a, int argc, char **argv);
/* ARGS_GO unless --output, --json, --csv or OUT names, or lies in, what another argument names. */
int args_check_files(const args *a);
/* Option i was given, and names a file that is written. */
bool args_is_output(const args *a, int i);
/* Can the files named by --output, --json and --csv be written? ARGS_GO or the exit status. */
int args_try_outputs(const args *a);
/* Was --name on the command line? */
bool args_given(const args *a, const char *name);

/* Reads a whole number or a real that fills the text; false otherwise. */
bool args_read_integer(const char *text, cmg_size *value);
bool args_read_real(const char *text, double *value);
