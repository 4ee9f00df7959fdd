#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads a NumPy archive (numpy.savez, savez_compressed): x, y and, if there is one, client; x_test, y_test, client_test if the
/// file has a test part. x_train, y_train and client_train are other names of the first three. classes and vocabulary, whole numbers, may say
/// how many there are. A name that `settings` gives stands for y or client (and NAME_test). Other arrays are not read. With `as_test` x, y and client are the
/// test part. Throws Error (failure): a missing key, types, sizes that the file has no bytes for.
void read_npz(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);

/// The names of the arrays that are read, with these settings.
std::vector<std::string> npz_keys(const ReadSettings& settings);

/// The same of arrays in memory, which may be lent, by their keys; `name` stands for the file in messages.
void take_arrays(std::map<std::string, Array> arrays, const std::string& name, const ReadSettings& settings, Assembly& into);

/// The same of a file's bytes.
void read_npz(std::span<const std::uint8_t> bytes, const ReadSettings& settings, Assembly& into);

}  // namespace fedstride
