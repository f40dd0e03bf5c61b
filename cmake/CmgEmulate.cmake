# The CUDA backend without a GPU: the .cu sources as C++ on the emulated device of tests/emulated, for tests. Needs the
# headers of CUDA and Python.
enable_language(CXX)
set(CMG_INSTALL OFF CACHE BOOL "Install rules" FORCE) # for tests alone
find_package(CUDAToolkit REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
option(CMG_EMULATED_LONG "Also the tests that take more than 20 s on the emulated device" ON)
set(CMG_EMULATED_SLOW
  core.context spmv.formats spmv.columns spmv.from_device smoothers.auto smoothers.polynomial smoothers.spai_repeats
  krylov.loop krylov.defect mg.columns mg.solver mg.outer mg.polynomial mg.smooth mg.backends mg.schedule mg.fallback
  mg.pairwise mg.lossless mg.resident mg.robust mg.nullspace io.known_counts fem.convergence transfer.coarsen
  transfer.complete transfer.galerkin dist.solve dist.merged fault.cuda heart.checks)
if(CMG_EMULATED_LONG)
  set(CMG_EMULATED_SLOW)
endif()
set(CMG_EMULATED_DIR ${PROJECT_SOURCE_DIR}/tests/emulated)
add_library(cmg_emulated_device STATIC ${CMG_EMULATED_DIR}/emulated_block.cpp ${CMG_EMULATED_DIR}/emulated_memory.cpp
                                       ${CMG_EMULATED_DIR}/emulated_runtime.cpp ${CMG_EMULATED_DIR}/emulated_streams.cpp)
target_compile_features(cmg_emulated_device PUBLIC cxx_std_17)
target_compile_options(cmg_emulated_device PRIVATE -Wall -Wextra -O2)
target_include_directories(cmg_emulated_device PUBLIC ${CMG_EMULATED_DIR})
target_include_directories(cmg_emulated_device SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
set_target_properties(cmg_emulated_device PROPERTIES POSITION_INDEPENDENT_CODE ON)

# The header that launches kernels.
foreach(header core/cuda.cuh)
  set(made ${PROJECT_BINARY_DIR}/emulated/include/${header})
  cmake_path(GET made PARENT_PATH made_in)
  file(MAKE_DIRECTORY ${made_in})
  add_custom_command(OUTPUT ${made} DEPENDS ${PROJECT_SOURCE_DIR}/src/${header} ${CMG_EMULATED_DIR}/translate.py
    COMMAND ${Python3_EXECUTABLE} -B ${CMG_EMULATED_DIR}/translate.py ${PROJECT_SOURCE_DIR}/src/${header} ${made})
  list(APPEND CMG_EMULATED_HEADERS ${made})
endforeach()

# Puts a C++ source in the place of every .cu of a target.
function(cmg_emulate target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cu$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    set(made ${PROJECT_BINARY_DIR}/emulated/${name}.cpp)
    cmake_path(GET made PARENT_PATH made_in)
    file(MAKE_DIRECTORY ${made_in})
    add_custom_command(OUTPUT ${made} DEPENDS ${source} ${CMG_EMULATED_HEADERS} ${CMG_EMULATED_DIR}/translate.py
      COMMAND ${Python3_EXECUTABLE} -B ${CMG_EMULATED_DIR}/translate.py ${source} ${made})
    cmake_path(GET source PARENT_PATH beside)
    set_source_files_properties(${made} PROPERTIES INCLUDE_DIRECTORIES "${beside};${PROJECT_BINARY_DIR}/emulated/include"
      COMPILE_OPTIONS "-O2;-ffp-contract=off;-Wno-attributes;-Wno-unknown-pragmas;-fvisibility=hidden")
    target_sources(${target} PRIVATE ${made})
  endforeach()
  target_link_libraries(${target} PRIVATE ${CMG_CUDA_RUNTIME})
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17)
endfunction()
