# Writes what stands between the library and CUDA in test fault.cuda: for every function of the runtime, cuSPARSE,
# cuSOLVER and cuBLAS that the objects call, an entry that asks cuda_faults_ask first, and the option that has the linker
# put it there.
#
#   cmake -DNM=nm -DLIBRARIES=libcmg.a,libcmgfem.a -DOUT=calls -P cuda_calls.cmake    # calls.c, calls.rsp
string(REPLACE "," ";" LIBRARIES "${LIBRARIES}")
set(names "")
foreach(library ${LIBRARIES})
  execute_process(COMMAND ${NM} -u ${library} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " (__cudaLaunchKernel[a-zA-Z_]*|cuda[A-Z][A-Za-z0-9_]*|cusparse[A-Z][A-Za-z0-9_]*|cusolver[A-Z][A-Za-z0-9_]*|cublas[A-Z][A-Za-z0-9_]*)"
         found "${text}")
  list(APPEND names ${found})
endforeach()
list(TRANSFORM names STRIP)
list(REMOVE_DUPLICATES names)
list(FILTER names EXCLUDE REGEX "ErrorString$|ErrorName$|LastError$")
list(SORT names)
set(options "-Wl,--wrap=cudaGetLastError,--wrap=cudaPeekAtLastError\n")
set(text "/* made by tests/fault/cuda_calls.cmake */\n#include \"cuda_faults.h\"\n\nconst char *const cuda_calls[] = {\n")
set(entries "")
set(k 0)
foreach(name ${names})
  string(APPEND options "-Wl,--wrap=${name}\n")
  string(APPEND text "    \"${name}\",\n")
  string(APPEND entries "CUDA_CALL(${k}, ${name})\n")
  math(EXPR k "${k} + 1")
endforeach()
string(APPEND text "};\nconst int cuda_ncalls = ${k};\n\n${entries}")
file(WRITE ${OUT}.rsp "${options}")
file(WRITE ${OUT}.c "${text}")
