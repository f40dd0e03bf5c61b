/* The command `cmg`: a table of subcommands. A new one is a file cmd_NAME.c and a row here. */
#define _POSIX_C_SOURCE 200809L
#include "args.h"
#include "heap.h"
#include "signals.h"
#include "status.h"
#include "version.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

#ifdef TOOL_HAVE_STUDIES
int cmd_bench(int argc, char **argv);
#else
static int cmd_bench(int argc, char **argv)
{
    (void)argc;
    return usage_error("%s is one of the studies, which this build leaves out: build with "
                       "-DCMG_STUDIES=ON",
                       argv[0]);
}
#endif
int cmd_compare(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_coarsen(int argc, char **argv);
int cmd_smooth(int argc, char **argv);
int cmd_solve(int argc, char **argv);
int cmd_transfer(int argc, char **argv);

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
    const char *summary;
} command;

/* in the order of the help; the last row has no name */
static const command commands[] = {
    {"generate", cmd_generate, "make a hierarchy from a mesh and a problem"},
    {"info", cmd_info, "print what is in a hierarchy and what is suspicious about it"},
    {"solve", cmd_solve, "solve with a preassembled hierarchy"},
    {"plan", cmd_plan, "print the cascade: the steps of a cycle and what they cost"},
    {"compare", cmd_compare, "solve with many smoothers, cycles and formats side by side"},
    {"convert", cmd_convert, "write a hierarchy in another form"},
    {"bench", cmd_bench, "time products in many formats against the copy bandwidth"},
    {"smooth", cmd_smooth, "compute smoothers and keep them in the container"},
    {"transfer", cmd_transfer, "write the prolongation between two meshes"},
    {"coarsen", cmd_coarsen, "append algebraic levels and keep them in the container"},
    {NULL, NULL, NULL},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] - 1 };

static void print_help(FILE *file)
{
    fprintf(file, "usage: cmg COMMAND [options] [FILE...]\n\n"
                  "Geometric multigrid on cascades of sparse matrix-vector products.\n\n"
                  "Commands:\n");
    for (int i = 0; i < COMMANDS; ++i) {
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(file, "\n  cmg COMMAND --help lists the options of a command\n"
                  "  cmg help [COMMAND] prints the same\n"
                  "  cmg version        prints the version, as -V and --version do\n\n"
                  "Exit status: 0 done (and converged), 1 usage, 2 bad file, 3 did not converge,\n"
                  "4 out of memory or device fault.\n");
}

static int refuse_command(const char *name)
{
    const char *words[COMMANDS + 1] = {NULL};
    for (int i = 0; i < COMMANDS; ++i) {
        words[i] = commands[i].name;
    }
    words[COMMANDS] = "help";
    const char *close = cmg_closest_word(name, words, COMMANDS + 1);
    return close != NULL ? usage_error("unknown command '%s'; did you mean %s?", name, close)
                         : usage_error("unknown command '%s'; see cmg --help", name);
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; ++i) {
        if (strcmp(name, commands[i].name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        version_print();
        return EXIT_DONE;
    }
    if (strcmp(name, "help") == 0) {
        char option[] = "--help";
        char *words[] = {argv[0], argc > 2 ? argv[2] : option, option, NULL};
        return argc > 3 ? usage_error("help: one command at a time")
                        : dispatch(argc > 2 ? 3 : 2, words);
    }
    const command *found = find_command(name);
    return found != NULL ? found->run(argc - 1, argv + 1) : refuse_command(name);
}

/*
 * Threads that wait spin for milliseconds by default, and each wait beside another process then
 * costs its time slice. The OpenMP runtime reads how long before main, so the program starts itself
 * again with 2000 turns of GNU's loop, about 0.1 ms; other runtimes do not spin. Where the address
 * space is limited, a thread of OpenBLAS that cannot be made has it wait for ever at the end. Who
 * has set something is not overruled.
 */
static void settle_threads(char **argv)
{
#ifdef __linux__
    struct rlimit room;
    bool again = false;
    if (getenv("OMP_WAIT_POLICY") == NULL && getenv("GOMP_SPINCOUNT") == NULL &&
        getenv("KMP_BLOCKTIME") == NULL && setenv("OMP_WAIT_POLICY", "passive", 1) == 0 &&
        setenv("GOMP_SPINCOUNT", "2000", 1) == 0) {
        again = true;
    }
    if (getenv("OPENBLAS_NUM_THREADS") == NULL && getrlimit(RLIMIT_AS, &room) == 0 &&
        room.rlim_cur != RLIM_INFINITY && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0) {
        again = true;
    }
    if (again) {
        (void)execv("/proc/self/exe", argv); /* returns where there is none: then it spins */
    }
#else
    (void)argv;
#endif
}

int main(int argc, char **argv)
{
    settle_threads(argv);
    heap_begin();
    signals_begin();
    const int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        /* the reason is known only if it is this call that failed */
        return file_error("standard output", "%s",
                          errno != 0 ? strerror(errno) : "could not be written to its end");
    }
    if (status == EXIT_FILE) {
        /* HDF5 1.10 forgets to free what it had begun when a file could not be read, and complains
         * about that in three lines of its own when the program ends */
        quick_exit(status);
    }
    return status;
}
