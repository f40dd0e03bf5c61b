/*
 * CascadeMG by elements: the formats nbn, dbd, ebe and ebesym (CMG_FORMAT_NBN ...), which multiply
 * by a matrix without assembling it. libcmgelements, which stands on libcmg.
 */
#ifndef CMG_ELEMENTS_H
#define CMG_ELEMENTS_H

#include <cmg_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives the context of these options the formats of elements; without them they are refused. */
CMG_API void cmg_elements_use(cmg_context_options *options);

#ifdef __cplusplus
}
#endif
#endif
