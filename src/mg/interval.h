/* The interval that the eigenvalues of C A are in, C the cycle, for Chebyshev semi-iteration. */
#pragma once
#include "mg/setup.h"

typedef struct cmgi_interval {
    double low; /* 0 = none: A or C has turned out not to be positive definite */
    double high;
} cmgi_interval;

/*
 * By Lanczos on a random vector: with the cycle of level 2 or 1, which cost a part, where that is a
 * level of many rows like any other, else with `cycle`. All have nearly the same eigenvalues; what
 * the estimate misses costs iterations, or is seen by the residual.
 */
cmg_status cmgi_interval_find(const cmgi_setup *s, cmgi_cycle *cycle, cmgi_interval *interval);
