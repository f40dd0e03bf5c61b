/*
 * Calls of CUDA that fail: each of them in turn, once or from that call on, through context,
 * copies, matrices, set-up, recorded and unrecorded solves, refresh. Whatever fails: a status that
 * says so or a right solution, nothing left allocated, no error left for the program; and the
 * context works again after it. Errors of the program itself stay where they are.
 */
#define TEST_OWN_MAIN
#include "cuda_faults.h"
#include "mg/solver.h"

#include "temporary.h"
#include "oracle.h"
#include "generated.h"

enum { MEMORY = 2, ILLEGAL_ADDRESS = 700, NOT_READY = 600, INVALID_VALUE = 1, UNKNOWN = 999 };
enum { ANY = -1 };

static cmg_hierarchy *model;  /* on the CPU: what the runs copy */
static const char *container; /* with it */

typedef cmg_status (*run_fn)(cmg_context *on, int variant);

/* ------------------------------------------------------------------ what is run */

typedef struct variant {
    cmg_format format;
    cmg_precision precision;
    cmg_krylov krylov;
    cmg_loop loop;
    bool refresh;
    const char *smoother;
} variant;

static const variant variants[] = {
    {CMG_FORMAT_AUTO, CMG_FP32, CMG_KRYLOV_CG, CMG_LOOP_AUTO, true, "jacobi"},
    {CMG_FORMAT_COMPRESSED, CMG_FP32, CMG_KRYLOV_AUTO, CMG_LOOP_HOST, false, "auto"},
    {CMG_FORMAT_CSR, CMG_FP64, CMG_KRYLOV_FCG, CMG_LOOP_GRAPH, true, "spai"},
    {CMG_FORMAT_SELL, CMG_FP64, CMG_KRYLOV_FGMRES, CMG_LOOP_AUTO, true, "chebyshev"},
    {CMG_FORMAT_K1RS, CMG_FP32, CMG_KRYLOV_DEFECT, CMG_LOOP_GRAPH, false, "jacobi"},
    {CMG_FORMAT_CUSPARSE_CSR, CMG_FP64, CMG_KRYLOV_CG, CMG_LOOP_AUTO, false, "jacobi"},
    {CMG_FORMAT_TUNE, CMG_FP64, CMG_KRYLOV_BICGSTAB, CMG_LOOP_AUTO, false, "jacobi"},
    {CMG_FORMAT_SELL, CMG_FP32, CMG_KRYLOV_CG, CMG_LOOP_AUTO, true, "fsai"},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static cmg_status copy_model(cmg_context *on, cmg_hierarchy **copy)
{
    const int levels = cmg_hierarchy_levels(model);
    cmg_hierarchy *h = NULL;
    cmg_csr A;
    cmg_status status = cmg_hierarchy_create(on, levels, &h);
    for (int l = 0; l < levels && status == CMG_OK; ++l) {
        CHECK(cmg_hierarchy_get_csr(model, l, CMG_ROLE_A, NULL, 0, &A) == CMG_OK);
        status = cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &A);
        if (l + 1 < levels && status == CMG_OK) {
            CHECK(cmg_hierarchy_get_csr(model, l, CMG_ROLE_P, NULL, 0, &A) == CMG_OK);
            status = cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &A);
        }
    }
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&h);
    }
    *copy = h;
    return status;
}

/* What is said to have converged is held against the matrix on the host, with CUDA's faults off for
 * the one copy that this takes. */
static cmg_status solve_once(cmg_solver *s, cmg_vector *b, cmg_vector *x, const double *rhs,
                             double *values)
{
    cmg_report report;
    cmg_report_default(&report);
    CMGI_TRY(cmg_vector_fill(x, 0));
    CMGI_TRY((cmg_solver_solve)(s, b, x, &report));
    CMGI_TRY(cmg_vector_get(x, values));
    if (!cmg_outcome_converged(report.outcome)) {
        return CMG_ERR_INTERNAL; /* the model converges, with and without what can fall back */
    }
    const oracle_norms norms = oracle_measure(model, rhs, values);
    CHECK(norms.residual <= 1.001e-8 * norms.rhs + 1e-13 * norms.magnitude);
    return CMG_OK;
}

