#pragma once

#include <algorithm>
#include <cereal/cereal.hpp>
#include <cstdint>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The longest vector that can be read, in floats (4 GiB).
inline constexpr std::uint64_t kMaxVectorSize = std::uint64_t{1} << 30;

}  // namespace fedstride

/// save and load for fedstride::Vector, for use with cereal's two binary archives: the length in 64 bits, then the floats.
namespace cereal {

void save(auto& archive, const fedstride::Vector& vector) {
  const auto size = static_cast<std::uint64_t>(vector.size());
  archive(size);
  archive(binary_data(vector.data(), size * sizeof(float)));
}

/// Memory grows with the bytes that have arrived, never with a claimed length. Throws Error (failure) for a length above
/// kMaxVectorSize, or cereal::Exception if the bytes end early.
void load(auto& archive, fedstride::Vector& vector) {
  std::uint64_t size = 0;
  archive(size);
  if (size > fedstride::kMaxVectorSize)
    throw fedstride::failure("a stored vector claims " + fedstride::number_text(size) + " numbers; at most " +
                             fedstride::number_text(fedstride::kMaxVectorSize) + " are accepted");
  constexpr std::uint64_t kFirstPiece = std::uint64_t{1} << 18;
  if (static_cast<std::uint64_t>(vector.size()) > size) vector.resize(size);
  for (std::uint64_t done = 0; done < size;) {
    const auto room = static_cast<std::uint64_t>(vector.size());
    const std::uint64_t end = std::min(size, std::max(room, done + std::max(done, kFirstPiece)));
    if (room < end) vector.resize(end);
    archive(binary_data(vector.data() + done, (end - done) * sizeof(float)));
    done = end;
  }
}

}  // namespace cereal
