#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "core/descriptor.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// Keeps vectors for its lifetime, in memory up to a limit and then in an unnamed memory-mapped file. Thread-safe.
class UpdateStore {
 public:
  /// `memory` is the limit in bytes.
  explicit UpdateStore(std::uint64_t memory) : memory_(memory) {}
  ~UpdateStore();
  UpdateStore& operator=(UpdateStore&&) = delete;

  /// Copies the values; the copy never moves. Throws Error (failure) if they do not fit in the folder for temporary files
  /// ($TMPDIR, otherwise /tmp).
  std::span<const float> keep(std::span<const float> values);

  /// Bytes in the file so far.
  std::uint64_t in_file() const { return file_bytes_; }

 private:
  std::span<float> place(std::size_t size);
  std::span<float> place_in_file(std::size_t size);

  std::mutex mutex_;
  std::uint64_t memory_;
  std::uint64_t used_ = 0;
  std::deque<Vector> vectors_;
  std::vector<std::span<float>> mapped_;
  std::uint64_t file_bytes_ = 0;
  Descriptor file_;
};

}  // namespace fedstride