static cmg_status run_solver(cmg_context *on, int k)
{
    const variant *v = &variants[k];
    const cmg_size n = cmg_hierarchy_rows(model, 0);
    double *rhs = malloc((size_t)n * sizeof *rhs);
    double *values = malloc((size_t)n * sizeof *values);
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_solver_options o = solver_defaults();
    cmg_status status = CMG_OK;
    if (k < 2) { /* matrices are sent to the device for the set-up */
        on->stage_from = 0;
    }
    o.matrix.format = v->format;
    o.precision = v->precision;
    o.krylov = v->krylov;
    o.loop = v->loop;
    o.matrix.keep_map = v->refresh;
    (void)snprintf(o.smoother, sizeof o.smoother, "%s", v->smoother);
    FILL(rhs, i, n, 1 + (double)(i % 7));
    CMGI_TRY_GOTO(done, copy_model(on, &h));
    CMGI_TRY_GOTO(done, cmg_vector_create(on, n, CMG_FP64, &b));
    CMGI_TRY_GOTO(done, cmg_vector_create(on, n, CMG_FP64, &x));
    CMGI_TRY_GOTO(done, cmg_vector_set(b, rhs));
    CMGI_TRY_GOTO(done, cmg_solver_create(h, &o, &s));
    CMGI_TRY_GOTO(done, solve_once(s, b, x, rhs, values));
    if (v->refresh) {
        CMGI_TRY_GOTO(done, cmg_solver_refresh(s));
    }
    CMGI_TRY_GOTO(done, solve_once(s, b, x, rhs, values));
done:
    cmg_solver_destroy(&s);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_hierarchy_destroy(&h);
    free(rhs);
    free(values);
    return status;
}

/* Copies through pinned memory, reductions over blocks, the clock of the device. */
static cmg_status run_core(cmg_context *on, int k)
{
    const cmg_size n = (1 << 21) + 3;
    scoped double *values = calloc((size_t)n, sizeof *values);
    scoped_vector *x = NULL;
    scoped_vector *y = NULL;
    double dot = 0;
    double seconds = 0;
    cmg_status status = CMG_OK;
    (void)k;
    values[0] = 2;
    values[n - 1] = 3;
    CMGI_TRY_GOTO(done, cmg_vector_create(on, n, CMG_FP64, &x));
    CMGI_TRY_GOTO(done, cmg_vector_create(on, n, CMG_FP64, &y));
    CMGI_TRY_GOTO(done, cmg_vector_set(x, values));
    CMGI_TRY_GOTO(done, cmg_vector_fill(y, 1));
    CMGI_TRY_GOTO(done, cmg_vector_axpby(2, x, 1, y));
    CMGI_TRY_GOTO(done, cmg_vector_dot(x, y, &dot));
    CMGI_TRY_GOTO(done, cmg_vector_get(y, values));
    CHECK(dot == 31 && values[0] == 5 && values[1] == 1 && values[n - 1] == 7);
    CMGI_TRY_GOTO(done, on->backend->mark_reserve(on, 2));
    CMGI_TRY_GOTO(done, on->backend->mark(on, 0));
    CMGI_TRY_GOTO(done, cmg_vector_fill(x, 1));
    CMGI_TRY_GOTO(done, on->backend->mark(on, 1));
    CMGI_TRY_GOTO(done, on->backend->elapsed(on, 0, 1, &seconds));
done:
    (void)on->backend->mark_reserve(on, 0);
    return status;
}

