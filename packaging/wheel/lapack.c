/*
 * What LAPACK asks of its surroundings, for the copy inside a wheel: no printing, no exit, and
 * block sizes without tables. A wrong argument is left to `info`, which every routine sets before
 * it calls xerbla. The one function of gfortran's library that is called joins two options for
 * ilaenv, which does not read them.
 *
 * Source  LAPACK 3.12.1, SRC/xerbla.f and SRC/ilaenv.f, whose values these are.
 */
#include <stddef.h>
#include <string.h>

void xerbla_(const char *name, const int *info, size_t length);
int ilaenv_(const int *what, const char *name, const char *options, const int *n1, const int *n2,
            const int *n3, const int *n4, size_t name_length, size_t options_length);
void _gfortran_concat_string(size_t room, char *joined, size_t length, const char *first,
                             size_t rest, const char *second);

void xerbla_(const char *name, const int *info, size_t length)
{
    (void)name;
    (void)info;
    (void)length;
}

int ilaenv_(const int *what, const char *name, const char *options, const int *n1, const int *n2,
            const int *n3, const int *n4, size_t name_length, size_t options_length)
{
    enum {
        BLOCK = 1,
        LEAST_BLOCK = 2,
        CROSSOVER = 3,
        LEAVES = 9,
        IEEE_NAN = 10,
        IEEE_INFINITY = 11
    };
    (void)options, (void)n1, (void)n2, (void)n3, (void)n4, (void)options_length;
    switch (*what) {
    case BLOCK: /* of dgetri and dtrtri; dsytrd, dormqr and dormql take less */
        return name_length == 6 &&
                       (memcmp(name + 1, "GETRI", 5) == 0 || memcmp(name + 1, "TRTRI", 5) == 0 ||
                        memcmp(name + 1, "LAUUM", 5) == 0)
                   ? 64
                   : 32;
    case LEAST_BLOCK:
        return 2;
    case CROSSOVER:
        return 32;
    case LEAVES:
        return 25;
    case IEEE_NAN:
    case IEEE_INFINITY:
        return 1;
    default:
        return -1;
    }
}

void _gfortran_concat_string(size_t room, char *joined, size_t length, const char *first,
                             size_t rest, const char *second)
{
    const size_t head = length < room ? length : room;
    const size_t tail = rest < room - head ? rest : room - head;
    memcpy(joined, first, head);
    memcpy(joined + head, second, tail);
    memset(joined + head + tail, ' ', room - head - tail);
}
