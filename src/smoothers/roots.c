/*
 * Roots of residual polynomials.
 *
 * Saad, Practical use of polynomial preconditionings for the conjugate gradient method, SIAM J.
 * Sci. Stat. Comput. 6 (1985).
 *
 * Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30
 * (2023).
 *
 * Phillips and Fischer, Optimal Chebyshev smoothers and one-sided V-cycles, arXiv:2210.03179
 * (2022).
 */
#include "smoothers/roots.h"

#include "csr/small_dense.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/*
 * Leja order: the largest root first, then always the one with the largest product of distances to
 * those already taken. Source: Leja 1957; Calvetti and Reichel, BIT 36 (1996).
 */
static void order(int n, double *theta)
{
    for (int k = 0; k < n; ++k) {
        int best = k;
        double best_value = -INFINITY;
        for (int j = k; j < n; ++j) {
            double value = k == 0 ? theta[j] : 0;
            for (int i = 0; i < k; ++i) {
                value += log(fabs(theta[j] - theta[i]) + 1e-300);
            }
            if (value > best_value) {
                best = j;
                best_value = value;
            }
        }
        const double root = theta[k];
        theta[k] = theta[best];
        theta[best] = root;
    }
}

/*
 * With s_k = -p_(k+1)(0) / p_k(0) the recurrence of the p_k at 0 is s_k = a_k - b_k / s_(k-1), and
 * division by p_(k+1)(0) gives omega_k = 1 / s_k, beta_k = b_k / (s_k s_(k-1)). All roots are
 * positive, so every s_k is.
 *
 * Sources  Szego, Orthogonal Polynomials, 1939, (4.5.1); Gautschi, Orthogonal Polynomials:
 *          Computation and Approximation, 2004, section 2.2; Saad 2003, section 12.3 (Chebyshev);
 *          Lottes 2023, algorithm 1 (fourth kind).
 */
void cmgi_recurrence(const cmgi_orthogonal *o, double *omega, double *beta)
{
    double before = 1;
    for (int k = 0; k < o->n; ++k) {
        const double s = o->a[k] - (k > 0 ? o->b[k] / before : 0);
        omega[k] = 1 / s;
        beta[k] = k > 0 ? o->b[k] / (s * before) : 0;
        before = s;
    }
}

/* The roots of p_n, ascending: eigenvalues of the tridiagonal matrix of a and sqrt(b). */
static void find_roots(const cmgi_orthogonal *o, double *theta)
{
    double T[CMGI_MAX_DEGREE * CMGI_MAX_DEGREE] = {0};
    double vectors[CMGI_MAX_DEGREE * CMGI_MAX_DEGREE];
    const int n = o->n;
    for (int k = 0; k < n; ++k) {
        T[k * n + k] = o->a[k];
        if (k > 0) {
            T[k * n + k - 1] = sqrt(o->b[k]);
            T[(k - 1) * n + k] = T[k * n + k - 1];
        }
    }
    cmgi_eigen_symmetric(n, T, vectors, theta);
}

/*
 * The Lanczos process on diag(x) from sqrt(x w), reorthogonalised. Source: Golub and Welsch, Math.
 * Comp. 23 (1969).
 */
void cmgi_orthogonal_under(int n, const cmgi_measure *mu, cmgi_orthogonal *o)
{
    double v[CMGI_MAX_DEGREE + 1][CMGI_MEASURE_POINTS];
    for (int k = 0; k < mu->count; ++k) {
        v[0][k] = sqrt(fmax(mu->x[k] * mu->w[k], 0));
    }
    double norm = sqrt(cmgi_dot(mu->count, v[0], v[0]));
    o->n = n;
    for (int j = 0; j < n; ++j) {
        for (int k = 0; k < mu->count; ++k) {
            v[j][k] /= norm;
            v[j + 1][k] = mu->x[k] * v[j][k];
        }
        o->b[j] = norm * norm;
        o->a[j] = cmgi_dot(mu->count, v[j], v[j + 1]);
        for (int again = 0; again < 2; ++again) {
            for (int i = 0; i <= j; ++i) {
                const double c = cmgi_dot(mu->count, v[i], v[j + 1]);
                for (int k = 0; k < mu->count; ++k) {
                    v[j + 1][k] -= c * v[i][k];
                }
            }
        }
        norm = sqrt(cmgi_dot(mu->count, v[j + 1], v[j + 1]));
    }
}

