/*
 * The ionic model, and one cell of the mesh; C and CUDA share this file. To bring another model of
 * two variables, write its rates here.
 *
 * Aliev and Panfilov (Chaos, Solitons & Fractals 7, 1996) in the form and with the constants of
 * Goektepe and Kuhl (Int. J. Numer. Meth. Engng 79, 2009): phi = (V + 80 mV) / 100 mV, time in ms,
 *
 *     f = (c phi (phi - alpha) (1 - phi) - r phi) / tau
 *     g = (gamma + mu1 r / (mu2 + phi)) (-r - c phi (phi - b - 1)) / tau
 *
 * A cell has one integration point with the mean of its corners, and one r (Wong, Kuhl and Darve,
 * Int. J. Numer. Meth. Engng 102, 2015, section 2).
 */
#pragma once
#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define HEART_INLINE __host__ __device__ __forceinline__ static
#else
#define HEART_INLINE static inline
#endif

enum { MAX_STIMULI = 8 };

typedef struct rates {
    double f; /* of phi, and its derivatives */
    double f_phi;
    double f_r;
    double g; /* of r */
    double g_phi;
    double g_r;
} rates;

HEART_INLINE rates model_rates(double phi, double r)
{
    const double alpha = 0.01;
    const double gamma = 0.002;
    const double b = 0.15;
    const double c = 8;
    const double mu1 = 0.2;
    const double mu2 = 0.3;
    const double per_ms = 1 / 12.9;
    const double weight = gamma + mu1 * r / (mu2 + phi);
    const double drive = -r - c * phi * (phi - b - 1);
    const rates v = {
        per_ms * (c * phi * (phi - alpha) * (1 - phi) - r * phi),
        per_ms * (c * (-3 * phi * phi + 2 * (1 + alpha) * phi - alpha) - r),
        per_ms * -phi,
        per_ms * weight * drive,
        per_ms * (-mu1 * r / ((mu2 + phi) * (mu2 + phi)) * drive - weight * c * (2 * phi - b - 1)),
        per_ms * (mu1 / (mu2 + phi) * drive - weight)};
    return v;
}

/* Local Newton iteration: r with (r - r_old) / dt = g(phi, r). */
HEART_INLINE double model_local(double phi, double r_old, double dt)
{
    double r = r_old;
    for (int k = 0; k < 20; ++k) {
        const rates v = model_rates(phi, r);
        const double change = ((r - r_old) / dt - v.g) / (1 / dt - v.g_r);
        r -= change;
        if (fabs(change) <= 1e-15 * (1 + fabs(r))) {
            break;
        }
    }
    return r;
}

/* Everything that the cells' part of a Newton step reads and writes; arrays where the cells are. */
typedef struct cell_arrays {
    long long cells;
    const int32_t *nodes;            /* cells x corners */
    const double *volume;            /* cells */
    const double *stiffness;         /* cells x pairs of corners: V grad N_a . D grad N_b, a < b */
    const unsigned char *stimulated; /* cells: bit s = by stimulus s */
    double current[MAX_STIMULI];     /* of the active stimuli, 1 / ms */
    double dt;                       /* ms */
    const double *phi;
    const double *phi_old;
    const double *r_old;
    double *r;
    double *matrix;   /* cells x upper triangle */
    double *residual; /* cells x corners: -R */
    double *diagonal; /* cells x corners */
} cell_arrays;

/*
 * Residual and matrix of cell i, corners = 3 or 4 a constant:
 *
 *     R_a  = V ((phi_q - phi_q,old) / dt - f - current) / corners + V grad N_a . D grad phi
 *     K_ab = V (1 / dt - df / dphi) / corners^2 + V grad N_a . D grad N_b
 *
 * with the derivative taken through r, dr / dphi = g_phi / (1 / dt - g_r).
 */
HEART_INLINE void cell_newton(const cell_arrays *c, int corners, long long i)
{
    double phi[4];
    double residual[4];
    double diagonal[4];
    double mean = 0;
    double old = 0;
    double current = 0;
    for (int a = 0; a < corners; ++a) {
        const int32_t node = c->nodes[i * corners + a];
        phi[a] = c->phi[node];
        mean += phi[a] / corners;
        old += c->phi_old[node] / corners;
    }
    for (int s = 0; s < MAX_STIMULI; ++s) {
        current += (c->stimulated[i] >> s & 1) != 0 ? c->current[s] : 0;
    }
    const double r = model_local(mean, c->r_old[i], c->dt);
    const rates v = model_rates(mean, r);
    const double slope = v.f_phi + v.f_r * v.g_phi / (1 / c->dt - v.g_r);
    const double load = c->volume[i] * ((mean - old) / c->dt - v.f - current) / corners;
    const double mass = c->volume[i] * (1 / c->dt - slope) / (corners * corners);
    const double *stiffness = c->stiffness + i * (corners * (corners - 1) / 2);
    double *matrix = c->matrix + i * (corners * (corners + 1) / 2);
    for (int a = 0; a < corners; ++a) {
        residual[a] = load;
        diagonal[a] = mass;
    }
    for (int a = 0, s = 0; a < corners; ++a) {
        for (int b = a + 1; b < corners; ++b, ++s) {
            residual[a] += stiffness[s] * (phi[b] - phi[a]);
            residual[b] += stiffness[s] * (phi[a] - phi[b]);
            diagonal[a] -= stiffness[s];
            diagonal[b] -= stiffness[s];
        }
    }
    for (int a = 0, s = 0, k = 0; a < corners; ++a) {
        matrix[k++] = diagonal[a];
        for (int b = a + 1; b < corners; ++b) {
            matrix[k++] = stiffness[s++] + mass;
        }
    }
    for (int a = 0; a < corners; ++a) {
        c->residual[i * corners + a] = -residual[a];
        c->diagonal[i * corners + a] = diagonal[a];
    }
    c->r[i] = r;
}

/* Time at which phi of a node first passed 1/2 upwards, -1 before; linear within the step. */
HEART_INLINE double node_activation(double before, double old, double phi, double time, double dt)
{
    return before < 0 && old < 0.5 && phi >= 0.5 ? time + dt * (0.5 - old) / (phi - old) : before;
}
