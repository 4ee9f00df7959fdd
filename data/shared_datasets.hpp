#pragma once

#include <cstddef>

namespace fedstride {

/// While one lives, load_dataset() reads each of the data sets asked for last (kSharedDatasets) once in this process, and its callers
/// share the examples' memory. Files that change meanwhile are not read again: what runs beside each other has the same data.
class SharedDatasets {
 public:
  static constexpr std::size_t kSharedDatasets = 2;

  SharedDatasets();
  ~SharedDatasets();
  SharedDatasets(const SharedDatasets&) = delete;
  SharedDatasets& operator=(const SharedDatasets&) = delete;
};

}  // namespace fedstride
