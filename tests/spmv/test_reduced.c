/*
 * Values in 16 and 8 bits keep row sums, whatever their unit; rounding is to the nearest.
 */
#include "spmv/reduced.h"
#include "samples.h"

/* Every half survives the way to float and back; a float becomes one of its two neighbours, the
 * nearer. */
TEST(half_rounds_to_nearest_even)
{
    int wrong = 0;
    for (uint32_t h = 0; h < 65536; ++h) {
        const float f = cmgi_half_to_float((uint16_t)h);
        const bool nan = (h & 0x7c00U) == 0x7c00U && (h & 0x3ffU) != 0;
        wrong += nan ? !isnan(f) : cmgi_float_to_half(f) != h;
    }
    CHECK(wrong == 0);
    uint64_t seed = 1;
    for (int k = 0; k < 100000; ++k) {
        const float f =
            (float)ldexp(2 * cmgi_random(&seed) - 1, (int)(cmgi_random(&seed) * 40) - 26);
        const uint16_t h = cmgi_float_to_half(f);
        const float here = cmgi_half_to_float(h);
        const float below = cmgi_half_to_float((uint16_t)(h - ((h & 0x7fffU) != 0)));
        const float above = cmgi_half_to_float((uint16_t)(h + 1));
        const float error = fabsf(here - f);
        wrong += error > fabsf(below - f) || error > fabsf(above - f);
        wrong += (h & 1U) != 0 && (error == fabsf(below - f) || error == fabsf(above - f)) &&
                 error != 0 && here != below;
    }
    CHECK(wrong == 0);
    CHECK(isinf(cmgi_half_to_float(cmgi_float_to_half(65520.0F))));
    CHECK(cmgi_half_to_float(cmgi_float_to_half(65519.0F)) == 65504.0F);
}

/* The same of the 256 numbers in 8 bits; what is too large becomes the largest. */
TEST(eight_bits_round_to_nearest_even)
{
    int wrong = 0;
    for (uint32_t b = 0; b < 256; ++b) {
        wrong += cmgi_float_to_fp8(cmgi_fp8_to_float((uint8_t)b)) != b;
    }
    for (uint32_t b = 0; b < 127; ++b) {
        const float low = cmgi_fp8_to_float((uint8_t)b);
        const float high = cmgi_fp8_to_float((uint8_t)(b + 1));
        const float middle = 0.5F * (low + high);
        const uint8_t even = (uint8_t)(b + (b & 1U));
        wrong += !(low < high);
        wrong += cmgi_float_to_fp8(middle) != even || cmgi_float_to_fp8(-middle) != (even | 0x80U);
        wrong += cmgi_float_to_fp8(nextafterf(middle, 0)) != b;
        wrong += cmgi_float_to_fp8(nextafterf(middle, 2)) != b + 1;
    }
    CHECK(wrong == 0);
    CHECK(cmgi_fp8_to_float(0x7f) == 1.875F && cmgi_fp8_to_float(1) == 0x1p-17F);
    CHECK(cmgi_float_to_fp8(1e30F) == 0x7f && cmgi_float_to_fp8(-INFINITY) == 0xff);
}

/* With the diagonal recomputed, A 1 is exact to fp32 whatever the entries were rounded to. */
TEST(fewer_bits_keep_row_sums)
{
    scoped_csr A = grid(120, 0.9);
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        scoped_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        CHECK(product_error(&A, M, true) <= 1e-6);
        CHECK(product_error(&A, M, false) > 1e-6); /* and they were rounded */
        CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
    }
}

/* Far outside the range of the stored values: the scale of a slice takes the unit of the matrix. A
 * power of two changes nothing else at all. */
TEST(the_unit_of_a_matrix_does_not_matter)
{
    static const double units[] = {0x1p-100, 1e-30, 1e30, 0x1p100};
    scoped_csr A = grid(60, 0.9);
    const cmg_size nnz = A.indptr[A.rows];
    scoped double *given = malloc((size_t)nnz * sizeof *given);
    memcpy(given, A.values, (size_t)nnz * sizeof *given);
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        memcpy(A.values, given, (size_t)nnz * sizeof *given);
        cmg_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        const double plain = product_error(&A, M, false);
        cmg_matrix_destroy(&M);
        for (int u = 0; u < 4; ++u) {
            FILL(A.values, k, nnz, units[u] * given[k]);
            M = compress(&A, CMG_FP32, (cmg_values)v);
            CHECK(product_error(&A, M, true) <= 1e-6);
            const double error = product_error(&A, M, false);
            CHECK(u == 1 || u == 2 ? error <= rounding((cmg_values)v) : error == plain);
            cmg_matrix_destroy(&M);
        }
    }
}

/* Entries over eight decades in every slice: those that round to zero are small beside their row's
 * neighbours, and row sums hold all the same. */
TEST(entries_over_eight_decades)
{
    scoped_csr A = grid(90, 0.5);
    EACH_ENTRY (&A, i, k) {
        const cmg_size pair = i + A.indices[k];
        A.values[k] *= pow(10, -8 * (double)(pair % 7) / 6);
    }
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        scoped_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        CHECK(product_error(&A, M, true) <= 1e-6);
        CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
    }
}

/* Dense matrices keep a scale a row. */
TEST(dense_values_in_fewer_bits)
{
    static const cmg_size sizes[] = {1, 15, 16, 17, 31, 33, 257, 300};
    for (int s = 0; s < 16; ++s) {
        const cmg_size n = sizes[s / 2];
        const suite_row half_full = {"dense", n, n + 3, 0, (int)n + 3};
        scoped_csr A = suite_make(&half_full);
        for (cmg_size k = 0; k < A.indptr[n]; ++k) {
            A.values[k] *= s % 2 ? 1e-20 : 1e20;
        }
        cmg_matrix_options options = matrix_options("format=dense precision=mixed");
        for (int v = CMG_VALUES_FULL; v <= CMG_VALUES_FP8; ++v) {
            options.values = (cmg_values)v;
            scoped_matrix *M = matrix_new(&A.view, &options);
            CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
        }
    }
}
