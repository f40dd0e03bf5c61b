# cmg_test(<name> <source> [FEM] [BACKENDS cpu cuda] [LABELS ...]): one program, one CTest entry a backend.
# The programs link the library's objects statically, so that tests can reach internal functions. FEM: the test needs
# libcmgfem and is left out without it.
set(CMG_TEST_SECONDS 300)
if(CMG_EMULATED)
  set(CMG_TEST_SECONDS 3000)
endif()
set(CMG_SHARED_DATA_DEFAULT ${PROJECT_SOURCE_DIR}/../shared/data CACHE PATH "Data made by others, for the tests")

function(cmg_test name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "FEM" "" "BACKENDS;LABELS")
  if(arg_FEM AND NOT CMG_FEM)
    return()
  endif()
  if(NOT arg_BACKENDS)
    set(arg_BACKENDS cpu)
  endif()
  string(REPLACE "." "_" target test_${name})
  add_executable(${target} ${source})
  cmg_configure_target(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE CMG_SHARED_DATA_DEFAULT="${CMG_SHARED_DATA_DEFAULT}"
                             CMG_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CMG_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(arg_FEM)
    target_link_libraries(${target} PRIVATE ${CMG_FEM_INTERNAL})
  endif()
  target_link_libraries(${target} PRIVATE cmgranks_internal cmgelements_internal ${CMG_INTERNAL})
  cmg_link_dependencies(${target})
  if(name IN_LIST CMG_EMULATED_SLOW)
    list(REMOVE_ITEM arg_BACKENDS cuda)
  endif()
  foreach(backend ${arg_BACKENDS})
    if(backend STREQUAL "cpu" OR CMG_HAVE_CUDA)
      add_test(NAME ${name}.${backend} COMMAND ${target} ${backend})
      set_tests_properties(${name}.${backend} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${backend};${arg_LABELS}"
                                                         TIMEOUT ${CMG_TEST_SECONDS})
    endif()
  endforeach()
endfunction()

# cmg_python_test(<name> MODULES ... COMMAND <script> <arguments>... [LABELS ...]): skipped, visibly, without Python or
# one of the modules. The script finds CMG_TOOL, CMG_SOURCE_DIR, CMG_BINARY_DIR, CMG_C_COMPILER and
# CMG_SHARED_DATA_DEFAULT in its environment.
function(cmg_python_test name)
  find_package(Python3 QUIET COMPONENTS Interpreter) # here: a caller in another folder has no Python3_EXECUTABLE
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;COMMAND;LABELS")
  if(Python3_Interpreter_FOUND)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/python_test.py "${arg_MODULES}" ${arg_COMMAND})
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no Python 3")
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "python;${arg_LABELS}" TIMEOUT 300
    ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR};CMG_TOOL=$<TARGET_FILE:cmg_tool>;CMG_SOURCE_DIR=${PROJECT_SOURCE_DIR};CMG_BINARY_DIR=${PROJECT_BINARY_DIR};CMG_C_COMPILER=${CMAKE_C_COMPILER};CMG_SHARED_DATA_DEFAULT=${CMG_SHARED_DATA_DEFAULT}")
  if(NOT Python3_Interpreter_FOUND)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
  endif()
endfunction()
