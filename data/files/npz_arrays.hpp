#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/files/array.hpp"

namespace fedstride {

/// Returns the arrays with these names from a NumPy archive (numpy.savez, savez_compressed); `others` receives the first dozen
/// other names. Throws Error (failure) for any other kind of file, and for arrays of Python objects, which are pickles.
std::map<std::string, Array> npz_arrays(const std::filesystem::path& path, const std::vector<std::string>& wanted,
                                        std::vector<std::string>& others);

}  // namespace fedstride
