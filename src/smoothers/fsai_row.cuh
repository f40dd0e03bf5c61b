/*
 * One row of FSAI on the device: what fsai.c does on the host, by WIDTH lanes in the memory of
 * their block, every sum in the same order, so that the row has the same bits - patterns that grow
 * along a tie would part otherwise. No product is fused with a sum (CMakeLists.txt).
 *
 * An open hash table has the columns left of i that the rows i and J meet: those that are in J with
 * their number, all of them with their slope. L of A(J,J) = L L^T is packed by columns, so that
 * lanes that have a row each read neighbours; its first rows stay as they are when J grows. Its row
 * number `room` is z = -L^-1 A(J,i), which comes about as the others do:
 *
 *     column k: entries p = k .. room at L[k (room + 1) - k (k + 1) / 2 + p]
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, section 4.2.5, by columns.
 */
#pragma once
#include "smoothers/spai.cuh"

extern "C" {
#include "smoothers/fsai_cuda.h"
}

/* The matrix, and what is wanted of it. */
typedef struct problem {
    cmgi_device_csr A;      /* rows sorted */
    const double *diagonal; /* of A */
    cmgi_fsai_choice choice;
} problem;

/* What a row's work space holds. */
typedef struct sizes {
    int room;  /* columns in J */
    int slots; /* of the table, a power of two */
} sizes;

enum { NO_PLACE = 0xffff };

/* Bytes of a row's work space: 64 modulo 128, so that the two rows of half a warp lie in different
 * banks. */
__host__ __device__ inline size_t bytes_of(const sizes &s)
{
    const size_t doubles = (size_t)s.room * (s.room + 3) / 2 + s.room + s.slots;
    const size_t bytes = 8 * doubles + 6 * (size_t)s.slots + 4 * (size_t)s.room;
    return (bytes + 63) / 128 * 128 + 64;
}

/* The lanes that share a row. */
template <int WIDTH>
struct team {
    unsigned mask;
    int lane;
    __device__ team()
        : mask((~0U >> (32 - WIDTH)) << (threadIdx.x % 32 / WIDTH * WIDTH)),
          lane((int)threadIdx.x % WIDTH)
    {
    }
    __device__ void wait() const
    {
        __syncwarp(mask);
    }
    /* Lanes that say yes, the first of the team in bit 0. */
    __device__ unsigned votes(bool yes) const
    {
        return (__ballot_sync(mask, yes) & mask) >> (threadIdx.x % 32 / WIDTH * WIDTH);
    }
    /* How many of them are below this one. */
    __device__ int below(unsigned votes) const
    {
        return __popc(votes & ((1U << lane) - 1));
    }
};

struct entry {
    cmg_index j;
    double value;
};

/* Entry k of row r, which ends at `end`; column -1: none, or none left of i. */
__device__ __forceinline__ entry look(const problem &P, cmg_size i, cmg_size r, cmg_size k,
                                      cmg_size end)
{
    const cmg_index j = k < end ? P.A.indices[k] : -1;
    const bool wanted = j >= 0 && j < i;
    return {wanted ? j : -1, wanted ? cmgi_value_at(P.A, r, j, k) : 0};
}

/* An entry of row i that belongs to the first pattern. */
__device__ __forceinline__ bool strong(const problem &P, cmg_size i, const entry &e)
{
    const double tau = P.choice.tau;
    return e.j >= 0 && P.choice.power > 0 &&
           (tau == 0 || fabs(e.value) > tau * sqrt(fabs(P.diagonal[i] * P.diagonal[e.j])));
}

enum outcome { DONE, NO_ROOM, FAILED }; /* FAILED: A is not positive definite */

template <int WIDTH>
struct row {
    const problem &P;
    const team<WIDTH> t;
    const cmg_size i;
    const int room;
    const int slots;
    double *L;
    double *y;     /* L^-T z */
    double *slope; /* of a slot's column */
    int *key;      /* a slot's column, -1 = free */
    int *J;
    unsigned short *place; /* a slot's column is J[place], or NO_PLACE */
    int length;            /* of J */
    int met;               /* columns in the table */

    __device__ row(const problem &p, cmg_size number, const sizes &s, char *space)
        : P(p), i(number), room(s.room), slots(s.slots), length(0), met(0)
    {
        L = (double *)space;
        y = L + room * (room + 3) / 2;
        slope = y + room;
        key = (int *)(slope + slots);
        J = key + slots;
        place = (unsigned short *)(J + room);
        for (int s_ = t.lane; s_ < slots; s_ += WIDTH) {
            key[s_] = -1;
            place[s_] = NO_PLACE;
        }
        t.wait();
    }

