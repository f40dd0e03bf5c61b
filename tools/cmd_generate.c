/* `cmg generate`: a geometric hierarchy from a mesh and a problem, or a named case. */
#include "cmg_fem.h"

#include "device.h"
#include "fingerprint.h"
#include "ranks.h"
#include "signals.h"
#include "status.h"
#include "store.h"

#include <math.h>
#include <string.h>

typedef struct generate_job {
    const char *path; /* NULL with --list and --dry-run */
    device_args device;
    cmg_generate_options options;
    int to;
    bool list;
    bool element_given; /* else that of the mesh file's cells */
    bool dry_run;
    const char *named; /* --case */
    const char *json;
    int ranks;     /* threads that share the work */
    int processes; /* of mpirun */
    int rank;      /* of these */
    double generate_seconds;
    double write_seconds;
} generate_job;

static void add_run(args *a, generate_job *job)
{
    const arg_option rows[] = {
        {"case", ARG_TEXT, &job->named, "NAME", 0, 0,
         "start from the options of a named case; others on the line override it"},
        {"list", ARG_FLAG, &job->list, "", 0, 0, "list the named cases"},
        {"dry-run", ARG_FLAG, &job->dry_run, "", 0, 0, "print the sizes and stop"},
        {"json", ARG_TEXT, &job->json, "FILE", 0, 0,
         "write sizes, times and fingerprints as JSON, - = standard output; OUT may be left out"},
        {"to", ARG_ENUM, &job->to, "file", 0, 0, "form of OUT; auto takes it from the name"},
        {"ranks", ARG_INT, &job->ranks, "N", 1, 1024,
         "grids: N threads make and write their rows each; mpirun -n N: processes"},
    };
    args_add(a, "Run", rows, ARGS_COUNT(rows));
    args_add_row(a, "threads", cmg_context_option, &job->device.options);
}

/* The value of --case or --case= on the command line, before anything else is looked at. */
static const char *find_case_name(int argc, char **argv)
{
    const char *name = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        if (strncmp(argv[i], "--case=", 7) == 0) {
            name = argv[i] + 7;
        } else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
            name = argv[i + 1];
        }
    }
    return name;
}

static int parse(generate_job *job, int argc, char **argv)
{
    device_args_default(&job->device);
    cmg_generate_options_default(&job->options);
    const char *name = find_case_name(argc, argv);
    if (name != NULL && cmg_generate_case(name, &job->options) != CMG_OK) {
        return usage_error("generate: there is no case '%s'; see cmg generate --list", name);
    }
    args a;
    args_begin(&a, "generate", "[OUT]",
               "Make a geometric hierarchy - matrices, prolongations, right-hand side - and write\n"
               "it to OUT: a container (.cmg, .h5) or a directory of Matrix Market files.");
    args_add_table(&a, "Mesh", cmg_generate_option, &job->options);
    args_add_table(&a, "Problem", cmg_generate_option, &job->options);
    args_add_table(&a, "Hierarchy", cmg_generate_option, &job->options);
    add_run(&a, job);
    const int status = args_parse(&a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    job->path = a.plains > 0 ? a.plain[0] : NULL;
    job->element_given = name != NULL || args_given(&a, "element");
    if (job->path == NULL && !job->list && !job->dry_run && job->json == NULL) {
        return usage_error("generate: the name of the file to write is missing");
    }
    return ARGS_GO;
}

static int list_cases(void)
{
    static const char *const headings[] = {"<case", "<what it is"};
    table *t = table_create(headings, 2);
    for (int i = 0; cmg_generate_case_name(i) != NULL; ++i) {
        const char *name = cmg_generate_case_name(i);
        table_cell(t, "%s\t%s", name, cmg_generate_case_text(name));
    }
    table_print(t, stdout, "");
    table_destroy(&t);
    return EXIT_DONE;
}

static void print_size(const cmg_generate_size *size, FILE *out)
{
    const char *about = size->exact ? "" : "about ";
    fprintf(out, "%d levels in %dD, finest: %s%lld unknowns, %s%lld entries\n", size->levels,
            size->dim, about, (long long)size->rows, about, (long long)size->nnz);
    fprintf(out, "memory %s%s, at the peak %s; file up to %s%s\n", about,
            format_bytes((double)size->bytes), format_bytes((double)size->peak), about,
            format_bytes((double)size->file_size));
    (void)fflush(out);
}

static void print_levels(const generate_job *job, const cmg_hierarchy *h, FILE *out)
{
    static const char *const headings[] = {"level", "unknowns", "entries", "a row"};
    table *t = table_create(headings, 4);
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        cmg_csr A;
        if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A) == CMG_OK) {
            table_cell(t, "%d\t%lld\t%lld\t%.2f", l, (long long)A.rows, (long long)A.indptr[A.rows],
                       (double)A.indptr[A.rows] / (double)A.rows);
        }
    }
    table_print(t, out, "");
    table_destroy(&t);
    fprintf(out, "generated in %s\n", format_seconds(job->generate_seconds));
    (void)fflush(out);
}

