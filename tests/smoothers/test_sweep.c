/*
 * Sweeps: the triangles of an order that follows from the factors, upwinded transport solved by one
 * sweep whatever the numbering, incomplete factors that are exact where nothing is left out, and
 * what cannot be done with a substitution.
 */
#include "smoothers/factors.h"
#include "test.h"

enum { SIDE = 9, N = SIDE * SIDE };

/* Every row that i refers to is placed before it: the factor is a triangle in some order. */
static void place_rows(const cmgi_csr *L, int *place)
{
    int placed = 0;
    FILL(place, i, L->rows, -1);
    for (cmg_size round = 0; round < L->rows && placed < L->rows; ++round) {
        for (cmg_size i = 0; i < L->rows; ++i) {
            bool ready = place[i] < 0;
            for (cmg_size k = L->indptr[i]; k < L->indptr[i + 1]; ++k) {
                ready = ready && (L->indices[k] == i || place[L->indices[k]] >= 0);
            }
            place[i] = ready ? placed++ : place[i];
        }
    }
    CHECK(placed == L->rows);
}

/* M = (D + L)^-1, and (D + U)^-1 D (D + L)^-1 with the rest of A above the diagonal. */
TEST(triangles_make_up_the_matrix)
{
    static const char *const orders[] = {"flow", "colours", "rows"};
    scoped double *dense = model_q1(SIDE, 2, 3);
    scoped_csr A = csr_of_dense(N, dense);
    for (int q = 0; q < 3; ++q) {
        int place[N];
        const char *name = sprint("sweep:order=%s", orders[q]);
        scoped_factors *made = factors_make(&A, name);
        CHECK(made->factors == 2 && made->solves);
        place_rows(&made->factor[0], place);
        scoped double *L = dense_of(&made->factor[0].view);
        scoped double *U = dense_of(&made->factor[1].view);
        double worst = 0;
        EACH_PAIR (i, N, j, N) {
            /* L + D U holds a_ij once, the diagonal twice */
            const double both = L[i * N + j] + dense[i * N + i] * U[i * N + j];
            const double expected = (i == j ? 2 : 1) * dense[i * N + j];
            worst = worst_of(worst, fabs(both - expected));
            CHECK(i == j || L[i * N + j] == 0 || place[j] < place[i]);
            CHECK(L[i * N + j] == 0 || i == j || U[i * N + j] == 0);
        }
        CHECK(worst < 1e-14);
    }
}

/* A Q1 grid has four colours: in `colours`, rows refer to rows of three others. */
TEST(colours_are_few)
{
    scoped double *dense = model_q1(SIDE, 2, 1);
    scoped_csr A = csr_of_dense(N, dense);
    scoped_factors *made = factors_make(&A, "sweep:order=colours:symmetric=no");
    const cmgi_csr *L = &made->factor[0];
    int stage[N] = {0};
    int most = 0;
    CHECK(made->factors == 1);
    EACH_PAIR (round, N, i, N) {
        for (cmg_size k = L->indptr[i]; k < L->indptr[i + 1]; ++k) {
            const int j = L->indices[k];
            stage[i] = j != i && stage[j] >= stage[i] ? stage[j] + 1 : stage[i];
        }
        most = stage[i] > most ? stage[i] : most;
    }
    CHECK(most == 3);
    scoped_factors *other = factors_make(&A, "gauss-seidel:symmetric=no"); /* its other name */
    CHECK(other->factors == 1 && other->solves && other->factor[0].indptr[N] == L->indptr[N]);
    CHECK_EACH(k, L->indptr[N],
               other->factor[0].indices[k] == L->indices[k] &&
                   other->factor[0].values[k] == L->values[k]);
}

/*
 * Upwind differences of a turning flow without diffusion, rows numbered at random: a triangle in
 * the order of the flow, which one forward sweep inverts.
 */
TEST(transport_is_solved_by_one_sweep)
{
    double dense[N * N] = {0};
    cmg_index number[N];
    random_order(number, N, 4);
    for (int i = 0; i < N; ++i) {
        const int x = i % SIDE;
        const int y = i / SIDE;
        const double u = 1;                      /* to the right */
        const double v = 0.3 * (x - 0.5 * SIDE); /* down, then up */
        const int from[2] = {x > 0 ? i - 1 : -1,
                             v > 0 ? (y > 0 ? i - SIDE : -1) : (y < SIDE - 1 ? i + SIDE : -1)};
        const double speed[2] = {u, fabs(v)};
        for (int d = 0; d < 2; ++d) {
            dense[number[i] * N + number[i]] += speed[d];
            if (from[d] >= 0) {
                dense[number[i] * N + number[from[d]]] -= speed[d];
            }
        }
    }
    scoped_csr A = csr_of_dense(N, dense);
    scoped_factors *made = factors_make(&A, "sweep:symmetric=no");
    scoped double *M = factors_dense(made);
    CHECK(model_distance_to_identity(N, M, dense) < 1e-12);
}

/* Nothing is left out of the factors of a tridiagonal matrix; of others they agree with A on its
 * pattern. */
TEST(incomplete_factors_agree_on_the_pattern)
{
    static const char *const orders[] = {"flow", "colours", "rows"};
    for (int q = 0; q < 6; ++q) {
        scoped double *dense = model_q1(SIDE, 2, 2);
        for (int i = 0; i < N; ++i) { /* transport along the numbering */
            for (int j = 0; j < N; ++j) {
                const int d = j - i;
                const double here = dense[i * N + j];
                dense[i * N + j] = q < 3 ? (here != 0 ? here + (d == -1  ? -0.3
                                                                : d == 1 ? 0.3
                                                                         : 0)
                                                      : 0)
                                         : (d == 0    ? 2.5
                                            : d == 1  ? -0.5
                                            : d == -1 ? -1
                                                      : 0);
            }
        }
        const char *name = sprint("sweep:ilu=yes:order=%s", orders[q % 3]);
        scoped_csr A = csr_of_dense(N, dense);
        scoped_factors *made = factors_make(&A, name);
        scoped double *L = dense_of(&made->factor[0].view);
        scoped double *U = dense_of(&made->factor[1].view);
        scoped double *LU = model_multiply(N, L, U);
        double worst = 0;
        for (int k = 0; k < N * N; ++k) {
            const bool whole = q >= 3 && q % 3 != 1; /* colours fill in */
            worst = dense[k] != 0 || whole ? fmax(worst, fabs(LU[k] - dense[k])) : worst;
        }
        CHECK(worst < 1e-13);
    }
}

TEST(refuses)
{
    static const char *const not_so[] = {"chebyshev:base=sweep", "sweep:omega=auto"};
    scoped double *dense = model_q1(SIDE, 2, 1);
    scoped_csr A = csr_of_dense(N, dense);
    const cmgi_smoother_source source = {.ctx = ctx, .A = A.view};
    for (int q = 0; q < 2; ++q) {
        scoped_factors *made = factors_new();
        CHECK_REFUSED(cmgi_smoother_make(&source, not_so[q], 0, made), CMG_ERR_UNSUPPORTED,
                      "substitution");
    }
}
