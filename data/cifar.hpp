#pragma once

#include <filesystem>
#include <span>

#include "data/dataset.hpp"

namespace fedstride {

/// CIFAR's binary form: records of `label_bytes` labels and 3072 pixels (red, green and blue planes of 32 rows).
struct CifarFormat {
  int label_bytes = 1;
  int label_at = 0;  ///< index of the label among the label bytes
  int classes = 0;   ///< labels are below; 0: any byte is a label, and classes is 1 + the largest
};

/// Reads all records of the files, in order, into a set of 32x32x3 pictures normalised as CIFAR-10 is.
/// Throws Error (failure) naming file, record and label: a fraction of a record, a label out of range, no record.
Dataset read_cifar(std::span<const std::filesystem::path> files, const CifarFormat& format);

DataPair load_cifar10(const std::filesystem::path& folder);
/// The 100 fine labels.
DataPair load_cifar100(const std::filesystem::path& folder);

}  // namespace fedstride