    /* column(k)[p] = entry (p,k) of L */
    __device__ double *column(int k) const
    {
        return L + k * (room + 1) - k * (k + 1) / 2;
    }

    /* The slot of a column, or the free one where it belongs. */
    __device__ int slot_of(cmg_index j) const
    {
        int s = (int)(((unsigned)j * 2654435769U) >> 7) & (slots - 1);
        while (key[s] != j && key[s] != -1) {
            s = (s + 1) & (slots - 1);
        }
        return s;
    }

    /* The lanes' columns, -1: none, all of them different, get a slot; false where the table is
     * full. */
    __device__ bool enter(cmg_index j, int *slot)
    {
        int s = j >= 0 ? slot_of(j) : -1;
        const bool fresh = s >= 0 && key[s] == -1;
        const int more = __popc(t.votes(fresh));
        if (met + more > slots - slots / 8) {
            return false;
        }
        met += more;
        while (fresh && atomicCAS(&key[s], -1, (int)j) != -1) {
            s = (s + 1) & (slots - 1);
        }
        t.wait();
        *slot = s;
        return true;
    }

    /* The entries of row r left of i, one a lane: act(entry), j = -1 for the lanes beyond, as often
     * as there are some. The next are on their way meanwhile. */
    template <typename ACT>
    __device__ __forceinline__ void each(cmg_size r, ACT act) const
    {
        const cmg_size end = P.A.indptr[r + 1];
        cmg_size k = P.A.indptr[r] + t.lane;
        entry e = look(P, i, r, k, end);
        while (t.votes(e.j >= 0) != 0) {
            k += WIDTH;
            const entry next = look(P, i, r, k, end);
            act(e);
            e = next;
        }
    }

    /* Number in J of a column left of i, or NO_PLACE. */
    __device__ int place_of(cmg_index j) const
    {
        return j >= 0 ? place[slot_of(j)] : NO_PLACE;
    }

    /* J = the first pattern; false: no room. */
    __device__ bool begin()
    {
        bool good = true;
        each(i, [&](const entry &e) {
            const bool taken = strong(P, i, e);
            const unsigned votes = t.votes(taken);
            const int at = length + t.below(votes);
            int s = -1;
            length += __popc(votes);
            good = good && length <= room && enter(taken || P.choice.steps > 0 ? e.j : -1, &s);
            if (good && taken) {
                J[at] = e.j;
                place[s] = (unsigned short)at;
            }
        });
        t.wait();
        return good;
    }

    /* A(J,J) from row `from` of J on, its lower triangle, into L, and the columns that these rows
     * meet into the table; false: no room. */
    __device__ bool gather(int from)
    {
        bool good = true;
        for (int p = from; p < length && good; ++p) {
            for (int q = t.lane; q <= p; q += WIDTH) {
                column(q)[p] = 0;
            }
            t.wait();
            each(J[p], [&](const entry &e) {
                int s = -1;
                if (P.choice.steps > 0) {
                    good = good && enter(e.j, &s);
                } else if (e.j >= 0) {
                    s = slot_of(e.j);
                }
                const int q = s >= 0 ? place[s] : NO_PLACE;
                if (q <= p) {
                    column(q)[p] = e.value;
                }
            });
        }
        return good;
    }

    /* -A(J,i) from number `from` of J on into row `room` of L. */
    __device__ void right_side(int from) const
    {
        for (int p = from + t.lane; p < length; p += WIDTH) {
            column(p)[room] = 0;
        }
        t.wait();
        each(i, [&](const entry &e) {
            const int p = place_of(e.j);
            if (p >= from && p != NO_PLACE) {
                column(p)[room] = 0 - e.value;
            }
        });
        t.wait();
    }

    /* Entry (p,k) less the products of rows p and k of L in the columns before. */
    __device__ double reduce(int p, int k) const
    {
        double sum = column(k)[p];
        const double *c = L;
        for (int m = 0; m < k; ++m) {
            sum -= c[p] * c[k];
            c += room - m;
        }
        return sum;
    }

    /* Rows of L from `from` on and z; false where A(J,J) is not positive. */
    __device__ bool factorise(int from) const
    {
        for (int k = 0; k < length; ++k) {
            const int first = k < from ? from : k;
            const int rows = length - first + (k < from ? 0 : 1);
            double root = k < from ? column(k)[k] : 0;
            for (int a = t.lane; a - t.lane < rows; a += WIDTH) {
                const int p = first + a < length ? first + a : room;
                const double sum = a < rows ? reduce(p, k) : 0;
                if (root == 0) {
                    const double pivot = __shfl_sync(t.mask, sum, 0, WIDTH);
                    if (!(pivot > 0)) {
                        return false;
                    }
                    root = sqrt(pivot);
                }
                if (a < rows) {
                    column(k)[p] = p == k ? root : sum / root;
                }
            }
            t.wait();
        }
        return true;
    }

