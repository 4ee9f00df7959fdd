#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

// A model of tensors only, whose layers are known only to user code. Its line is "tensor NAME EXTENTS" for each tensor, separated
// by '|': "tensor fc.weight 10 784 | tensor fc.bias 10"; a tensor without extents is a scalar.

/// The maximum number of tensors of such a model, and of characters in its line.
inline constexpr std::size_t kMaxTensors = 10'000;
inline constexpr std::size_t kMaxTensorLine = 500'000;

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< as in PyTorch; empty for a scalar
};

/// True if a model's line is meant as a line of tensors.
bool is_tensor_line(std::string_view line);

/// Throws Error (usage) for a name that is repeated, is empty, or contains spaces, '|' or anything but printable ASCII, for an
/// extent that is not a whole number from 1, and if a limit above is exceeded.
std::vector<NamedTensor> parse_tensor_line(std::string_view line);

/// The inverse of parse_tensor_line. Throws Error (usage) in the same cases.
std::string tensor_line(std::span<const NamedTensor> tensors);

}  // namespace fedstride
