#pragma once

#include <filesystem>

#include "data/files/assembly.hpp"
#include "data/files/read_settings.hpp"

namespace fedstride {

/// Reads one part in CIFAR's binary form: records of a label byte and 3072 pixels (red, green and blue planes of 32 rows), or, in
/// files whose size fits that alone, two label bytes, of which the second (CIFAR-100's fine label) counts. Throws Error (failure).
void read_cifar_file(const std::filesystem::path& path, Assembly& into, bool as_test);

/// Reads one part of a pair of idx files: `images` of bytes in two to four dimensions (the first counts the examples), and labels, one byte
/// each, in the file whose name has "labels" for "images" and "idx1" for "idx3". Throws Error (failure).
void read_idx_files(const std::filesystem::path& images, Assembly& into, bool as_test);

}  // namespace fedstride
