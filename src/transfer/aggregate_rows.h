/* Isolated rows, and keys of the nodes of an independent set. */
#pragma once
#include "core/inline.h"
#include "core/random.h"

/* Rows whose sum of off-diagonal entries is at most this share of the diagonal are isolated. */
#define CMGI_ISOLATED 0.1

/* State above, then the hash, then the number: all different, so that the largest is one node. */
enum { CMGI_NODE_OUT = 0, CMGI_NODE_OPEN = 1, CMGI_NODE_IN = 2 };

CMGI_INLINE int cmgi_key_state(uint64_t key)
{
    return (int)(key >> 62);
}

CMGI_INLINE uint64_t cmgi_key_with(uint64_t key, int state)
{
    return (key & (UINT64_MAX >> 2)) | (uint64_t)state << 62;
}
