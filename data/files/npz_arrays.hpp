#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/files/array.hpp"

namespace fedstride {

/// The arrays of a NumPy archive (numpy.savez, savez_compressed) that have these names; `others`: names that are there besides, the first
/// dozen. Throws Error (failure) for a file that is none, and for arrays of Python's objects, which are pickles.
std::map<std::string, Array> npz_arrays(const std::filesystem::path& path, const std::vector<std::string>& wanted,
                                        std::vector<std::string>& others);

}  // namespace fedstride
