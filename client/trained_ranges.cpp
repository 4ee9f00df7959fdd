#include "client/trained_ranges.hpp"

namespace fedstride {

std::vector<bool> either(const std::vector<bool>& one, const std::vector<bool>& other) {
  std::vector<bool> both = one.empty() ? other : one;
  if (one.empty() || other.empty()) return both;
  for (std::size_t layer = 0; layer < both.size(); ++layer) both[layer] = one[layer] || other[layer];
  return both;
}

std::vector<ParameterRange> trained_ranges(const Model& model, const std::vector<bool>& frozen, std::size_t copies) {
  std::vector<ParameterRange> ranges;
  for (std::size_t copy = 0; copy < copies; ++copy)
    for (const Parameter& parameter : model.parameters())
      if (frozen.empty() || !frozen[static_cast<std::size_t>(parameter.layer)])
        ranges.push_back({copy * model.size() + parameter.offset, parameter.size});
  return ranges;
}

std::vector<CodedMatrix> trained_matrices(const Model& model, const std::vector<bool>& frozen) {
  std::vector<CodedMatrix> matrices;
  std::size_t first = 0;
  for (const Parameter& parameter : model.parameters()) {
    if (!frozen.empty() && frozen[static_cast<std::size_t>(parameter.layer)]) continue;
    if (parameter.shape.size() > 1) {
      const auto outputs = static_cast<std::size_t>(parameter.shape.front());
      const std::size_t inputs = parameter.size / outputs;
      if (parameter.layout == ParameterLayout::dense)
        matrices.push_back({first, inputs, outputs});
      else
        matrices.push_back({first, outputs, inputs});
    }
    first += parameter.size;
  }
  return matrices;
}

}  // namespace fedstride
