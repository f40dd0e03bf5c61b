/* What the Python package needs of libcmgmpi, with a communicator as mpi4py's py2f() gives it. */
#ifndef CMG_PYTHON_TRANSPORT_H
#define CMG_PYTHON_TRANSPORT_H

#include <cmg_ranks.h>

CMG_API cmg_status cmg_python_transport(int comm, double seconds, cmg_transport **transport);
CMG_API void cmg_python_transport_destroy(cmg_transport **transport);
/* The library of MPI in use, to be compared with that of mpi4py; MPI's own longest text fits. */
CMG_API void cmg_python_mpi_version(char text[8192]);

#endif