    /* y = L^-T z */
    __device__ void substitute() const
    {
        for (int p = t.lane; p < length; p += WIDTH) {
            y[p] = column(p)[room];
        }
        t.wait();
        for (int p = length - 1; p >= 0; --p) {
            const double here = y[p] / column(p)[p];
            for (int k = t.lane; k < p; k += WIDTH) {
                y[k] -= column(k)[p] * here;
            }
            t.wait();
            if (t.lane == 0) {
                y[p] = here;
            }
        }
        t.wait();
    }

    /* d = a_ii + A(i,J) y in the order of row i. */
    __device__ double distance() const
    {
        double *const term = slope; /* no slope is in use */
        double d = P.diagonal[i];
        int terms = 0;
        each(i, [&](const entry &e) {
            const int p = place_of(e.j);
            const unsigned votes = t.votes(p != NO_PLACE);
            if (p != NO_PLACE) {
                term[terms + t.below(votes)] = e.value * y[p];
            }
            terms += __popc(votes);
        });
        t.wait();
        for (int a = 0; a < terms; ++a) {
            d += term[a];
        }
        t.wait();
        return d;
    }

    /* `value` times row r into the slopes. */
    __device__ void add_slope(cmg_size r, double value) const
    {
        each(r, [&](const entry &e) {
            if (e.j >= 0) {
                slope[slot_of(e.j)] += value * e.value;
            }
        });
        t.wait();
    }

    /* The slot of the largest slope outside J, of two such that of the lower column; -1: none. */
    __device__ int steepest() const
    {
        double size = 0;
        int best = -1;
        for (int s = t.lane; s < slots; s += WIDTH) {
            const double here = key[s] >= 0 && place[s] == NO_PLACE ? fabs(slope[s]) : 0;
            if (here > size || (best >= 0 && here == size && key[s] < key[best])) {
                size = here;
                best = s;
            }
        }
#pragma unroll
        for (int d = WIDTH / 2; d > 0; d >>= 1) {
            const double there = __shfl_xor_sync(t.mask, size, d, WIDTH);
            const int other = __shfl_xor_sync(t.mask, best, d, WIDTH);
            if (there > size || (other >= 0 && there == size && key[other] < key[best])) {
                size = there;
                best = other;
            }
        }
        return size >= 1e-14 ? best : -1;
    }

    /* Appends the columns of the largest slopes to J; false: no room. */
    __device__ bool enlarge()
    {
        for (int s = t.lane; s < slots; s += WIDTH) {
            slope[s] = 0;
        }
        t.wait();
        add_slope(i, 1);
        for (int p = 0; p < length; ++p) {
            add_slope(J[p], y[p]);
        }
        for (int a = 0; a < P.choice.add; ++a) {
            const int s = steepest();
            if (s < 0) {
                break;
            }
            if (length == room) {
                return false;
            }
            t.wait();
            if (t.lane == 0) {
                J[length] = key[s];
                place[s] = (unsigned short)length;
            }
            ++length;
            t.wait();
        }
        return true;
    }

    /* y and d where J has grown from a length on. */
    __device__ outcome solve(int from, double *d)
    {
        if (!gather(from)) {
            return NO_ROOM;
        }
        right_side(from);
        if (!factorise(from)) {
            return FAILED;
        }
        substitute();
        *d = distance();
        return *d > 0 ? DONE : FAILED;
    }

    __device__ outcome make(double *d)
    {
        if (!begin()) {
            return NO_ROOM;
        }
        outcome made = solve(0, d);
        for (int step = 0; step < P.choice.steps && made == DONE; ++step) {
            const double before = *d;
            const int from = length;
            if (!enlarge()) {
                return NO_ROOM;
            }
            if (length == from) {
                break;
            }
            made = solve(from, d);
            if (before - *d <= P.choice.epsilon * before) {
                break;
            }
        }
        return made;
    }

    /* The row of G, times the scaling of A, with its columns in order. */
    __device__ void store(double d, cmg_index *columns, double *values) const
    {
        for (int p = t.lane; p < length; p += WIDTH) {
            int at = 0;
            for (int q = 0; q < length; ++q) {
                at += J[q] < J[p] ? 1 : 0;
            }
            columns[at] = J[p];
            values[at] = y[p] / sqrt(d) * P.A.s[J[p]];
        }
        if (t.lane == 0) {
            columns[length] = (cmg_index)i;
            values[length] = 1 / sqrt(d) * P.A.s[i];
        }
    }
};
