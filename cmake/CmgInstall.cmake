# Installed tree: headers, libraries, command, the CMake package `cmg` with cmg::cmg and cmg::fem, pkg-config modules.
include(CMakePackageConfigHelpers)

set(CMG_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cmg)
set(CMG_LIBRARIES cmg)
if(CMG_FEM)
  list(APPEND CMG_LIBRARIES cmgfem)
endif()
install(TARGETS ${CMG_LIBRARIES} EXPORT cmg-targets PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT cmg-targets NAMESPACE cmg:: DESTINATION ${CMG_PACKAGE_DIR})
# the build folder is a package too: cmake -Dcmg_DIR=<build folder>
export(EXPORT cmg-targets NAMESPACE cmg::)

# The command finds a shared library beside itself, wherever the tree is moved to.
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH CMG_LIB_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(cmg_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${CMG_LIB_FROM_BIN}")
  if(CMG_FEM)
    set_target_properties(cmgfem PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endif()

# Imported targets that a program needs to link the static library; the package looks for them again.
set(CMG_PACKAGE_PARTS "")
if(NOT BUILD_SHARED_LIBS)
  if(CMG_HAVE_OPENMP)
    list(APPEND CMG_PACKAGE_PARTS OpenMP)
  endif()
  if(CMG_HAVE_CUDA)
    list(APPEND CMG_PACKAGE_PARTS CUDAToolkit)
  endif()
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cmg-config.cmake.in cmg-config.cmake
                              INSTALL_DESTINATION ${CMG_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(cmg-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cmg-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/cmg-config-version.cmake
        DESTINATION ${CMG_PACKAGE_DIR})

# What a linker needs beside libcmg: Libs.private for the shared library, Libs for the static one, so that
# `pkg-config --libs cmg` links with whichever is installed.
set(CMG_PC_PARTS "")
if(CMG_HAVE_OPENMP)
  list(APPEND CMG_PC_PARTS ${OpenMP_C_FLAGS})
endif()
if(CMG_HAVE_HDF5)
  list(APPEND CMG_PC_PARTS ${HDF5_C_LIBRARIES})
endif()
if(CMG_HAVE_LAPACK)
  list(APPEND CMG_PC_PARTS ${LAPACK_LIBRARIES})
endif()
if(CMG_HAVE_METIS)
  list(APPEND CMG_PC_PARTS ${METIS_LIBRARY})
endif()
if(CMG_HAVE_CUDA)
  list(APPEND CMG_PC_PARTS ${CUDA_cudart_LIBRARY})
  if(TARGET CUDA::cusparse)
    list(APPEND CMG_PC_PARTS ${CUDA_cusparse_LIBRARY})
  endif()
  list(APPEND CMG_PC_PARTS -lstdc++)
endif()
list(APPEND CMG_PC_PARTS -lm)
list(REMOVE_DUPLICATES CMG_PC_PARTS)
list(JOIN CMG_PC_PARTS " " CMG_PC_PARTS)
set(CMG_PC_LIBS "")
if(NOT BUILD_SHARED_LIBS)
  set(CMG_PC_LIBS " ${CMG_PC_PARTS}")
  set(CMG_PC_PARTS "")
endif()
file(RELATIVE_PATH CMG_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" CMG_PREFIX_FROM_PC "${CMG_PREFIX_FROM_PC}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/cmg.pc.in cmg.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/cmg_fem.pc.in cmg_fem.pc @ONLY)
set(CMG_PC_FILES ${CMAKE_CURRENT_BINARY_DIR}/cmg.pc)
if(CMG_FEM)
  list(APPEND CMG_PC_FILES ${CMAKE_CURRENT_BINARY_DIR}/cmg_fem.pc)
endif()
install(FILES ${CMG_PC_FILES} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# HTML pages of the interface in <build folder>/api/html, on request
find_program(DOXYGEN doxygen)
mark_as_advanced(DOXYGEN)
if(DOXYGEN)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/api
                         COMMAND ${CMAKE_COMMAND} -E env CMG_API_OUTPUT=${CMAKE_BINARY_DIR}/api ${DOXYGEN} api/Doxyfile
                         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/docs)
endif()
