/* Decimal <-> double, see number.h. */
#include "core/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t TEN_18 = UINT64_C(1000000000000000000);

/* A decimal taken apart: (-1)^negative m 10^e. */
typedef struct decimal {
    uint64_t m;
    int e;
    bool negative;
    bool cut; /* nonzero digits after the 19th were left out of m */
} decimal;

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

/* (x + something in (0,1) if sticky) 2^e, to nearest, ties to even. */
static double round_wide(wide x, bool sticky, int e)
{
    const uint64_t high = (uint64_t)(x >> 64);
    const uint64_t low = (uint64_t)x;
    const int bits = high != 0  ? 128 - __builtin_clzll(high)
                     : low != 0 ? 64 - __builtin_clzll(low)
                                : 0;
    if (bits <= 53) {
        return ldexp((double)low, e);
    }
    const int shift = bits - 53;
    uint64_t m = (uint64_t)(x >> shift);
    const wide rest = x & (((wide)1 << shift) - 1);
    const wide half = (wide)1 << (shift - 1);
    m += rest > half || (rest == half && (sticky || (m & 1) != 0));
    return ldexp((double)m, e + shift);
}

static bool convert_exactly(const decimal *d, double *value)
{
    // clang-format off
    static const uint64_t five[28] = {
        1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625,
        1220703125, 6103515625, 30517578125, 152587890625, 762939453125, 3814697265625,
        19073486328125, 95367431640625, 476837158203125, 2384185791015625, 11920928955078125,
        59604644775390625, 298023223876953125, 1490116119384765625, 7450580596923828125};
    // clang-format on
    if (d->cut || d->e < -27 || d->e > 27) {
        return false;
    }
    if (d->e >= 0) {
        *value = round_wide((wide)d->m * five[d->e], false, d->e);
        return true;
    }
    /* the quotient has at least 63 bits, so only its remainder's being zero matters below them */
    const int shift = __builtin_clzll(d->m);
    const wide numerator = (wide)(d->m << shift) << 64;
    const uint64_t divisor = five[-d->e];
    *value = round_wide(numerator / divisor, numerator % divisor != 0, d->e - shift - 64);
    return true;
}
#else
static bool convert_exactly(const decimal *d, double *value)
{
    (void)d;
    (void)value;
    return false;
}
#endif

/* strtod on a copy with the locale's decimal point and e for the exponent. */
static bool convert_by_library(const char *start, const char *end, double *value)
{
    char text[1100];
    const struct lconv *locale = localeconv();
    const size_t point = strlen(locale->decimal_point);
    size_t n = 0;
    for (const char *p = start; p < end; ++p) {
        if (n + point + 1 >= sizeof text) {
            return false;
        }
        if (*p == '.') {
            memcpy(text + n, locale->decimal_point, point);
            n += point;
        } else {
            text[n++] = (*p | 32) == 'd' ? 'e' : *p;
        }
    }
    text[n] = '\0';
    char *stop = NULL;
    *value = strtod(text, &stop);
    return *stop == '\0';
}

static const char *parse_word(const char *p, bool negative, double *value)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"infinity", HUGE_VAL}, {"inf", HUGE_VAL}, {"nan", (double)NAN}};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; ++w) {
        const char *text = words[w].text;
        size_t k = 0;
        while (text[k] != '\0' && (p[k] | 32) == text[k]) {
            ++k;
        }
        if (text[k] == '\0') {
            *value = negative ? -words[w].value : words[w].value;
            return p + k;
        }
    }
    return NULL;
}

/* Digits at p into m; `fraction` moves the exponent. */
static const char *parse_digits(const char *p, bool fraction, decimal *d)
{
    for (; cmgi_is_digit(*p); ++p) {
        const unsigned digit = (unsigned)(*p - '0');
        if (d->m < TEN_18) {
            d->m = d->m * 10 + digit;
            d->e -= fraction;
        } else {
            d->cut = d->cut || digit != 0;
            d->e += !fraction;
        }
    }
    return p;
}

static const char *parse_exponent(const char *p, decimal *d)
{
    if ((*p | 32) != 'e' && (*p | 32) != 'd') {
        return p;
    }
    ++p;
    const bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    if (!cmgi_is_digit(*p)) {
        return NULL;
    }
    int e = 0;
    for (; cmgi_is_digit(*p); ++p) {
        e = e < 100000 ? e * 10 + (*p - '0') : e;
    }
    d->e += negative ? -e : e;
    return p;
}

const char *cmgi_parse_double(const char *p, double *value)
{
    const char *const start = p;
    decimal d = {.negative = *p == '-'};
    p += *p == '-' || *p == '+';
    const char *const digits = p;
    p = parse_digits(p, false, &d);
    bool any = p > digits;
    if (*p == '.') {
        const char *const fraction = p + 1;
        p = parse_digits(fraction, true, &d);
        any = any || p > fraction;
    }
    if (!any) {
        return parse_word(digits, d.negative, value);
    }
    p = parse_exponent(p, &d);
    if (p == NULL) {
        return NULL;
    }
    if (d.m == 0) {
        *value = d.negative ? -0.0 : 0.0;
    } else if (convert_exactly(&d, value)) {
        *value = d.negative ? -*value : *value;
    } else if (!convert_by_library(start, p, value)) {
        return NULL;
    }
    return p;
}

const char *cmgi_parse_size(const char *p, cmg_size *value)
{
    const bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    if (!cmgi_is_digit(*p)) {
        return NULL;
    }
    cmg_size v = 0;
    for (; cmgi_is_digit(*p); ++p) {
        const int digit = *p - '0';
        if (v > (INT64_MAX - digit) / 10) {
            return NULL;
        }
        v = v * 10 + digit;
    }
    *value = negative ? -v : v;
    return p;
}

int cmgi_print_double(char text[CMGI_NUMBER_LENGTH], int digits, double value)
{
    const int length = snprintf(text, CMGI_NUMBER_LENGTH, "%.*g", digits, value);
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
    if (at == NULL) {
        return length;
    }
    const size_t extra = strlen(point) - 1;
    *at = '.'; /* the locale has something else */
    memmove(at + 1, at + 1 + extra, strlen(at + 1 + extra) + 1);
    return length - (int)extra;
}

int cmgi_format_double(char text[CMGI_NUMBER_LENGTH], double value)
{
    int length = 0;
    for (int digits = 15; digits <= 17; ++digits) {
        length = cmgi_print_double(text, digits, value);
        double back = 0;
        if (digits == 17 || (cmgi_parse_double(text, &back) != NULL && back == value)) {
            break;
        }
    }
    return length;
}
