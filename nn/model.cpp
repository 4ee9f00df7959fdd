#include "nn/model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/family.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "nn/model_blocks.hpp"
#include "nn/models.hpp"
#include "nn/pytorch_layout.hpp"
#include "nn/tensor_line.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kAlignment = 16;  // floats: 64 bytes
constexpr std::size_t kMaxParameters = std::size_t{1} << 31;
constexpr std::size_t kMaxLineLength = 20'000;

std::size_t aligned(std::size_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

/// The line of a named model, or the text itself if it is a line of layers.
std::string_view resolve_name(std::string_view text) {
  if (const auto* named = find_named_model(text)) return named->line;
  const auto layers = part_names<WrittenLayer>();
  const bool one_word = text.find_first_of(" \t\r\n|{}") == std::string_view::npos;
  if (one_word && std::find(layers.begin(), layers.end(), text) == layers.end()) {
    std::vector<std::string> names;
    names.reserve(kNamedModels.size());
    for (const auto& model : kNamedModels) names.emplace_back(model.name);
    throw usage_error(unknown_name("model", text, names) + ", or a line of layers such as 'dense 100 | relu | dense classes'");
  }
  return text;
}

std::string_view layer_name(const Parameter& parameter) {
  return std::string_view(parameter.name).substr(0, parameter.name.find('.'));
}

}  // namespace

void Model::add(Parameter parameter, const std::string& where) {
  std::size_t size = 1;
  for (const auto extent : parameter.shape)
    if ((size *= static_cast<std::size_t>(extent)) > kMaxParameters) break;
  if (size > kMaxParameters || size_ + size > kMaxParameters)
    throw usage_error(where + " takes the model beyond 2^31 parameters, the maximum supported");
  parameter.offset = size_;
  parameter.size = size;
  size_ = aligned(size_ + size);
  parameters_.push_back(std::move(parameter));
}

Model Model::of_tensors(std::string_view line, const ExampleForm& examples) {
  Model model;
  model.form_ = examples;
  const std::vector<NamedTensor> tensors = parse_tensor_line(line);
  for (const NamedTensor& tensor : tensors)
    model.add({.name = tensor.name, .role = ParameterRole::shift, .shape = tensor.shape}, "tensor '" + tensor.name + "'");
  model.line_ = tensor_line(tensors);
  return model;
}

Model Model::parse(std::string_view name_or_layers, const ExampleForm& examples) {
  if (is_tensor_line(name_or_layers)) return of_tensors(name_or_layers, examples);
  const Shape input = examples.shape;
  const int classes = examples.outputs;
  assert(input.height >= 1 && input.width >= 1 && input.channels >= 1 && classes >= 1);
  if (name_or_layers.size() > kMaxLineLength)
    throw usage_error("the model's line has " + std::to_string(name_or_layers.size()) + " characters; at most " +
                      std::to_string(kMaxLineLength) + " are supported");
  const std::size_t places = static_cast<std::size_t>(input.height) * static_cast<std::size_t>(input.width);
  if (places > kMaxValues || places * static_cast<std::size_t>(input.channels) > kMaxValues)
    throw usage_error("an example of " + input.text() + " has too many values; at most " + std::to_string(kMaxValues) +
                      " are supported");
  Model model;
  model.form_ = examples;
  model.shapes_.push_back(input);
  model.sequences_.push_back(false);
  Flow first{input, input.height > 1 || input.width > 1 ? Flow::Form::picture : Flow::Form::row};
  if (examples.vocabulary > 0) first.form = Flow::Form::tokens;
  LaidLine laid = lay_out(resolve_name(trimmed(name_or_layers)), first, examples);
  std::map<std::string_view, int> counted;
  const auto add = [&](const std::string& name, TensorForm form, const LayerPlace& place, int layer) {
    model.add({.name = name + '.' + std::string(form.name.empty() ? pytorch_name(form.role) : form.name),
               .role = form.role,
               .layout = form.layout,
               .shape = std::move(form.shape),
               .layer = layer,
               .fan_in = form.fan_in},
              place.name());
  };
  for (const LaidLayer& item : laid.layers) {
    if (auto tensors = layer_tensors(item.layer, item.input); !tensors.forms.empty()) {
      const std::string name = std::string(tensors.prefix) + std::to_string(++counted[tensors.prefix]);
      for (auto& form : tensors.forms) add(name, std::move(form), item.place, static_cast<int>(model.layers_.size()));
    }
    model.layers_.push_back(item.layer);
    model.shapes_.push_back(item.output.shape);
    model.sequences_.push_back(item.output.form == Flow::Form::sequence);
    model.reads_.push_back({item.from, item.added});
  }
  const auto* last = std::get_if<Dense>(&model.layers_.back());
  if (last == nullptr || last->units != classes)
    throw usage_error(laid.layers.back().place.name() +
                      " cannot be the last layer: a model must end in 'dense classes', here 'dense " + std::to_string(classes) +
                      "'");
  const bool by_position = examples.targets == Targets::positions;
  if (by_position != model.sequences_.back())
    throw usage_error(
        laid.layers.back().place.name() +
        (by_position ? " outputs one row of scores, but the examples have a label at every position: the model must end in a "
                       "sequence, without 'last'"
                     : " outputs scores at every position, but each example has one answer: put 'last', or another layer "
                       "that leaves one row, before it"));
  const std::string last_text = "dense " + std::to_string(classes);
  model.line_ = std::move(laid.text);
  model.line_.replace(model.line_.rfind(last_text), last_text.size(), "dense classes");
  return model;
}

