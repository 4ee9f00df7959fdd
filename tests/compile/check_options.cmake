# A build folder that was configured before MPI was installed uses it once it is; one that was told not to, does not.
function(expect found used)
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/options -B ${BINARY}
                          -DOPTIONS=${SOURCE}/tools/cmake/Options.cmake -DCMAKE_CXX_COMPILER=${COMPILER} ${ARGN}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR NOT said MATCHES "MPI found: ([A-Z]*), used: ([A-Z]+)")
    message(FATAL_ERROR "options cannot be configured: ${said}")
  endif()
  set(found_now ${CMAKE_MATCH_1})
  set(used_now ${CMAKE_MATCH_2})
  if(found STREQUAL "TRUE" AND NOT found_now)
    message("skipped: there is no MPI here")
    return()
  endif()
  if(used AND NOT used_now OR used_now AND NOT used)
    message(FATAL_ERROR "configured with '${ARGN}', MPI is used: ${used_now}; it must be ${used}")
  endif()
endfunction()

file(REMOVE_RECURSE ${BINARY})
expect(FALSE OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
expect(TRUE ON -UCMAKE_DISABLE_FIND_PACKAGE_MPI)
expect(FALSE OFF -DFEDSTRIDE_MPI=OFF)
# A wrapper whose headers are not installed, as openmpi-bin alone has it.
file(WRITE ${BINARY}/mpicxx "#!/bin/sh\necho /nonexistent/openmpi/include\n")
file(CHMOD ${BINARY}/mpicxx PERMISSIONS OWNER_READ OWNER_EXECUTE)
expect(FALSE OFF -UFEDSTRIDE_MPI -DFEDSTRIDE_MPI_WRAPPER=${BINARY}/mpicxx)
file(REMOVE_RECURSE ${BINARY})
