/* What the parts of the emulated device say to each other. */
#pragma once
#include "emulated_cuda.h"

namespace emulated
{
/* Runs all blocks of a launch, now. */
void run_blocks(const shape &s, const std::function<void()> &kernel, const char *name);

/* Keeps an error for cudaGetLastError and returns it. */
cudaError_t said(cudaError_t error);
/* Does it, or records it where the stream records. */
void act(cudaStream_t s, std::function<void()> what);
/* An error where the stream records: it cannot be waited for then. */
cudaError_t idle(cudaStream_t s);

/* Where the stream records, memory belongs to the graph: an array taken now; whether it was. */
bool keep(cudaStream_t s, void *p);
bool keeps(cudaStream_t s, const void *p);

/* The device's memory is open to the host while one of these lives. */
struct opening {
    opening();
    ~opening();
    opening(const opening &) = delete;
    opening &operator=(const opening &) = delete;
};
void *take(size_t bytes); /* NULL: the device has not so much left */
bool give(void *p);       /* false: not one of its arrays */
bool holds(const void *p);
void told(size_t *free_bytes, size_t *total);
} // namespace emulated
