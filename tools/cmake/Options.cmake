# Options for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Position-independent, because the Python module (python/) uses the same libraries. Hidden symbols make this free: no call goes
# through a table.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(FEDSTRIDE_MARCH "native" CACHE STRING "Value of -march for every target; x86-64-v2 for a portable build")
set(FEDSTRIDE_SANITIZE OFF CACHE STRING "ON: AddressSanitizer and UndefinedBehaviorSanitizer; thread: ThreadSanitizer; neither in the training kernels")
option(FEDSTRIDE_WERROR "Warnings are errors" OFF)
option(FEDSTRIDE_UNITY "Several files a compiler call; off: one, to look at one file's cost or its includes" ON)

option(FEDSTRIDE_PACKAGE "For tools/make-packages: no tests, installed under a launcher beside builds for other processors" OFF)

# The fleet on MPI (sim/mpi/) is built if an MPI is found, but not in packages, where it would become a dependency for all
# users.
set(FEDSTRIDE_MPI AUTO CACHE STRING "--fleet mpi: one run on the processes that mpirun or srun starts; AUTO: if an MPI is found")
if(FEDSTRIDE_MPI)
  # Debian's openmpi-bin has the compiler wrapper without the headers that it refers to, so FindMPI would abort the configuration.
  find_program(FEDSTRIDE_MPI_WRAPPER NAMES mpicxx mpic++ mpicxx.openmpi mpic++.openmpi)
  mark_as_advanced(FEDSTRIDE_MPI_WRAPPER)
  set(folders "")
  if(FEDSTRIDE_MPI_WRAPPER)
    execute_process(COMMAND ${FEDSTRIDE_MPI_WRAPPER} --showme:incdirs OUTPUT_VARIABLE folders ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  separate_arguments(folders UNIX_COMMAND "${folders}")
  set(missing "")
  foreach(folder IN LISTS folders)
    if(IS_ABSOLUTE "${folder}" AND NOT EXISTS "${folder}")
      list(APPEND missing ${folder})
    endif()
  endforeach()
  if(NOT missing)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI QUIET COMPONENTS CXX)
  elseif(NOT FEDSTRIDE_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "FEDSTRIDE_MPI is ${FEDSTRIDE_MPI}, but MPI's headers are missing (${missing}); install libopenmpi-dev")
  endif()
endif()
# Decided each time, because an MPI may be installed after the first build.
if(FEDSTRIDE_MPI STREQUAL "AUTO")
  set(FEDSTRIDE_MPI OFF)
  if(MPI_CXX_FOUND)
    set(FEDSTRIDE_MPI ON)
  endif()
endif()

option(FEDSTRIDE_PYTHON "`import fedstride` (python/), where Python's headers and pybind11 are installed" ON)

# Uses ccache if installed; nothing depends on it.
find_program(FEDSTRIDE_CCACHE ccache)
if(FEDSTRIDE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${FEDSTRIDE_CCACHE})
endif()

# LLD, used if installed, links in a fifth of the time.
find_program(FEDSTRIDE_LLD ld.lld)
if(FEDSTRIDE_LLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=lld)
endif()

if(FEDSTRIDE_MARCH)
  add_compile_options(-march=${FEDSTRIDE_MARCH})
endif()
# GCC 12 with AVX-512 writes wrong constants: std::vector<double>{3, 3, 3, 0} becomes 3, 3, 3, 3. Copying constants in
# pieces of 16 bytes avoids the error; arithmetic is unaffected.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND
   CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-mmove-max=128 -mstore-max=128)
endif()
# The compiler must not fuse multiply-adds: where a multiply-add must round once, the code calls fma() (core/simd.hpp), so
# every compiler gives the same bits on every processor. `char` is signed everywhere, as on x86.
add_compile_options(-ffp-contract=off -fno-math-errno -fsigned-char)
# Debian's Eigen aligns to the widest vector of the build; an explicit alignment makes a portable build align the same way.
add_compile_definitions(EIGEN_MAX_ALIGN_BYTES=64)

set(FEDSTRIDE_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports nonexistent overlapping copies in std::string's operator+ (its bug 105651).
  list(APPEND FEDSTRIDE_WARNINGS -Wno-psabi -Wno-restrict)
endif()
if(FEDSTRIDE_WERROR)
  list(APPEND FEDSTRIDE_WARNINGS -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12's own AVX-512 headers trigger these two warnings.
    list(APPEND FEDSTRIDE_WARNINGS -Wno-error=maybe-uninitialized -Wno-error=uninitialized)
  endif()
endif()
# null, vptr, alignment and object-size are not worth their share of build time (a quarter): AddressSanitizer finds the same
# errors.
set(FEDSTRIDE_SANITIZERS -fsanitize=address,undefined -fno-sanitize=null,vptr,alignment,object-size -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
if(FEDSTRIDE_SANITIZE STREQUAL "thread")
  set(FEDSTRIDE_SANITIZERS -fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(FEDSTRIDE_SANITIZE)
  add_link_options(-fsanitize=address,undefined)
endif()
