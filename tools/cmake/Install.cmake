# Installs what a program outside the tree needs: the libraries, the public headers (cli/fedstride/, two of tests/kits/) with the
# headers they include (fedstride/internal/), and find_package(fedstride), which defines the target fedstride::fedstride.
include(CMakePackageConfigHelpers)

# included_headers(RESULT HEADER...): sets RESULT to these headers and the project's headers that they include, even indirectly.
function(included_headers result)
  set(found)
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" next ${line})
      list(APPEND left ${next})
    endforeach()
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

file(GLOB public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/cli/fedstride/*.hpp)
list(APPEND public_headers tests/kits/conformance.hpp tests/kits/reference.hpp)
included_headers(headers ${public_headers})
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  if(header IN_LIST public_headers)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fedstride COMPONENT development)
  else()
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fedstride/internal/${folder} COMPONENT development)
  endif()
endforeach()
configure_file(cli/fedstride/version.hpp.in ${PROJECT_BINARY_DIR}/generated/version.hpp @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fedstride COMPONENT development)

add_library(fedstride_fedstride INTERFACE)
set_target_properties(fedstride_fedstride PROPERTIES EXPORT_NAME fedstride)
target_link_libraries(fedstride_fedstride INTERFACE fedstride_cli fedstride_kits)
target_compile_features(fedstride_fedstride INTERFACE cxx_std_20)
target_include_directories(fedstride_fedstride INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/fedstride/internal>)
install(TARGETS fedstride_fedstride EXPORT fedstride COMPONENT development)

# One target builds all that this component installs.
add_custom_target(development)
add_dependencies(development fedstride_cli fedstride_kits)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/fedstride)
install(EXPORT fedstride NAMESPACE fedstride:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/fedstrideConfig.cmake.in
  ${PROJECT_BINARY_DIR}/generated/fedstrideConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/fedstrideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/fedstrideConfig.cmake ${PROJECT_BINARY_DIR}/generated/fedstrideConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT development)