static double square(double x)
{
    return x * x;
}

/*
 * lambda q^2 / (1 - q^2) <= C means |f| <= 1 for f = q sqrt((lambda + C) / C). At the minimum f
 * alternates between -1 and 1 at n points of (0, 1], the last of which is 1, and f'(0) = 0, that is
 * q'(0) = -1/(2C). An exchange in the manner of Remez: from given points follow C and q, from those
 * the new points.
 */

/* q at the points: q_0 = q(0) = 1, q_i = (-1)^i sqrt(C/(x_i + C)). */
static void prescribe(int n, const double *x, double C, double *q)
{
    q[0] = 1;
    for (int i = 1; i <= n; ++i) {
        q[i] = (i % 2 == 1 ? -1 : 1) * sqrt(C / (x[i] + C));
    }
}

/* The interpolating polynomial at y. Source: Berrut and Trefethen, SIAM Rev. 46 (2004), (4.2). */
static double interpolate(int n, const double *x, const double *w, const double *q, double y)
{
    double above = 0;
    double below = 0;
    for (int i = 0; i <= n; ++i) {
        if (y == x[i]) {
            return q[i];
        }
        above += w[i] / (y - x[i]) * q[i];
        below += w[i] / (y - x[i]);
    }
    return above / below;
}

/* C with q'(0) = -1/(2C); q'(0) + 1/(2C) falls in C. */
static double find_constant(int n, const double *x, const double *w, double *q)
{
    double low = 1e-6;
    double high = 10;
    for (int step = 0; step < 200; ++step) {
        const double C = sqrt(low * high);
        double slope = 0; /* q'(0). Source: as above, (9.4) */
        prescribe(n, x, C, q);
        for (int i = 1; i <= n; ++i) {
            slope += w[i] / w[0] / (x[0] - x[i]) * (q[i] - q[0]);
        }
        *(slope + 1 / (2 * C) > 0 ? &low : &high) = C;
    }
    prescribe(n, x, low, q);
    return low;
}

