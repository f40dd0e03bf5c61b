/*
 * One heap of large pages. glibc gives every block of 128 KiB and more a mapping of its own and
 * returns it when it is freed; here only blocks that the library aligns to large pages itself are
 * (src/core/memory.c). The heap begins with 64 MiB of address space in pages of 2 MiB, where the
 * kernel has them; a page is taken when it is touched.
 */
#define _DEFAULT_SOURCE
#include "heap.h"

#include <stdint.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif

void heap_begin(void)
{
#if defined __GLIBC__ && defined MADV_HUGEPAGE
    const size_t page = (size_t)1 << 21;
    const size_t room = 32 * page;
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 22);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_TOP_PAD, (int)room);
    /* a block under the threshold: it makes the heap, which stays when it is freed */
    char *block = malloc(page);
    if (block != NULL) {
        const uintptr_t first = ((uintptr_t)block + page - 1) & ~(uintptr_t)(page - 1);
        (void)madvise((void *)first, room - page, MADV_HUGEPAGE);
        free(block);
    }
#endif
}
