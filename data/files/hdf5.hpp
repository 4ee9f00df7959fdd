#pragma once

#include <filesystem>

#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads an HDF5 file in the layout in which TensorFlow Federated ships its data sets: examples/CLIENT/KEY, a group a client, an array a key,
/// whose first dimension counts the client's examples. Which keys there are says what they are:
///   x and y, or pixels and label, or image and label    numbers or pictures (EMNIST, CIFAR-100); --label names another answer
///   snippets                        texts (Shakespeare): sequences of 80 characters, each position's label the next one
///   tokens                          sentences (StackOverflow): 20 words of the 10,000 most frequent ones of the training part, next word
/// Throws Error (failure) naming client and key. Links to other files, references and arrays without bytes are refused; filters are the library's own.
void read_hdf5(const std::filesystem::path& path, const ReadSettings& settings, Assembly& into, bool as_test);

}  // namespace fedstride
