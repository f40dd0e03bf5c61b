/* Words of the command line. */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "usage: heart [options]\n"
    "  --mesh FILE           tetrahedra or triangles, mm (gmsh, MFEM)\n"
    "  --slab NX,NY,NZ,H     or a block of cubes of edge H, six tetrahedra each\n"
    "  --square NX,NY,H      or squares, two triangles each (default 40,40,0.5)\n"
    "  --refine N            refine it N times (0)\n"
    "  --fibres WHAT         none, x, y, z, ellipsoid, or a file with 3 numbers a cell (none)\n"
    "  --diso D --dani D     conduction, and that along fibres in addition, mm^2/ms (1, 0.1)\n"
    "  --stimulus WHAT       plane:AXIS, s1s2:MS or x0,x1,y0,y1,z0,z1,start,duration,current;\n"
    "                        several times (plane:x)\n"
    "  --time MS             end (500)\n"
    "  --dt MS               largest time step (1)\n"
    "  --fixed               that step always, shortened at events alone\n"
    "  --output DIR          folder for all results (heart-out)\n"
    "  --every MS            between pictures (10), 0 = none\n"
    "  --checkpoint MS       between checkpoints (100), 0 = at the end alone\n"
    "  --restart             go on from the checkpoint in the output folder\n"
    "  --backend cpu|cuda    --threads N   --device N\n"
    "  --solver WHAT         jacobi, chebyshev, multigrid, or options of cmg solve, "
    "\"smoother=fsai\" "
    "(jacobi)\n"
    "  --format NAME         of the matrix under jacobi and chebyshev (auto)\n"
    "  --refresh WHEN        set-up of a solver: never, step, newton (never)\n"
    "  --newton-rtol R       residual over that of a change by 1 everywhere (1e-10)\n"
    "  --linear-rtol A,B     of the first Newton step and of later ones (1e-2,1e-5)\n"
    "  --profile             on a GPU: wait after every part, to time them\n"
    "  --dump DIR[,STEP]     first matrix and residual of that step (1)\n"
    "  --quiet               no progress line\n";

/* Reads up to n numbers between commas; returns how many there are, -1 = something else. */
static int numbers(const char *text, int n, double *to)
{
    int k = 0;
    for (; k < n; ++k) {
        char *end = NULL;
        to[k] = strtod(text, &end);
        if (end == text || (*end != ',' && *end != '\0')) {
            return -1;
        }
        if (*end == '\0') {
            return k + 1;
        }
        text = end + 1;
    }
    return -1;
}

/* Options with one number. */
static double *number_of(heart_options *o, const char *name)
{
    const struct {
        const char *name;
        double *to;
    } all[] = {{"diso", &o->diso},
               {"dani", &o->dani},
               {"time", &o->time},
               {"dt", &o->dt},
               {"every", &o->every},
               {"checkpoint", &o->checkpoint},
               {"newton-rtol", &o->newton_rtol}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
        if (strcmp(all[k].name, name) == 0) {
            return all[k].to;
        }
    }
    return NULL;
}

static const char **word_of(heart_options *o, const char *name)
{
    const struct {
        const char *name;
        const char **to;
    } all[] = {{"mesh", &o->mesh},     {"fibres", &o->fibres}, {"output", &o->output},
               {"solver", &o->solver}, {"format", &o->format}, {"dump", &o->dump}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
        if (strcmp(all[k].name, name) == 0) {
            return all[k].to;
        }
    }
    return NULL;
}

static bool *flag_of(heart_options *o, const char *name)
{
    const struct {
        const char *name;
        bool *to;
    } all[] = {{"fixed", &o->fixed},
               {"restart", &o->restart},
               {"profile", &o->profile},
               {"quiet", &o->quiet}};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
        if (strcmp(all[k].name, name) == 0) {
            return all[k].to;
        }
    }
    return NULL;
}

