# Finds libraries that CMake does not: HDF5's C library (the serial one if several), as FEDSTRIDE_HDF5_INCLUDE and the target
# fedstride::hdf5, because CMake's own module needs a C compiler; libjpeg-turbo's simple interface, as fedstride::turbojpeg.
find_path(FEDSTRIDE_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(FEDSTRIDE_HDF5_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
find_library(FEDSTRIDE_TURBOJPEG_LIBRARY NAMES turbojpeg REQUIRED)
mark_as_advanced(FEDSTRIDE_HDF5_INCLUDE FEDSTRIDE_HDF5_LIBRARY FEDSTRIDE_TURBOJPEG_LIBRARY)
foreach(name hdf5 turbojpeg)
  if(NOT TARGET fedstride::${name})
    string(TOUPPER ${name} upper)
    add_library(fedstride::${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(fedstride::${name} INTERFACE ${FEDSTRIDE_${upper}_LIBRARY})
  endif()
endforeach()
