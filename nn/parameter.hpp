#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedstride {

/// A tensor's role in its layer. It determines the tensor's initial values, and its PyTorch name unless the layer specifies one.
enum class ParameterRole {
  weight,            ///< multiplied by inputs and summed over them; the output index comes first in PyTorch's shape
  bias,              ///< added to these sums; follows its weight
  scale,             ///< multiplies normalized values, one per channel
  shift,             ///< added to the scaled values, one per channel
  second_weight,     ///< multiplied by a recurrent layer's previous output, or in attention by the attended values
  second_bias,       ///< follows its second weight
  running_mean,      ///< of a batch normalization's channels, for evaluation; no gradient moves it
  running_variance,  ///< likewise
  table,             ///< a row of values for each token or position
};

/// The last part of a tensor's name; PyTorch calls a normalization's scale and shift weight and bias, too.
constexpr std::string_view pytorch_name(ParameterRole role) {
  switch (role) {
    case ParameterRole::weight:
    case ParameterRole::scale:
    case ParameterRole::second_weight:
    case ParameterRole::table:
      return "weight";
    case ParameterRole::bias:
    case ParameterRole::shift:
    case ParameterRole::second_bias:
      return "bias";
    case ParameterRole::running_mean:
      return "running_mean";
    case ParameterRole::running_variance:
      return "running_var";
  }
  return {};
}

/// A tensor's layout in the flat vector, and PyTorch's order of its values (nn/pytorch_layout.hpp).
enum class ParameterLayout {
  same,         ///< as in PyTorch
  convolution,  ///< [output][row][column][input] here, [output][input][row][column] there
  dense,        ///< [input][output] here, inputs in NHWC flatten order; [output][input] there, in NCHW flatten order
};

/// A T for each role; roles that a layer lacks keep T{}.
template <class T>
struct ByRole {
  T weight{};
  T bias{};
  T scale{};
  T shift{};
  T second_weight{};
  T second_bias{};
  T running_mean{};
  T running_variance{};
  T table{};

  T& operator[](ParameterRole role) {
    switch (role) {
      case ParameterRole::weight:
        return weight;
      case ParameterRole::bias:
        return bias;
      case ParameterRole::scale:
        return scale;
      case ParameterRole::second_weight:
        return second_weight;
      case ParameterRole::second_bias:
        return second_bias;
      case ParameterRole::table:
        return table;
      case ParameterRole::running_mean:
        return running_mean;
      case ParameterRole::running_variance:
        return running_variance;
      case ParameterRole::shift:
        break;
    }
    return shift;
  }
};

/// One tensor in the flat parameter vector.
struct Parameter {
  std::string name;  ///< "conv1.weight", "fc1.bias", "gn1.weight": as in PyTorch, numbered from 1 for each kind
  ParameterRole role = ParameterRole::weight;
  ParameterLayout layout = ParameterLayout::same;
  std::vector<std::int64_t> shape;  ///< as in PyTorch
  std::size_t offset = 0;           ///< into the flat vector, in floats; a multiple of 16
  std::size_t size = 0;
  int layer = 0;            ///< index into Model::layers()
  std::int64_t fan_in = 0;  ///< the fan-in for scaling initial values; 0: the tensor's own
};

}  // namespace fedstride
