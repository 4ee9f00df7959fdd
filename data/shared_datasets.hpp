#pragma once

#include <cstddef>

namespace fedstride {

/// While an instance exists, load_dataset() reads each of the kSharedDatasets most recently requested data sets once per process,
/// and its callers share the examples' memory. Files that change meanwhile are not read again, so concurrent runs have the same
/// data.
class SharedDatasets {
 public:
  static constexpr std::size_t kSharedDatasets = 2;

  SharedDatasets();
  ~SharedDatasets();
  SharedDatasets& operator=(SharedDatasets&&) = delete;
};

}  // namespace fedstride