/* The remaining options; false = no such option or not its form. */
static bool take_other(heart_options *o, const char *name, const char *value)
{
    char text[64];
    double refine = 0;
    if (strcmp(name, "slab") == 0) {
        return numbers(value, 4, o->block) == 4;
    }
    if (strcmp(name, "square") == 0) {
        double block[3];
        const bool good = numbers(value, 3, block) == 3;
        o->block[0] = block[0];
        o->block[1] = block[1];
        o->block[2] = 0;
        o->block[3] = block[2];
        return good;
    }
    if (strcmp(name, "refine") == 0) {
        const bool good = numbers(value, 1, &refine) == 1 && refine >= 0 && refine < MAX_LEVELS;
        o->refine = good ? (int)refine : 0;
        return good;
    }
    if (strcmp(name, "linear-rtol") == 0) {
        const int n = numbers(value, 2, o->linear_rtol);
        o->linear_rtol[1] = n == 1 ? o->linear_rtol[0] : o->linear_rtol[1];
        return n >= 1;
    }
    if (strcmp(name, "refresh") == 0) {
        static const char *const when[] = {"never", "step", "newton"};
        for (o->refresh = 0; o->refresh < 3 && strcmp(value, when[o->refresh]) != 0;) {
            ++o->refresh;
        }
        return o->refresh < 3;
    }
    if (strcmp(name, "stimulus") == 0 && o->protocols < MAX_STIMULI) {
        o->protocol[o->protocols++] = value;
        return true;
    }
    if (strcmp(name, "backend") == 0 || strcmp(name, "threads") == 0 ||
        strcmp(name, "device") == 0) {
        (void)snprintf(text, sizeof text, "%s=%s", name, value);
        return cmg_context_options_set(&o->context, text) == CMG_OK;
    }
    return false;
}

static void defaults(heart_options *o)
{
    *o = (heart_options){.block = {40, 40, 0, 0.5},
                         .fibres = "none",
                         .diso = 1,
                         .dani = 0.1,
                         .time = 500,
                         .dt = 1,
                         .output = "heart-out",
                         .every = 10,
                         .checkpoint = 100,
                         .solver = "jacobi",
                         .format = "auto",
                         .newton_rtol = 1e-10,
                         .linear_rtol = {1e-2, 1e-5},
                         .dump_step = 1};
    cmg_context_options_default(&o->context);
}

static const char *check(heart_options *o)
{
    char *comma = o->dump != NULL ? strchr(o->dump, ',') : NULL;
    if (comma != NULL) {
        o->dump_step = strtoll(comma + 1, NULL, 10);
        *comma = '\0';
    }
    if (o->protocols == 0) {
        o->protocol[o->protocols++] = "plane:x";
    }
    const bool block = o->block[0] >= 1 && o->block[1] >= 1 && o->block[2] >= 0 && o->block[3] > 0;
    return !block                                   ? "a block needs cells and an edge over 0"
           : !(o->time > 0 && o->dt > 0)            ? "--time and --dt are over 0"
           : !(o->every >= 0 && o->checkpoint >= 0) ? "--every and --checkpoint are not below 0"
           : !(o->diso > 0 && o->dani > -o->diso)   ? "conduction is over 0"
                                                    : NULL;
}

const char *options_parse(heart_options *o, int argc, char **argv)
{
    static char wrong[256];
    defaults(o);
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i] + (strncmp(argv[i], "--", 2) == 0 ? 2 : 0);
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = name != argv[i];
        if (good && strcmp(name, "help") == 0) {
            return "";
        }
        if (good && flag_of(o, name) != NULL) {
            *flag_of(o, name) = true;
            continue;
        }
        if (good && word_of(o, name) != NULL) {
            *word_of(o, name) = value;
        } else if (good && number_of(o, name) != NULL) {
            good = numbers(value, 1, number_of(o, name)) == 1;
        } else {
            good = good && take_other(o, name, value);
        }
        if (!good || i + 1 == argc) {
            (void)snprintf(wrong, sizeof wrong, "cannot make sense of '%s %s'", argv[i], value);
            return wrong;
        }
        ++i;
    }
    return check(o);
}
