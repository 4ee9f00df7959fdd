#pragma once

#include <cstdlib>
#include <string>

#include "tests/data/files.hpp"

namespace fedstride::test {

/// A Python that has numpy and h5py; empty if there is none.
inline std::string python_with_h5py() {
  for (const char* name : {"/usr/bin/python3", "python3"})
    if (std::system((std::string(name) + " -c 'import numpy, h5py' >/dev/null 2>&1").c_str()) == 0) return name;
  return {};
}

/// Runs a script with these words after it; whether it went well.
inline bool run_python(const std::string& python, const std::string& script, const std::string& words) {
  return std::system((python + " '" + script + "' " + words).c_str()) == 0;
}

}  // namespace fedstride::test
