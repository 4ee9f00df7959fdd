# The program's part of `cmake --install` (component `program`; the library is `development`) and the Debian packages that
# tools/make-packages builds from both components with CPack.
include(GNUInstallDirs)

# The program writes its completion; help2man makes manual pages of its help, for packages alone.
set(manual_folder ${PROJECT_BINARY_DIR}/manual)
set(completion ${PROJECT_BINARY_DIR}/completion/bash)
add_custom_command(OUTPUT ${completion} COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completion
                   COMMAND fedstride completion bash > ${completion} DEPENDS fedstride COMMENT "Completion" VERBATIM)
set(made ${completion})
if(CMAKE_CROSSCOMPILING)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
endif()
if(FEDSTRIDE_PACKAGE OR CMAKE_CROSSCOMPILING)
  list(APPEND made ${manual_folder}/fedstride.1.gz)
  # The folder is recreated, so the page of a removed command disappears.
  add_custom_command(OUTPUT ${manual_folder}/fedstride.1.gz COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual_folder}
                     COMMAND ${PROJECT_SOURCE_DIR}/tools/manual-pages ${manual_folder} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:fedstride>
                     COMMAND sh -c "gzip -9n '${manual_folder}'/*.1"
                     DEPENDS fedstride tools/manual-pages COMMENT "Manual pages" VERBATIM)
  install(DIRECTORY ${manual_folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endif()
add_custom_target(fedstride_manual ALL DEPENDS ${made})

if(FEDSTRIDE_PACKAGE)
  add_executable(fedstride_launcher cli/launcher/launcher.cpp)
  set_target_properties(fedstride_launcher PROPERTIES OUTPUT_NAME fedstride
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/launcher)
  # The last -march wins, so the launcher starts on any processor and reports if no build does.
  target_compile_options(fedstride_launcher PRIVATE ${FEDSTRIDE_WARNINGS} -march=x86-64 -O2)
  install(TARGETS fedstride_launcher DESTINATION bin COMPONENT program)
  install(TARGETS fedstride DESTINATION lib/fedstride/${FEDSTRIDE_MARCH} COMPONENT program)
  # CPack strips only the targets of this build.
  foreach(level x86-64-v3 x86-64-v4)
    set(stripped ${PROJECT_BINARY_DIR}/${level}/fedstride)
    add_custom_command(OUTPUT ${stripped} DEPENDS ${PROJECT_SOURCE_DIR}/build/${level}/fedstride
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/${level}
                       COMMAND ${CMAKE_STRIP} -o ${stripped} ${PROJECT_SOURCE_DIR}/build/${level}/fedstride VERBATIM)
    add_custom_target(fedstride_${level} ALL DEPENDS ${stripped})
    install(PROGRAMS ${stripped} DESTINATION lib/fedstride/${level} COMPONENT program)
  endforeach()

  # The Python module has a folder with a build for each level; fedstride/_load.py loads one. The program is in another package.
  if(TARGET fedstride_python)
    set(python_folder lib/python3/dist-packages/fedstride)
    install(DIRECTORY python/fedstride/ DESTINATION ${python_folder} COMPONENT python
            FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed PATTERN __pycache__ EXCLUDE)
    install(FILES ${PROJECT_BINARY_DIR}/python/fedstride/_version.py ${FEDSTRIDE_PYTHON_STUBS} DESTINATION ${python_folder} COMPONENT python)
    install(TARGETS fedstride_python LIBRARY DESTINATION ${python_folder}/${FEDSTRIDE_MARCH} COMPONENT python)
    foreach(level x86-64-v3 x86-64-v4)
      set(module $<TARGET_FILE_NAME:fedstride_python>)
      set(stripped ${PROJECT_BINARY_DIR}/${level}/python)
      add_custom_target(fedstride_python_${level} ALL
                        COMMAND ${CMAKE_COMMAND} -E make_directory ${stripped}
                        COMMAND ${CMAKE_STRIP} --strip-unneeded -o ${stripped}/${module}
                                ${PROJECT_SOURCE_DIR}/build/${level}/python/fedstride/${module} VERBATIM)
      install(FILES ${stripped}/${module} DESTINATION ${python_folder}/${level} COMPONENT python)
    endforeach()
  endif()
else()
  install(TARGETS fedstride DESTINATION bin COMPONENT program)
endif()
install(DIRECTORY python/fedstride_report DESTINATION lib/fedstride/python COMPONENT program PATTERN __pycache__ EXCLUDE)
install(FILES ${completion} DESTINATION share/bash-completion/completions RENAME fedstride COMPONENT program)
install(FILES README.md DESTINATION share/doc/fedstride COMPONENT program)
# The part of the program that is in Python (core/python_part.hpp).
install(FILES python/fedstride_convert.py DESTINATION lib/fedstride/python COMPONENT program)
install(DIRECTORY docs examples experiments DESTINATION share/doc/fedstride COMPONENT program
        PATTERN __pycache__ EXCLUDE)

# The libraries in a group of tools/packages; programs that link fedstride also need them.
function(fedstride_packages_of group output)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tools/packages lines REGEX "^${group} +[a-z0-9.+-]+-dev ")
  list(FILTER lines EXCLUDE REGEX "libcli11-dev")   # only the program reads a command line
  set(names)
  foreach(line ${lines})
    string(REGEX REPLACE "^${group} +([^ ]+).*" "\\1" name "${line}")
    list(APPEND names ${name})
  endforeach()
  list(JOIN names ", " names)
  set(${output} "${names}" PARENT_SCOPE)
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME fedstride)
string(REPLACE "-dev" "~dev" CPACK_PACKAGE_VERSION ${FEDSTRIDE_VERSION})   # sorts before the release in Debian's order
set(CPACK_PACKAGE_CONTACT "The fedstride developers <fedstride@localhost>")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
if(FEDSTRIDE_PACKAGE AND TARGET fedstride_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME fedstride)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS OFF)   # tools/make-packages sets its dependencies
endif()
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-pandas, python3-scipy, python3-matplotlib, python3-jinja2")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "dataset-fashion-mnist, bash-completion, python3-numpy, python3-h5py, python3-pil")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Federated averaging over clients that hold pathological splits of a data set, with
step sizes that adapt (ADADP), differential privacy with accountants, sweeps, reports
and networked federations. The same run gives the same bits on one thread and on many,
in one process and over a network, interrupted or not.")

fedstride_packages_of(build development_packages)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfedstride-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${development_packages}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Static libraries, headers and CMake targets for programs that bring optimizers,
partitions, server optimizers or cohorts of their own to fedstride.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-fedstride)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(python_release ${FEDSTRIDE_PYTHON_RELEASE})
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= ${python_release}), python3 (<< ${python_release}.99), python3-numpy, fedstride (= ${CPACK_PACKAGE_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-pandas")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-matplotlib, python3-torch")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The module of Python 3: runs, data sets as arrays, results, sweeps and questions of privacy
in the process that asks for them, with the same bits as the program's.")
include(CPack)
