/*
 * CascadeMG on the processes of an MPI program: the transport of cmg_ranks.h over a communicator.
 * libcmgmpi, which stands on libcmg; libcmg knows nothing of MPI.
 */
#ifndef CMG_MPI_H
#define CMG_MPI_H

#include <cmg.h>
#include <cmg_ranks.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A transport over the processes of a communicator, which is duplicated. Collective; MPI is
 * initialised. Only the thread that calls the library calls MPI in it.
 *
 * After a failure (cmg_ranks.h) messages may be under way that nobody waits for: a program then
 * ends by MPI_Abort.
 *
 * @param[in] seconds  as in cmg_transport, 0 = 300
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_MEMORY, CMG_ERR_STATE (MPI is not initialised, or refuses)
 */
CMG_API cmg_status cmg_mpi_transport_create(MPI_Comm comm, double seconds,
                                            cmg_transport **transport);
/** Collective, after the contexts that use it are destroyed; after a failure it is local. */
CMG_API void cmg_mpi_transport_destroy(cmg_transport **transport);

#ifdef __cplusplus
}
#endif
#endif
