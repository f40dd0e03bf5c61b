# One place for language level, warnings and sanitizers of every target.
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
