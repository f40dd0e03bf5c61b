#include "transport.h"

#include <cmg_mpi.h>

_Static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= 8192, "text of cmg_python_mpi_version");

cmg_status cmg_python_transport(int comm, double seconds, cmg_transport **transport)
{
    return cmg_mpi_transport_create(MPI_Comm_f2c((MPI_Fint)comm), seconds, transport);
}

void cmg_python_transport_destroy(cmg_transport **transport)
{
    cmg_mpi_transport_destroy(transport);
}

void cmg_python_mpi_version(char text[8192])
{
    int length = 0;
    text[0] = '\0';
    (void)MPI_Get_library_version(text, &length);
}
