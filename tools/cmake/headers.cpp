// The unit of the precompiled headers, included by CMake.