/* The zero of q between neighbouring points, where its sign changes. */
static double find_root(int n, const double *x, const double *w, const double *q, int i)
{
    double low = x[i];
    double high = x[i + 1];
    for (int step = 0; step < 100; ++step) {
        const double middle = 0.5 * (low + high);
        *(interpolate(n, x, w, q, middle) * q[i] > 0 ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* The extremum of f between two roots: the zero of (log |f|)', which falls there. */
static double find_extremum(int n, const double *theta, double C, double low, double high)
{
    for (int step = 0; step < 100; ++step) {
        const double middle = 0.5 * (low + high);
        double derivative = 0.5 / (middle + C);
        for (int j = 0; j < n; ++j) {
            derivative += 1 / (middle - theta[j]);
        }
        *(derivative > 0 ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static void exchange_points(int n, double *theta)
{
    double x[CMGI_MAX_DEGREE + 1];
    double w[CMGI_MAX_DEGREE + 1];
    double q[CMGI_MAX_DEGREE + 1];
    for (int i = 0; i <= n; ++i) {
        x[i] = square(sin(pi * i / (2 * n)));
    }
    for (int exchange = 0; exchange < 30; ++exchange) {
        for (int i = 0; i <= n;
             ++i) { /* barycentric weights for four times the capacity of (0, 1) */
            w[i] = 1;
            for (int j = 0; j <= n; ++j) {
                w[i] /= j == i ? 1 : 4 * (x[i] - x[j]);
            }
        }
        const double C = find_constant(n, x, w, q);
        for (int i = 0; i < n; ++i) {
            theta[i] = find_root(n, x, w, q, i);
        }
        for (int i = 1; i < n; ++i) {
            x[i] = find_extremum(n, theta, C, theta[i - 1], theta[i]);
        }
    }
}

void cmgi_roots(const cmgi_polynomial *p, double *theta)
{
    const int n = p->n;
    const double low = p->family == CMGI_CHEBYSHEV ? 1 / p->ratio : 0;
    cmgi_orthogonal o;
    for (int j = 0; j < n && p->family == CMGI_CHEBYSHEV; ++j) {
        theta[j] = 0.5 * (1 + low) + 0.5 * (1 - low) * cos(pi * (2 * j + 1) / (2 * n));
    }
    for (int j = 1; j <= n && p->family == CMGI_CHEBYSHEV4; ++j) {
        theta[j - 1] = square(sin(pi * j / (2 * n + 1)));
    }
    if (p->family == CMGI_OPTIMAL) {
        exchange_points(n, theta);
    } else if (p->family > CMGI_OPTIMAL) {
        cmgi_orthogonal_of(p, &o);
        find_roots(&o, theta);
    }
    order(n, theta);
}

/* The roots lie near those of the fourth kind; under the Gauss weights of that family, t times a
 * constant at each root, its lower degrees are near that family's, too. */
static void under_roots(const cmgi_polynomial *p, cmgi_orthogonal *o)
{
    cmgi_measure mu = {.count = p->n};
    cmgi_roots(p, mu.x);
    for (int k = 0; k < p->n; ++k) {
        mu.w[k] = 1;
    }
    cmgi_orthogonal_under(p->n, &mu, o);
}

/* Of families that have them in closed form. Polynomials of least squares are orthogonal under
 * t dt: Jacobi polynomials P^(0,1) of 2t - 1, whose recurrence has the diagonal 1/((2k+1)(2k+3))
 * and the squared off-diagonal k(k+1)/(2k+1)^2. */
static void closed_form(const cmgi_polynomial *p, cmgi_orthogonal *o)
{
    const double low = p->family == CMGI_CHEBYSHEV ? 1 / p->ratio : 0;
    const double half = 0.5 * (1 - low); /* of the interval [1/ratio, 1] */
    o->n = p->n;
    for (int k = 0; k < p->n; ++k) {
        const double odd = 2 * k + 1;
        switch (p->family) {
        case CMGI_CHEBYSHEV:
            o->a[k] = 0.5 * (1 + low);
            o->b[k] = half * half / (k == 1 ? 2 : 4);
            break;
        case CMGI_CHEBYSHEV4:
            o->a[k] = k == 0 ? 0.75 : 0.5;
            o->b[k] = 1.0 / 16;
            break;
        case CMGI_NEUMANN:
            o->a[k] = 0.75;
            o->b[k] = 0;
            break;
        default:
            o->a[k] = 0.5 * (1 + 1 / (odd * (odd + 2)));
            o->b[k] = 0.25 * k * (k + 1) / (odd * odd);
            break;
        }
    }
}

/* (1 - share) of the Ritz values' weights and share of the least-squares weight, at its Gauss
 * points. */
static void mix(const cmgi_spectrum *spectrum, double share, cmgi_measure *mu)
{
    mu->count = 0;
    for (int k = 0; k < spectrum->count; ++k) {
        mu->x[mu->count] = fmin(spectrum->ritz[k] / spectrum->largest, 1);
        mu->w[mu->count++] = (1 - share) * spectrum->weight[k];
    }
    for (int k = 1; k <= CMGI_MEASURE_GRID; ++k) {
        /* points that gather at both ends, x = sin^2, dx = sin(2 angle) dangle */
        const double angle = 0.5 * pi * (k - 0.5) / CMGI_MEASURE_GRID;
        mu->x[mu->count] = square(sin(angle));
        mu->w[mu->count++] = share * sin(2 * angle) * 0.5 * pi / CMGI_MEASURE_GRID;
    }
}

static void fit_spectrum(const cmgi_polynomial *p, cmgi_orthogonal *o)
{
    static const double shares[] = {0.1, 0.3, 0.6};
    double theta[CMGI_MAX_DEGREE];
    for (int s = 0; s < 3 && p->spectrum->count > 0; ++s) {
        cmgi_measure mu;
        mix(p->spectrum, shares[s], &mu);
        cmgi_orthogonal_under(p->n, &mu, o);
        find_roots(o, theta);
        double largest = 0; /* |q| on (0, 1] */
        for (int k = 1; k <= 1000; ++k) {
            double q = 1;
            for (int j = 0; j < p->n; ++j) {
                q *= 1 - k / (1000 * theta[j]);
            }
            largest = fmax(largest, fabs(q));
        }
        if (largest <= 1) {
            return;
        }
    }
    closed_form(&(cmgi_polynomial){.family = CMGI_LEAST_SQUARES, .n = p->n}, o);
}

void cmgi_orthogonal_of(const cmgi_polynomial *p, cmgi_orthogonal *o)
{
    (p->family == CMGI_OPTIMAL ? under_roots
     : p->family == CMGI_GLS   ? fit_spectrum
                               : closed_form)(p, o);
}
