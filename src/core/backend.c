/* The list of backends of this build. */
#include "core/backend.h"

const cmgi_backend *cmgi_backend_table(cmg_backend backend)
{
    switch (backend) {
    case CMG_BACKEND_CPU:
        return &cmgi_backend_cpu;
    case CMG_BACKEND_CUDA:
#ifdef CMGI_HAVE_CUDA
        return &cmgi_backend_cuda;
#else
        return NULL;
#endif
    default:
        return NULL;
    }
}
