# HDF5's C library, the serial one where there are several: FEDSTRIDE_HDF5_INCLUDE and the target fedstride::hdf5, to link with. CMake's
# own module needs a C compiler.
find_path(FEDSTRIDE_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(FEDSTRIDE_HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
mark_as_advanced(FEDSTRIDE_HDF5_INCLUDE FEDSTRIDE_HDF5_LIBRARY)
if(NOT TARGET fedstride::hdf5)
  add_library(fedstride::hdf5 INTERFACE IMPORTED GLOBAL)
  target_link_libraries(fedstride::hdf5 INTERFACE ${FEDSTRIDE_HDF5_LIBRARY})
endif()
