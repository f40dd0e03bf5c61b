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

/*
 * The lanes that share a row. The teams of a warp go through all loops together until none of them
 * has more to do: on their own they would run one after the other.
 */
template <int WIDTH>
struct team {
    int lane;
    __device__ team() : lane((int)threadIdx.x % WIDTH)
    {
    }
    __device__ void wait() const
    {
        __syncwarp();
    }
    /* Does any lane of the warp say yes? */
    __device__ bool any(bool yes) const
    {
        return __any_sync(~0U, yes) != 0;
    }
    /* Lanes of the team that say yes, the first in bit 0. */
    __device__ unsigned votes(bool yes) const
    {
        return __ballot_sync(~0U, yes) >> (threadIdx.x % 32 / WIDTH * WIDTH) &
               (~0U >> (32 - WIDTH));
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

/* The entries of row r left of i, where they are wanted, one a lane: act(entry), with j = -1 for
 * the lanes beyond, as often as the warp has some. The next are on their way meanwhile. */
template <int WIDTH, typename ACT>
__device__ __forceinline__ void each_entry(const problem &P, const team<WIDTH> &t, cmg_size i,
                                           cmg_size r, bool wanted, ACT act)
{
    const cmg_size end = wanted ? P.A.indptr[r + 1] : 0;
    cmg_size k = wanted ? P.A.indptr[r] + t.lane : 0;
    entry e = look(P, i, r, k, end);
    while (t.any(e.j >= 0)) {
        k += WIDTH;
        const entry next = look(P, i, r, k, end);
        act(e);
        e = next;
    }
}

enum outcome { DONE, NO_ROOM, FAILED }; /* FAILED: A is not positive definite */

template <int WIDTH>
struct row {
    const problem &P;
    const team<WIDTH> t;
    const cmg_size i;
    const int room;
    const int slots;
    bool active; /* otherwise it waits for the others of the warp */
    outcome state;
    double *L;
    double *y;     /* L^-T z */
    double *slope; /* of a slot's column */
    int *key;      /* a slot's column, -1 = free */
    int *J;
    unsigned short *place; /* a slot's column is J[place], or NO_PLACE */
    int length;            /* of J */
    int met;               /* columns in the table */
    double d;              /* a_ii + A(i,J) y */

    __device__ row(const problem &p, cmg_size number, bool exists, const sizes &s, char *space)
        : P(p), i(number), room(s.room), slots(s.slots), active(exists), state(DONE), length(0),
          met(0), d(0)
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

    __device__ void leave(outcome with)
    {
        state = active ? with : state;
        active = false;
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

    /* Number in J of a column left of i, or NO_PLACE. */
    __device__ int place_of(cmg_index j) const
    {
        return j >= 0 ? place[slot_of(j)] : NO_PLACE;
    }

    /* The lanes' columns, -1: none, all of them different, get a slot; false where the table is
     * full. */
    __device__ bool enter(cmg_index j, int *slot)
    {
        int s = j >= 0 ? slot_of(j) : -1;
        const bool fresh = s >= 0 && key[s] == -1;
        const int more = __popc(t.votes(fresh));
        const bool full = met + more > slots - slots / 8;
        met += full ? 0 : more;
        while (!full && fresh && atomicCAS(&key[s], -1, (int)j) != -1) {
            s = (s + 1) & (slots - 1);
        }
        t.wait();
        *slot = full ? -1 : s;
        return !full;
    }

    /* J = the first pattern. */
    __device__ void begin()
    {
        bool good = true;
        each_entry(P, t, i, i, active, [&](const entry &e) {
            const bool taken = strong(P, i, e);
            const unsigned votes = t.votes(taken);
            const int at = length + t.below(votes);
            int s = -1;
            length += __popc(votes);
            good = good && length <= room;
            const bool entered = enter(good && (taken || P.choice.steps > 0) ? e.j : -1, &s);
            good = good && entered;
            if (good && taken) {
                J[at] = e.j;
                place[s] = (unsigned short)at;
            }
        });
        t.wait();
        if (!good) {
            leave(NO_ROOM);
        }
    }

    /* A(J,J) from row `from` of J on, its lower triangle, into L, and the columns that these rows
     * meet into the table. */
    __device__ void gather(int from)
    {
        bool good = true;
        for (int p = from; t.any(active && p < length); ++p) {
            const bool wanted = active && good && p < length;
            for (int q = t.lane; wanted && q <= p; q += WIDTH) {
                column(q)[p] = 0;
            }
            t.wait();
            each_entry(P, t, i, wanted ? J[p] : 0, wanted, [&](const entry &e) {
                int s = -1;
                if (P.choice.steps > 0) {
                    const bool entered = enter(e.j, &s);
                    good = good && entered;
                } else if (e.j >= 0) {
                    s = slot_of(e.j);
                }
                const int q = s >= 0 ? place[s] : NO_PLACE;
                if (q <= p) {
                    column(q)[p] = e.value;
                }
            });
        }
        if (!good) {
            leave(NO_ROOM);
        }
    }

    /* -A(J,i) from number `from` of J on into row `room` of L. */
    __device__ void right_side(int from) const
    {
        for (int p = from + t.lane; active && p < length; p += WIDTH) {
            column(p)[room] = 0;
        }
        t.wait();
        each_entry(P, t, i, i, active, [&](const entry &e) {
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

    /* Rows of L from `from` on and z. */
    __device__ void factorise(int from)
    {
        for (int k = 0; t.any(active && k < length); ++k) {
            const int first = k < from ? from : k;
            const int rows = active && k < length ? length - first + (k < from ? 0 : 1) : 0;
            double root = rows > 0 && k < from ? column(k)[k] : 0;
            for (int a = t.lane; t.any(a - t.lane < rows); a += WIDTH) {
                const int p = first + a < length ? first + a : room;
                const double sum = a < rows ? reduce(p, k) : 0;
                const double pivot = __shfl_sync(~0U, sum, 0, WIDTH);
                if (a - t.lane < rows && root == 0) {
                    root = sqrt(pivot);
                    if (!(pivot > 0)) {
                        leave(FAILED);
                    }
                }
                if (a < rows && active) {
                    column(k)[p] = p == k ? root : sum / root;
                }
            }
            t.wait();
        }
    }

    /* y = L^-T z */
    __device__ void substitute() const
    {
        for (int p = t.lane; active && p < length; p += WIDTH) {
            y[p] = column(p)[room];
        }
        t.wait();
        for (int p = length - 1; t.any(active && p >= 0); --p) {
            const bool wanted = active && p >= 0;
            const double here = wanted ? y[p] / column(p)[p] : 0;
            for (int k = t.lane; k < p && wanted; k += WIDTH) {
                y[k] -= column(k)[p] * here;
            }
            t.wait();
            if (wanted && t.lane == 0) {
                y[p] = here;
            }
        }
        t.wait();
    }

    /* a_ii + A(i,J) y in the order of row i. */
    __device__ double distance() const
    {
        double *const term = slope; /* no slope is in use */
        double sum = active ? P.diagonal[i] : 0;
        int terms = 0;
        each_entry(P, t, i, i, active, [&](const entry &e) {
            const int p = place_of(e.j);
            const unsigned votes = t.votes(p != NO_PLACE);
            if (p != NO_PLACE) {
                term[terms + t.below(votes)] = e.value * y[p];
            }
            terms += __popc(votes);
        });
        t.wait();
        for (int a = 0; a < terms; ++a) {
            sum += term[a];
        }
        t.wait();
        return sum;
    }

    /* `value` times row r into the slopes. */
    __device__ void add_slope(cmg_size r, bool wanted, double value) const
    {
        each_entry(P, t, i, r, wanted, [&](const entry &e) {
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
        for (int s = t.lane; active && s < slots; s += WIDTH) {
            const double here = key[s] >= 0 && place[s] == NO_PLACE ? fabs(slope[s]) : 0;
            if (here > size || (best >= 0 && here == size && key[s] < key[best])) {
                size = here;
                best = s;
            }
        }
#pragma unroll
        for (int d = WIDTH / 2; d > 0; d >>= 1) {
            const double there = __shfl_xor_sync(~0U, size, d, WIDTH);
            const int other = __shfl_xor_sync(~0U, best, d, WIDTH);
            if (there > size || (other >= 0 && there == size && key[other] < key[best])) {
                size = there;
                best = other;
            }
        }
        return size >= 1e-14 ? best : -1;
    }

    /* Appends the columns of the largest slopes to J. */
    __device__ void enlarge()
    {
        for (int s = t.lane; active && s < slots; s += WIDTH) {
            slope[s] = 0;
        }
        t.wait();
        add_slope(i, active, 1);
        for (int p = 0; t.any(active && p < length); ++p) {
            const bool wanted = active && p < length;
            add_slope(wanted ? J[p] : 0, wanted, wanted ? y[p] : 0);
        }
        bool grows = active;
        for (int a = 0; a < P.choice.add && t.any(grows); ++a) {
            const int s = steepest();
            grows = grows && s >= 0;
            if (grows && length == room) {
                leave(NO_ROOM);
                grows = false;
            }
            t.wait();
            if (grows && t.lane == 0) {
                J[length] = key[s];
                place[s] = (unsigned short)length;
            }
            length += grows ? 1 : 0;
            t.wait();
        }
    }

    /* y and d where J has grown from a length on. */
    __device__ void solve(int from)
    {
        gather(from);
        right_side(from);
        factorise(from);
        substitute();
        const double found = distance();
        d = active ? found : d;
        if (!(d > 0)) {
            leave(FAILED);
        }
    }

    __device__ void make()
    {
        begin();
        solve(0);
        for (int step = 0; step < P.choice.steps && t.any(active); ++step) {
            const double before = d;
            const int from = length;
            enlarge();
            active = active && length > from;
            solve(from);
            active = active && before - d > P.choice.epsilon * before;
        }
    }

    /* The row of G, times the scaling of A, with its columns in order. */
    __device__ void store(cmg_index *columns, double *values) const
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
