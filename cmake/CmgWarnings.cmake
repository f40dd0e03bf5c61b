# One place for language level, warnings and sanitizers of every target, and for what libraries show.
function(cmg_configure_target target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                             POSITION_INDEPENDENT_CODE ON)
  if(UNIX)
    target_link_libraries(${target} PRIVATE m) # a shared libcmg does not bring it to programs
  endif()
  set(flags -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror)
  if(NOT CMG_HAVE_OPENMP)
    list(APPEND flags -Wno-unknown-pragmas -Wno-unused-parameter) # some are read by the pragmas alone
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND flags -Wno-pass-failed) # "omp simd" is a request, not a promise
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${flags}>")
  if(CMG_HAVE_CUDA)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall$<COMMA>-Wextra;-Werror=all-warnings>")
  endif()
  if(CMG_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-fsanitize=address,undefined
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer>)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# Version, soname and exported symbols of a library. Before 1.0 a minor version may change the interface, so the soname
# follows it.
function(cmg_configure_library target)
  set(soname ${PROJECT_VERSION_MAJOR})
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soname})
  if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE)
    string(REPLACE cmgfem cmg_fem map ${PROJECT_SOURCE_DIR}/cmake/${target}.map)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
    target_link_options(${target} PRIVATE LINKER:--version-script=${map})
    if(NOT CMG_SANITIZE)
      target_link_options(${target} PRIVATE LINKER:--no-undefined LINKER:--as-needed)
    endif()
  endif()
endfunction()
