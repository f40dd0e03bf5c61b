/* Words of the command line: a row an option, read by the library's cmg_option_set. */
#include "heart.h"

#include <stddef.h>
#include <string.h>

/* `word` is the default, also of numbers; `group` what the help calls the value. */
#define ROW(field, kind, key_, what, standard_, text_, ...)                                        \
    {                                                                                              \
        .key = (key_), .group = (what), .text = (text_), .type = CMG_OPTION_##kind,                \
        .word = (standard_), .offset = offsetof(heart_options, field),                             \
        .bytes = sizeof((heart_options *)0)->field, __VA_ARGS__                                    \
    }
#define POSITIVE .high = INFINITY, .open_low = true

static const char *refresh_name(const char *kind, int value)
{
    static const char *const names[] = {"never", "step", "newton"};
    (void)kind;
    return value >= 0 && value < 3 ? names[value] : NULL;
}

static const cmg_option rows[] = {
    ROW(mesh, TEXT, "mesh", "FILE", "", "tetrahedra or triangles, mm (gmsh, MFEM)", ),
    ROW(slab, REALS, "slab", "NX,NY,NZ,H", "0",
        "or a block of cubes of edge H, six tetrahedra each", .high = 1e9),
    ROW(square, REALS, "square", "NX,NY,H", "40,40,0.5", "or squares, two triangles each",
        .high = 1e9),
    ROW(refine, INT, "refine", "N", "0", "times that the mesh is refined", .high = MAX_LEVELS - 1),
    ROW(fibres, TEXT, "fibres", "WHAT", "none",
        "none, x, y, z, ellipsoid, or a file with 3 numbers a cell", ),
    ROW(diso, REAL, "diso", "D", "1.0", "conduction, mm^2/ms", POSITIVE),
    ROW(dani, REAL, "dani", "D", "0.1", "more of it along fibres", .low = -INFINITY,
        .high = INFINITY),
    ROW(stimulus, TEXT, "stimulus", "WHAT", "plane:x",
        "plane:AXIS, s1s2:MS, x0,x1,y0,y1,z0,z1,start,duration,current; may be repeated", ),
    ROW(time, REAL, "time", "MS", "500", "when it ends", POSITIVE),
    ROW(dt, REAL, "dt", "MS", "1.0", "largest time step", POSITIVE),
    ROW(fixed, FLAG, "fixed", "", "no", "that step always, shortened at events alone", ),
    ROW(output, TEXT, "output", "DIR", "heart-out", "folder for all results", ),
    ROW(every, REAL, "every", "MS", "10", "from picture to picture, 0 = none", .high = INFINITY),
    ROW(checkpoint, REAL, "checkpoint", "MS", "100",
        "from checkpoint to checkpoint, 0 = one at the end", .high = INFINITY),
    ROW(restart, FLAG, "restart", "", "no", "go on from the checkpoint in the output folder", ),
    ROW(solver, TEXT, "solver", "WHAT", "jacobi",
        "jacobi, chebyshev, multigrid, or options of cmg solve, \"smoother=fsai\"", ),
    ROW(format, TEXT, "format", "NAME", "auto", "of the matrix under jacobi and chebyshev", ),
    ROW(refresh, WORD, "refresh", "WHEN", "never", "set-up of a solver: never, step, newton",
        .words = "refresh", .name = refresh_name),
    ROW(newton_rtol, REAL, "newton-rtol", "R", "1e-10",
        "residual over that of a change by 1 everywhere", .high = INFINITY),
    ROW(linear_rtol, REALS, "linear-rtol", "A,B", "1e-2,1e-5",
        "of the first Newton step and of later ones", .high = 1),
    ROW(profile, FLAG, "profile", "", "no", "on a GPU: wait after every part, to time them", ),
    ROW(dump, TEXT, "dump", "DIR[,STEP]", "", "first matrix and residual of that step, to check", ),
    ROW(quiet, FLAG, "quiet", "", "no", "no progress line", ),
};

enum { ROWS = sizeof rows / sizeof rows[0] };

void options_help(void)
{
    (void)printf("usage: heart [options]\n");
    for (int i = 0; i < ROWS; ++i) {
        const bool says = rows[i].type != CMG_OPTION_FLAG && strlen(rows[i].word) > 1;
        (void)printf("  --%-12s %-11s %s%s%s%s\n", rows[i].key, rows[i].group, rows[i].text,
                     says ? " (" : "", says ? rows[i].word : "", says ? ")" : "");
    }
    for (int i = 0; cmg_context_option(i) != NULL; ++i) {
        (void)printf("  --%-24s %s\n", cmg_context_option(i)->key, cmg_context_option(i)->text);
    }
}

/* The row of a word, and the struct that it is about. */
static const cmg_option *find(heart_options *o, const char *word, void **owner)
{
    for (int i = 0; i < ROWS; ++i) {
        if (strcmp(rows[i].key, word) == 0) {
            *owner = o;
            return &rows[i];
        }
    }
    *owner = &o->context;
    for (int i = 0; cmg_context_option(i) != NULL; ++i) {
        if (strcmp(cmg_context_option(i)->key, word) == 0) {
            return cmg_context_option(i);
        }
    }
    return NULL;
}

/* What several options say together. */
static bool check(heart_options *o, char why[CMG_MESSAGE])
{
    char *comma = strchr(o->dump, ',');
    o->dump_step = 1;
    if (comma != NULL) {
        (void)sscanf(comma + 1, "%lld", &o->dump_step);
        *comma = '\0';
    }
    if (o->protocols == 0) {
        o->protocol[o->protocols++] = o->stimulus;
    }
    if (o->linear_rtol[1] == 0) {
        o->linear_rtol[1] = o->linear_rtol[0];
    }
    const double *b = o->slab[0] > 0 ? o->slab : o->square;
    const bool block = b[0] >= 1 && b[1] >= 1 && b[2] > 0 && (b == o->square || b[2] >= 1);
    if (!block || (b == o->slab && !(b[3] > 0))) {
        (void)snprintf(why, CMG_MESSAGE, "a block needs cells and an edge over 0");
        return false;
    }
    if (o->dani <= -o->diso) {
        (void)snprintf(why, CMG_MESSAGE, "diso %g and dani %g: conduction is over 0", o->diso,
                       o->dani);
        return false;
    }
    return true;
}

bool options_parse(heart_options *o, int argc, char **argv, char why[CMG_MESSAGE])
{
    *o = (heart_options){.size = sizeof *o};
    cmg_context_options_default(&o->context);
    for (int i = 0; i < ROWS; ++i) {
        (void)cmg_option_set(&rows[i], o, rows[i].word, why);
    }
    for (int i = 1; i < argc; ++i) {
        void *owner = NULL;
        const bool dashes = strncmp(argv[i], "--", 2) == 0;
        const cmg_option *row = dashes ? find(o, argv[i] + 2, &owner) : NULL;
        const bool flag = row != NULL && row->type == CMG_OPTION_FLAG;
        if (row == NULL || (!flag && i + 1 == argc)) {
            (void)snprintf(why, CMG_MESSAGE, "cannot make sense of '%.200s'", argv[i]);
            return false;
        }
        if (cmg_option_set(row, owner, flag ? "yes" : argv[++i], why) != CMG_OK) {
            return false;
        }
        if (strcmp(row->key, "stimulus") == 0 && o->protocols < MAX_STIMULI) {
            o->protocol[o->protocols++] = argv[i];
        }
    }
    return check(o, why);
}
