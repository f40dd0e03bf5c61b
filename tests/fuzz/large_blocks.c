/*
 * Large blocks are kept and given again: the sanitizer maps and unmaps each, which takes a third of
 * the time of a small solve. Between two uses a block is poisoned, so that its use is still found.
 */
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 17, KEPT = 8 };

typedef struct block {
    void *data;
    size_t bytes;
    int used;
} block;

static block blocks[KEPT];

void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *p);
void __wrap_free(void *p);

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    block *place = NULL;
    for (int k = 0; k < KEPT && bytes >= LARGE; ++k) {
        if (!blocks[k].used && blocks[k].bytes == bytes) {
            blocks[k].used = 1;
            __asan_unpoison_memory_region(blocks[k].data, bytes);
            memset(blocks[k].data, 0xbe, bytes < 4096 ? bytes : 4096); /* as the sanitizer does */
            return blocks[k].data;
        }
        place = blocks[k].data == NULL ? &blocks[k] : place;
    }
    void *data = __real_aligned_alloc(align, bytes);
    if (place != NULL && data != NULL) {
        *place = (block){data, bytes, 1};
    }
    return data;
}

void __wrap_free(void *p)
{
    for (int k = 0; k < KEPT && p != NULL; ++k) {
        if (blocks[k].data == p) {
            blocks[k].used = 0;
            __asan_poison_memory_region(p, blocks[k].bytes);
            return;
        }
    }
    __real_free(p);
}
