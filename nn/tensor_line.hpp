#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

// A model of tensors alone, whose layers only code of the user's own knows. Its line is "tensor NAME EXTENTS" for each, with '|'
// between them: "tensor fc.weight 10 784 | tensor fc.bias 10"; one without extents is a number.

/// The most tensors of such a model, and the longest line of them.
inline constexpr std::size_t kMaxTensors = 10'000;
inline constexpr std::size_t kMaxTensorLine = 500'000;

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< PyTorch's; empty: one number
};

/// True if a model's line is meant to be one of tensors.
bool is_tensor_line(std::string_view line);

/// Throws Error (usage) for a name that is there twice or is empty, holds spaces, '|' or anything but printable ASCII, for an extent that is no
/// whole number from 1, and beyond the limits above.
std::vector<NamedTensor> parse_tensor_line(std::string_view line);

/// The inverse. Throws Error (usage) likewise.
std::string tensor_line(std::span<const NamedTensor> tensors);

}  // namespace fedstride
