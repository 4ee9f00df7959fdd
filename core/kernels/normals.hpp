#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/block_key.hpp"

namespace fedstride {

/// Normals made at once from 16 blocks.
inline constexpr std::size_t kPhiloxNormals = 64;
inline constexpr std::size_t kChachaNormals = 256;

/// values[i] += scale x z(first + i) for whole groups of normals; the first group is number `first_group`.
void add_philox_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups);
void add_chacha_normals(const BlockKey& from, std::uint32_t first_group, float scale, float* values, std::size_t groups);

}  // namespace fedstride
