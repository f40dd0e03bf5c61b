/*
 * Numbers in text, independent of the program's locale: decimal <-> double correctly rounded.
 *
 * A decimal m 10^e with m < 2^64 and |e| <= 27 is m 5^e 2^e with 5^|e| < 2^64, so one exact 128-bit
 * product or quotient decides the rounding; everything else goes to strtod. (The idea of a fast
 * exact path is Clinger's: How to Read Floating Point Numbers Accurately, PLDI 1990.)
 */
#pragma once
#include "cmg_types.h"

/*
 * Reads a number at p (no leading blanks): sign, digits with at most one point, exponent after e,
 * E, d or D; or inf, infinity, nan. Returns the position after it, NULL if there is none. Too large
 * gives an infinity.
 */
const char *cmgi_parse_double(const char *p, double *value);
/* The same for a signed integer; NULL also when it does not fit 64 bits. */
const char *cmgi_parse_size(const char *p, cmg_size *value);

enum { CMGI_NUMBER_LENGTH = 40 };
/* Shortest of 15, 16 or 17 digits that reads back as the same bits; returns the length. */
int cmgi_format_double(char text[CMGI_NUMBER_LENGTH], double value);

/* In that many digits, as "%.*g" of the C locale; returns the length. */
int cmgi_print_double(char text[CMGI_NUMBER_LENGTH], int digits, double value);

static inline bool cmgi_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
/* Blank inside a line; a carriage return counts, so that CRLF needs no special case. */
static inline bool cmgi_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}
static inline const char *cmgi_skip_blanks(const char *p)
{
    while (cmgi_is_blank(*p)) {
        ++p;
    }
    return p;
}