const Parameter* Model::find(std::string_view name) const {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

std::size_t Model::parameter_count() const {
  std::size_t count = 0;
  for (const auto& parameter : parameters_) count += parameter.size;
  return count;
}

Vector Model::initial(Initialization initialization, std::uint64_t seed) const {
  Vector weights(size_);
  double layer_bound = 1;
  for (std::size_t index = 0; index < parameters_.size(); ++index) {
    const Parameter& parameter = parameters_[index];
    const bool glorot = initialization == Initialization::glorot;
    double bound = 0;
    switch (parameter.role) {
      case ParameterRole::table: {  // like PyTorch's embedding
        RandomStream random(seed, {.purpose = Purpose::initial_weights, .client = static_cast<std::uint32_t>(index)});
        for (float& value : view(weights).subspan(parameter.offset, parameter.size)) value = static_cast<float>(random.normal());
        continue;
      }
      case ParameterRole::weight:
      case ParameterRole::second_weight: {
        const auto outputs = static_cast<double>(parameter.shape[0]);
        const double own = static_cast<double>(parameter.size) / outputs;
        const double fan_in = parameter.fan_in > 0 && !glorot ? static_cast<double>(parameter.fan_in) : own;
        const double fan_out = outputs * own / static_cast<double>(parameter.shape[1]);
        layer_bound = 1 / std::sqrt(initialization == Initialization::fan_out ? fan_out : fan_in);
        bound = glorot ? std::sqrt(6 / (fan_in + fan_out)) : layer_bound;
        break;
      }
      case ParameterRole::bias:  // has the bound of its weight, which precedes it
      case ParameterRole::second_bias:
        bound = glorot ? 0 : layer_bound;
        break;
      case ParameterRole::running_variance:
      case ParameterRole::scale:
        std::ranges::fill(view(weights).subspan(parameter.offset, parameter.size), 1.0F);
        continue;
      case ParameterRole::running_mean:
      case ParameterRole::shift:
        continue;
    }
    // Values are drawn in PyTorch's order, so the result does not depend on the internal layout.
    RandomStream random(seed, {.purpose = Purpose::initial_weights, .client = static_cast<std::uint32_t>(index)});
    for_each_in_pytorch_order(*this, parameter, [&](std::size_t inside) {
      weights[parameter.offset + inside] = static_cast<float>(bound * (2 * static_cast<double>(random.uniform_float()) - 1));
    });
  }
  return weights;
}

std::vector<RunningStatistics> Model::running_statistics() const {
  std::vector<RunningStatistics> all;
  for (const Parameter& parameter : parameters_) {
    if (parameter.role == ParameterRole::running_mean) all.push_back({parameter.offset, 0, parameter.size});
    if (parameter.role == ParameterRole::running_variance) all.back().variance = parameter.offset;  // follows its means
  }
  return all;
}

std::vector<bool> Model::layers_named(std::string_view names, std::string_view purpose) const {
  std::vector<bool> flags(layers_.size(), false);
  if (trimmed(names).empty()) return flags;
  if (!has_layers())
    throw usage_error(std::string(purpose) + " '" + std::string(names) +
                      "': the model consists of tensors only and has no layers");
  std::vector<std::string> valid;
  for (const auto& parameter : parameters_)
    if (valid.empty() || valid.back() != layer_name(parameter)) valid.emplace_back(layer_name(parameter));
  for (const auto piece : split(names, ',')) {
    const auto name = trimmed(piece);
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) throw usage_error(unknown_name(purpose, name, valid));
    for (const auto& parameter : parameters_)
      if (layer_name(parameter) == name) flags[static_cast<std::size_t>(parameter.layer)] = true;
  }
  return flags;
}

}  // namespace fedstride
