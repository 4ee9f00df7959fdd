#include "nn/tensor_line.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kWord = "tensor";
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
constexpr std::size_t kMaxExtents = 16;
constexpr std::size_t kMaxTensorName = 256;

void check_names(std::span<const NamedTensor> tensors) {
  if (tensors.size() > kMaxTensors)
    throw usage_error("a model has " + std::to_string(tensors.size()) + " tensors; at most " + std::to_string(kMaxTensors) +
                      " are supported");
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name.size() > kMaxTensorName)
      throw usage_error("the tensor name that begins with '" + tensor.name.substr(0, 60) + "' has " +
                        std::to_string(tensor.name.size()) + " characters; at most " + std::to_string(kMaxTensorName) +
                        " are supported");
    const bool good = !tensor.name.empty() && std::ranges::all_of(tensor.name, [](char letter) {
      return letter > ' ' && letter <= '~' && letter != '|';
    });
    if (!good)
      throw usage_error("tensor name '" + tensor.name + "' is invalid; a name must be printable ASCII without spaces or '|'");
    if (!names.insert(tensor.name).second) throw usage_error("tensor '" + tensor.name + "' is given twice");
    for (const std::int64_t extent : tensor.shape)
      if (extent < 1 || extent > kMaxExtent)
        throw usage_error("tensor '" + tensor.name + "' has extent " + std::to_string(extent) +
                          "; it must be a whole number from 1 to 2^31");
    if (tensor.shape.size() > kMaxExtents)
      throw usage_error("tensor '" + tensor.name + "' has " + std::to_string(tensor.shape.size()) + " extents; at most " +
                        std::to_string(kMaxExtents) + " are supported");
  }
}

}  // namespace

bool is_tensor_line(std::string_view line) {
  line = trimmed(line);
  return line == kWord || line.starts_with("tensor ");
}

std::vector<NamedTensor> parse_tensor_line(std::string_view line) {
  if (line.size() > kMaxTensorLine)
    throw usage_error("the model's line has " + std::to_string(line.size()) + " characters; at most " +
                      std::to_string(kMaxTensorLine) + " are supported");
  std::vector<NamedTensor> tensors;
  for (const std::string_view piece : split(line, '|')) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(piece, ' '))
      if (!trimmed(word).empty()) words.push_back(trimmed(word));
    if (words.size() < 2 || words.front() != kWord)
      throw usage_error(
          "'" + std::string(trimmed(piece)) +
          "' is not valid in a model of tensors; each part must be 'tensor NAME [EXTENTS]', such as 'tensor fc.weight 10 784'");
    NamedTensor tensor{std::string(words[1]), {}};
    for (std::size_t i = 2; i < words.size(); ++i) {
      std::int64_t extent = 0;
      if (!parse_number(words[i], extent))
        throw usage_error("tensor '" + tensor.name + "' has extent '" + std::string(words[i]) +
                          "'; it must be a whole number from 1 to 2^31");
      tensor.shape.push_back(extent);
    }
    tensors.push_back(std::move(tensor));
  }
  check_names(tensors);
  return tensors;
}

std::string tensor_line(std::span<const NamedTensor> tensors) {
  if (tensors.empty()) throw usage_error("a model has 0 tensors; it must have at least 1");
  check_names(tensors);
  std::string line;
  for (const NamedTensor& tensor : tensors) {
    line += (line.empty() ? "" : " | ") + std::string(kWord) + " " + tensor.name;
    for (const std::int64_t extent : tensor.shape) line += " " + std::to_string(extent);
  }
  if (line.size() > kMaxTensorLine)
    throw usage_error("the model's line has " + std::to_string(line.size()) + " characters; at most " +
                      std::to_string(kMaxTensorLine) + " are supported");
  return line;
}

}  // namespace fedstride