static void json_matrix(json *j, const cmg_hierarchy *h, int level, cmg_role role, const char *key)
{
    char text[FINGERPRINT_LENGTH];
    cmg_csr A;
    if (cmg_hierarchy_get_csr(h, level, role, NULL, 0, &A) != CMG_OK) {
        return;
    }
    json_object(j, key);
    json_integer(j, "rows", A.rows);
    json_integer(j, "cols", A.cols);
    json_integer(j, "entries", A.indptr[A.rows]);
    json_text(j, "structure", fingerprint_structure(&A, text));
    json_real(j, "norm", fingerprint_norm(A.values, A.indptr[A.rows]));
    json_end(j);
}

static int write_json(const generate_job *job, const cmg_hierarchy *h,
                      const cmg_generate_size *size)
{
    json j;
    cmg_size n = 0;
    const double *b = NULL;
    if (!report_open(&j, job->json, "generate", &job->device)) {
        return EXIT_FILE;
    }
    json_text(&j, "case", job->named);
    json_text(&j, "file", job->path);
    json_options(&j, cmg_generate_option, &job->options);
    json_integer(&j, "estimated_bytes", (cmg_size)size->bytes);
    json_integer(&j, "estimated_peak_bytes", (cmg_size)size->peak);
    json_real(&j, "generate_seconds", job->generate_seconds);
    json_real(&j, "write_seconds", job->path != NULL ? job->write_seconds : NAN);
    json_array(&j, "levels");
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        json_object(&j, NULL);
        json_matrix(&j, h, l, CMG_ROLE_A, "A");
        json_matrix(&j, h, l, CMG_ROLE_P, "P");
        json_end(&j);
    }
    json_end(&j);
    if (cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &b) == CMG_OK) {
        json_real(&j, "rhs_norm", fingerprint_norm(b, n));
    }
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}

/* Writes what was made and says so. */
static int finish(generate_job *job, cmg_context *ctx, const cmg_hierarchy *h,
                  const cmg_generate_size *size, FILE *out)
{
    if (job->path != NULL) {
        const double begin = tool_seconds();
        writing_begin();
        const cmg_status status = cmg_hierarchy_write(h, job->path, (cmg_file_kind)job->to);
        writing_end();
        progress_end(&job->device.line);
        if (status != CMG_OK) {
            return library_error(ctx, status, job->path);
        }
        job->write_seconds = tool_seconds() - begin;
        fprintf(out, "written to %s in %s\n", job->path, format_seconds(job->write_seconds));
    }
    return job->json != NULL ? write_json(job, h, size) : EXIT_DONE;
}

static const char *mesh_of(const generate_job *job)
{
    return job->options.mesh[0] != '\0' ? job->options.mesh : NULL;
}

static bool is_shared(const generate_job *job)
{
    return job->ranks > 1 || job->processes > 1;
}

/* What ranks do: a container of a hierarchy of which each makes its rows. */
static int check_shared(const generate_job *job, const cmg_generate_size *size)
{
    const bool container =
        job->to == CMG_FILE_CONTAINER ||
        (job->to == CMG_FILE_AUTO && job->path != NULL && names_container(job->path));
    if (job->ranks > 1 && job->processes > 1) {
        return usage_error("--ranks %d under mpirun, which gives the ranks", job->ranks);
    }
    if (job->json != NULL || (!container && !job->dry_run)) {
        return usage_error("ranks write a container, .cmg or .h5, and no JSON");
    }
    return size->by_rows ? EXIT_DONE
                         : usage_error("ranks make squares and cubes of Q1 or Q2 elements in the "
                                       "generator's numbering, without --elements, a source under "
                                       "pure Neumann conditions or --coarse galerkin");
}

