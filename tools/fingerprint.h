/*
 * Fingerprints of matrices: a hash of the structure, which is the same on every machine, and norms
 * of the values, which agree to rounding.
 */
#pragma once
#include "cmg.h"

enum { FINGERPRINT_LENGTH = 17 };

/* 64-bit hash of rows, columns, indptr and indices as 16 hexadecimal digits; returns text. */
const char *fingerprint_structure(const cmg_csr *A, char text[FINGERPRINT_LENGTH]);
/* Square root of the sum of squares, added up compensated. */
double fingerprint_norm(const double *values, cmg_size n);
