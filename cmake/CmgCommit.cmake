# cmake -DSOURCE=FOLDER -DHEADER=FILE -P CmgCommit.cmake: the commit that is built, as CMG_COMMIT in FILE, which is
# left alone when it says so already. A copied tree without its history has the commit in FOLDER/.commit.
set(commit unknown)
find_package(Git QUIET)
if(EXISTS ${SOURCE}/.commit)
  file(STRINGS ${SOURCE}/.commit commit LIMIT_COUNT 1)
elseif(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --short HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(commit unknown)
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define CMG_COMMIT \"@commit@\"\n" @ONLY)
