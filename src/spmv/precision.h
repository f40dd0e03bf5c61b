/*
 * Names of what exists in both precisions, for the files ending in .inc, which are included twice:
 * with T double and SUFFIX f64, and with T float and SUFFIX f32. Vector operations are those of
 * simd.h; V is the vector type, LANES its length.
 */
#pragma once

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define FN(name) CAT(name, SUFFIX)
#define WB CAT(cmgi_wb_, SUFFIX)
#define WB_CAST CAT(cmgi_wb_cast_, SUFFIX)
#define WB_VALUE CAT(cmgi_wb_value_, SUFFIX)
#define SET CAT(cmgi_set_, SUFFIX)
#define ZERO() SET(0)
#define PLUS CAT(cmgi_plus_, SUFFIX)
#define TIMES_ADD CAT(cmgi_add_, SUFFIX)
#define LOAD CAT(cmgi_load_, SUFFIX)
#define STORE CAT(cmgi_store_, SUFFIX)
#define AXPY CAT(cmgi_axpy_, SUFFIX)
#define AXPY_EVEN CAT(cmgi_axpy_even_, SUFFIX)
#define PART CAT(cmgi_part_of_, SUFFIX)
#define PART_OF CAT(cmgi_part_, SUFFIX)
#define LOAD_PART CAT(cmgi_load_part_, SUFFIX)
#define STORE_PART CAT(cmgi_store_part_, SUFFIX)
#define AXPY_PART CAT(cmgi_axpy_part_, SUFFIX)
#define FMA CAT(cmgi_fma_, SUFFIX)
#define MADD CAT(cmgi_madd_, SUFFIX)
#define PICK CAT(cmgi_pick_, SUFFIX)
