# cmake -DSOURCE=folder -DHEADER=file -P Commit.cmake
# Writes the commit of the source folder, followed by "-dirty" if files have changed since, into a header; an up-to-date header is
# left unchanged, so a repeated build does nothing. Without git or its history, the commit is "unknown".
find_program(GIT git)
set(commit unknown)
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
                  RESULT_VARIABLE failed OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND described MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define FEDSTRIDE_COMMIT \"${commit}\"\n")