/* A rank: its rows, which all write together. */
static cmg_status generate_rank(void *user, const cmg_transport *transport)
{
    generate_job *job = user;
    const cmg_context_options options = ranks_context(&job->device, transport);
    const double begin = tool_seconds();
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_status status = cmg_context_create(&options, &ctx);
    status = THEN(status, cmg_hierarchy_generate(ctx, &job->options, &h));
    const double made = tool_seconds();
    status = THEN(status, cmg_hierarchy_write_rows(h, job->path));
    if (status != CMG_OK) {
        transport->fail(transport->user, status, cmg_context_message(ctx));
    } else if (transport->rank == 0) {
        job->generate_seconds = made - begin;
        job->write_seconds = tool_seconds() - made;
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status;
}

static int generate_shared(generate_job *job)
{
    char why[CMG_MESSAGE] = "";
    const cmg_status status = ranks_run(job->ranks, generate_rank, job, why);
    if (status != CMG_OK) {
        fprintf(stderr, "cmg: %s: %s\n", job->path, why);
        return exit_status(status);
    }
    if (job->rank == 0) {
        printf("generated in %s, written to %s in %s by %d ranks\n",
               format_seconds(job->generate_seconds), job->path, format_seconds(job->write_seconds),
               job->ranks > 1 ? job->ranks : job->processes);
    }
    return EXIT_DONE;
}

/* The element of first order for the cells of a mesh file. */
static cmg_status choose_element(generate_job *job, cmg_context *ctx)
{
    cmg_fem_mesh mesh = {.nodes = 0};
    cmg_status status = CMG_OK;
    if (job->options.mesh[0] != '\0' && !job->element_given) {
        status = cmg_fem_mesh_read(ctx, job->options.mesh, 1, &mesh);
        job->options.element = status == CMG_OK ? mesh.element : job->options.element;
        cmg_fem_mesh_free(ctx, &mesh);
    }
    return status;
}

static int generate(generate_job *job, cmg_context *ctx)
{
    FILE *out = report_stream(job->json);
    cmg_generate_size size = {.size = sizeof size};
    cmg_hierarchy *h = NULL;
    cmg_status status = job->path != NULL && !job->dry_run
                            ? cmg_hierarchy_write_check(ctx, job->path, (cmg_file_kind)job->to)
                            : CMG_OK;
    if (status != CMG_OK) {
        return library_error(ctx, status, job->path);
    }
    status = choose_element(job, ctx);
    status = THEN(status, cmg_generate_estimate(ctx, &job->options, &size));
    if (status != CMG_OK) {
        return library_error(ctx, status, mesh_of(job));
    }
    const int refused = is_shared(job) ? check_shared(job, &size) : EXIT_DONE;
    if (job->rank == 0 && refused == EXIT_DONE) {
        print_size(&size, out);
    }
    if (job->dry_run || refused != EXIT_DONE) {
        return refused;
    }
    if (is_shared(job)) {
        return generate_shared(job);
    }
    const double begin = tool_seconds();
    status = cmg_hierarchy_generate(ctx, &job->options, &h);
    progress_end(&job->device.line);
    if (status != CMG_OK) {
        return library_error(ctx, status, mesh_of(job));
    }
    job->generate_seconds = tool_seconds() - begin;
    print_levels(job, h, out);
    const int done = finish(job, ctx, h, &size, out);
    cmg_hierarchy_destroy(&h);
    return done;
}

int cmd_generate(int argc, char **argv)
{
    generate_job job = {.ranks = 1};
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    if (job.list) {
        return list_cases();
    }
    cmg_context *ctx = NULL;
    job.processes = ranks_processes(&job.rank);
    status = ranks_check(job.processes);
    status = THEN(status, device_open(&job.device, &ctx));
    status = THEN(status, generate(&job, ctx));
    ranks_end(status != EXIT_DONE, status);
    cmg_context_destroy(&ctx);
    return status;
}
