// The unit of the precompiled headers, which CMake includes.
