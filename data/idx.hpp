#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// Reads a pair of idx files (LeCun's format, gzipped or not): bytes 0 0 8 3, count, rows, columns as big-endian 32-bit
/// numbers, pixels; bytes 0 0 8 1, count, labels below 10. Throws Error (failure) naming file, record and label if
/// header, length, counts or a label are wrong.
Dataset read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

DataPair load_mnist(const std::filesystem::path& folder);
DataPair load_fashion_mnist(const std::filesystem::path& folder);

}  // namespace fedstride