/* A container to the device as it is read. */
static cmg_status run_file(cmg_context *on, int k)
{
    scoped_hierarchy *h = NULL;
    cmg_csr A = {0};
    cmg_csr B;
    cmg_status status = CMG_OK;
    (void)k;
    on->stage_from = 0;
    CMGI_TRY(cmg_hierarchy_read(on, container, CMG_FILE_AUTO, &h));
    for (int l = 0; l < cmg_hierarchy_levels(model); ++l) {
        CMGI_TRY_GOTO(done, cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
        CHECK(cmg_hierarchy_get_csr(model, l, CMG_ROLE_A, NULL, 0, &B) == CMG_OK);
        const size_t nnz = (size_t)B.indptr[B.rows];
        CHECK(A.rows == B.rows && A.indptr[A.rows] == B.indptr[B.rows]);
        CHECK(memcmp(A.indptr, B.indptr, (size_t)B.rows * sizeof *B.indptr) == 0);
        CHECK(memcmp(A.indices, B.indices, nnz * sizeof *B.indices) == 0);
        CHECK(memcmp(A.values, B.values, nnz * sizeof *B.values) == 0);
    }
done:
    return status;
}

/* ------------------------------------------------------------------ the ladder */

/* A context, the run in it, and again without a fault unless the device is lost for good. */
static cmg_status with_context(run_fn run, int k, char message[CMG_MESSAGE])
{
    cmg_context_options options = context_defaults();
    scoped_context *on = NULL;
    size_t held[2];
    cmg_elements_use(&options);
    options.backend = CMG_BACKEND_CUDA;
    options.threads = 1;
    options.why = message;
    message[0] = '\0';
    cmg_status status = cmg_context_create(&options, &on);
    if (status != CMG_OK) {
        return status;
    }
    const size_t own = (size_t)on->partials_length * sizeof(double);
    status = run(on, k);
    if (status != CMG_OK) {
        (void)snprintf(message, CMG_MESSAGE, "%s", cmg_context_message(on));
    }
    cmg_context_memory(on, held, NULL);
    CHECK(held[0] + held[1] == own);
    return status;
}

static int faults = 0;

static bool fail_at(run_fn run, int k, int call, long n, int mode)
{
    char message[CMG_MESSAGE];
    const int before = test_failures;
    const int error = mode == CUDA_FAULT_STICKS ? ILLEGAL_ADDRESS : n % 2 == 0 ? UNKNOWN : MEMORY;
    cuda_faults_arm(call, n, mode, error);
    const cmg_status status = with_context(run, k, message);
    const int pending = cuda_faults_pending();
    const long alive = cuda_faults_alive();
    const bool passed = cuda_faults_disarm();
    cuda_faults_leave(0);
    if (!passed) {
        CHECK(status == CMG_OK);
        return false;
    }
    ++faults;
    CHECK(alive == 0);
    CHECK(mode == CUDA_FAULT_STICKS || pending == 0);
    CHECK(status == CMG_OK || status == CMG_ERR_DEVICE || status == CMG_ERR_MEMORY);
    CHECK(status == CMG_OK || message[0] != '\0');
    if (test_failures != before) {
        printf("   run %d, %s, call %ld, mode %d: %s, %s; %ld alive, error %d left\n", k,
               call < 0 ? "any" : cuda_calls[call], n, mode, cmg_status_name(status), message,
               alive, pending);
    }
    return true;
}

/* Calls 1, 2, ... of any function, ever more sparsely; the first, a middle and the last of each. */
static void climb(run_fn run, int k)
{
    char message[CMG_MESSAGE];
    cuda_faults_arm(ANY, -1, CUDA_FAULT_ONCE, 0);
    const cmg_status status = with_context(run, k, message);
    if (status == CMG_ERR_UNSUPPORTED &&
        (strstr(message, "cusparse") != NULL || strstr(message, "CMG_STUDIES") != NULL)) {
        (void)cuda_faults_disarm();
        SKIP("%s", message);
        return;
    }
    CHECK(status == CMG_OK);
    if (status != CMG_OK) {
        printf("   run %d without a fault: %s, %s\n", k, cmg_status_name(status), message);
        return;
    }
    CHECK(cuda_faults_alive() == 0);
    const long total = cuda_faults_count(ANY);
    long count[512];
    FILL(count, call, cuda_ncalls, cuda_faults_count(call));
    (void)cuda_faults_disarm();
    for (int mode = CUDA_FAULT_ONCE; mode <= CUDA_FAULT_STICKS; ++mode) {
        for (long n = 1; n <= total; n += 1 + n / 16) {
            (void)fail_at(run, k, ANY, n, mode);
        }
        for (int call = 0; call < cuda_ncalls; ++call) {
            const long places[] = {1, 2, 3, count[call] / 2, count[call] - 1, count[call]};
            for (size_t p = 0; p < sizeof places / sizeof places[0]; ++p) {
                if (places[p] >= 1 && places[p] <= count[call] && (p < 3 || places[p] > 3)) {
                    (void)fail_at(run, k, call, places[p], mode);
                }
            }
        }
    }
    CHECK(with_context(run, k, message) == CMG_OK); /* the process goes on */
}

TEST(core_survives)
{
    climb(run_core, 0);
}

TEST(files_survive)
{
    container = temporary("model.cmg");
    if (cmg_hierarchy_write(model, container, CMG_FILE_AUTO) == CMG_ERR_UNSUPPORTED) {
        SKIP("no containers in this build");
        return;
    }
    climb(run_file, 0);
    remove_all(container);
}

TEST(solvers_survive)
{
    for (int k = 0; k < VARIANTS; ++k) {
        climb(run_solver, k);
    }
    printf("%d faults\n", faults);
}

/* ------------------------------------------------------------------ errors of the program */

TEST(errors_of_the_program_stay)
{
    cmg_vector *x = vector_new(100, CMG_FP64);
    cuda_faults_leave(NOT_READY); /* an answer: polling leaves it */
    CHECK_OK(cmg_vector_fill(x, 1));
    CHECK(cuda_faults_pending() == NOT_READY);
    cuda_faults_leave(INVALID_VALUE);
    CHECK_REFUSED(cmg_vector_fill(x, 2), CMG_ERR_DEVICE, "earlier call of the program");
    CHECK(cuda_faults_pending() == INVALID_VALUE); /* not swallowed */
    cuda_faults_leave(0);
    CHECK_OK(cmg_vector_fill(x, 3));
    cuda_faults_leave(INVALID_VALUE);
    cmg_vector_destroy(&x);
    CHECK(cuda_faults_pending() == INVALID_VALUE);
    cuda_faults_leave(0);
}

/* Needs no device: the entries are where they should be. */
static void faults_arrive(void)
{
    char message[CMG_MESSAGE];
    int first = -1;
    for (int call = 0; call < cuda_ncalls; ++call) {
        first = strcmp(cuda_calls[call], "cudaGetDeviceCount") == 0 ? call : first;
    }
    CHECK(first >= 0);
    cuda_faults_arm(first, 1, CUDA_FAULT_ONCE, UNKNOWN);
    CHECK(with_context(run_core, 0, message) == CMG_ERR_DEVICE);
    CHECK(cuda_faults_pending() == 0 && cuda_faults_alive() == 0);
    CHECK(cuda_faults_disarm());
    CHECK(strstr(message, "unknown error") != NULL);
}

int main(int argc, char **argv)
{
    faults_arrive();
    if (test_failures > 0) {
        return 1;
    }
    test_begin(argc, argv);
    scoped_context *host = NULL;
    cmg_generate_options options = generate_options("cells=16");
    CHECK(cmg_context_create(NULL, &host) == CMG_OK);
    CHECK(cmg_hierarchy_generate(host, &options, &model) == CMG_OK);
    test_run();
    cmg_hierarchy_destroy(&model);
    return test_end();
}
