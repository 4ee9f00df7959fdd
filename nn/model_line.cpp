#include "nn/model_line.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/family.hpp"
#include "core/text.hpp"
#include "nn/layer_words.hpp"

namespace fedstride {
namespace {

constexpr int kMaxUnits = 1 << 20;
constexpr int kMaxChannels = 1 << 16;

/// Height and width after square windows of that kernel and stride; throws if there is no picture or no room.
Flow windows(const Flow& input, int channels, int kernel, int stride, int padding, const LayerPlace& place) {
  if (input.form != Flow::Form::picture)
    throw usage_error(place.name() + " needs a picture, but reads a row of " + std::to_string(input.shape.size()) +
                      " values; it must stand before flatten and dense, and data that are features have no picture");
  const int room = std::min(input.shape.height, input.shape.width) + 2 * padding;
  if (kernel > room)
    throw usage_error(place.name() + " does not fit a " + input.shape.text() + " picture: its kernel may be 1 to " +
                      std::to_string(room));
  const auto positions = [&](int side) { return (side + 2 * padding - kernel) / stride + 1; };
  return {Shape{positions(input.shape.height), positions(input.shape.width), channels}, Flow::Form::picture};
}

TensorForm weight_form(ParameterLayout layout, std::vector<std::int64_t> shape) {
  return {ParameterRole::weight, layout, std::move(shape)};
}

/// A number an output or a channel.
TensorForm vector_form(ParameterRole role, int size) { return {role, ParameterLayout::same, {size}}; }

// conv

constexpr std::string_view syntax(const Conv&) { return "conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]"; }

void read(Conv& conv, Words& words, int) {
  conv.channels = words.whole("the number of channels", 1, kMaxChannels);
  conv.kernel = words.whole("the kernel", 1, kMaxKernel);
  words.options({{"stride", &conv.stride, 1}, {"pad", &conv.padding, 0}}, &conv.bias, 2);
  if (conv.padding >= conv.kernel) words.complain("pad must be smaller than the kernel, not " + std::to_string(conv.padding));
}

std::string text(const Conv& conv) {
  std::string result = std::to_string(conv.channels) + ' ' + std::to_string(conv.kernel);
  if (conv.stride != 1) result += " stride " + std::to_string(conv.stride);
  if (conv.padding != 0) result += " pad " + std::to_string(conv.padding);
  return conv.bias ? result : result + " nobias";
}

Flow output(const Conv& conv, const Flow& input, const LayerPlace& place) {
  return windows(input, conv.channels, conv.kernel, conv.stride, conv.padding, place);
}

LayerTensorForms tensors(const Conv& conv, Shape input) {
  LayerTensorForms result{"conv",
                          {weight_form(ParameterLayout::convolution, {conv.channels, input.channels, conv.kernel, conv.kernel})}};
  if (conv.bias) result.forms.push_back(vector_form(ParameterRole::bias, conv.channels));
  return result;
}

// maxpool, avgpool

template <class Layer>
concept Pool = std::same_as<Layer, MaxPool> || std::same_as<Layer, AvgPool>;

constexpr std::string_view syntax(const MaxPool&) { return "maxpool KERNEL [STRIDE] [pad P]"; }
constexpr std::string_view syntax(const AvgPool&) { return "avgpool KERNEL [STRIDE] [pad P]"; }

template <Pool P>
void read(P& pool, Words& words, int) {
  pool.kernel = words.whole("the kernel", 1, kMaxKernel);
  pool.stride = words.next_is_number() ? words.whole("the stride", 1, kMaxKernel) : pool.kernel;
  words.options({{"pad", &pool.padding, 0}});
  if (2 * pool.padding > pool.kernel)
    words.complain("pad must be at most half of the kernel, not " + std::to_string(pool.padding));
}

template <Pool P>
std::string text(const P& pool) {
  const std::string words = std::to_string(pool.kernel) + ' ' + std::to_string(pool.stride);
  return pool.padding == 0 ? words : words + " pad " + std::to_string(pool.padding);
}

template <Pool P>
Flow output(const P& pool, const Flow& input, const LayerPlace& place) {
  return windows(input, input.shape.channels, pool.kernel, pool.stride, pool.padding, place);
}

// globalavgpool

Flow output(const GlobalAvgPool&, const Flow& input, const LayerPlace& place) {
  const Flow one = windows(input, input.shape.channels, 1, 1, 0, place);
  return {Shape{1, 1, one.shape.channels}, one.form};
}

// dense

constexpr std::string_view syntax(const Dense&) { return "dense UNITS|classes [nobias]"; }

void read(Dense& dense, Words& words, int classes) {
  dense.units = words.takes("classes") ? classes : words.whole("the number of units", 1, kMaxUnits);
  words.options({}, &dense.bias);
}

std::string text(const Dense& dense) { return std::to_string(dense.units) + (dense.bias ? "" : " nobias"); }

Flow output(const Dense& dense, const Flow&, const LayerPlace&) { return {Shape{1, 1, dense.units}, Flow::Form::row}; }

LayerTensorForms tensors(const Dense& dense, Shape input) {
  LayerTensorForms result{"fc", {weight_form(ParameterLayout::dense, {dense.units, static_cast<std::int64_t>(input.size())})}};
  if (dense.bias) result.forms.push_back(vector_form(ParameterRole::bias, dense.units));
  return result;
}

// leakyrelu

constexpr std::string_view syntax(const LeakyRelu&) { return "leakyrelu [SLOPE]"; }
void read(LeakyRelu& relu, Words& words, int) {
  if (!words.done()) relu.slope = words.fraction_below_one("the slope");
}
std::string text(const LeakyRelu& relu) { return number_text(relu.slope); }

// dropout

constexpr std::string_view syntax(const Dropout&) { return "dropout RATE"; }
void read(Dropout& dropout, Words& words, int) { dropout.rate = words.fraction_below_one("the rate"); }
std::string text(const Dropout& dropout) { return number_text(dropout.rate); }

// flatten

Flow output(const Flatten&, const Flow& input, const LayerPlace&) {
  const Shape row{1, 1, static_cast<int>(input.shape.size())};
  if (input.form != Flow::Form::picture) return {row, input.form};
  const bool reordered = input.shape.channels > 1 && row != input.shape;
  return {row, reordered ? Flow::Form::flattened_picture : Flow::Form::row};
}

// groupnorm

constexpr std::string_view syntax(const GroupNorm&) { return "groupnorm GROUPS"; }
void read(GroupNorm& norm, Words& words, int) { norm.groups = words.whole("the number of groups", 1, kMaxUnits); }
std::string text(const GroupNorm& norm) { return std::to_string(norm.groups); }

Flow output(const GroupNorm& norm, const Flow& input, const LayerPlace& place) {
  const int channels = input.shape.channels;
  if (input.form == Flow::Form::flattened_picture)
    throw usage_error(place.name() + " reads a flattened picture, which has no channels; it must stand before flatten");
  if (channels % norm.groups != 0) {
    int below = std::min(norm.groups, channels), above = norm.groups;
    while (channels % below != 0) --below;
    while (above < channels && channels % above != 0) ++above;
    throw usage_error(place.name() + " cannot split " + std::to_string(channels) +
                      " channels into groups of equal size; nearest: " + std::to_string(below) +
                      (channels % above == 0 ? " or " + std::to_string(above) : ""));
  }
  if (input.shape.size() == static_cast<std::size_t>(norm.groups))
    throw usage_error(place.name() + " has groups of one value, which have no variance; there are " +
                      std::to_string(input.shape.size()) + " values for its groups to share");
  return input;
}

LayerTensorForms tensors(const GroupNorm&, Shape input) {
  return {"gn", {vector_form(ParameterRole::scale, input.channels), vector_form(ParameterRole::shift, input.channels)}};
}

// layernorm

Flow output(const LayerNorm&, const Flow& input, const LayerPlace& place) {
  if (input.form == Flow::Form::flattened_picture)
    throw usage_error(place.name() + " reads a flattened picture, which has no channels; it must stand before flatten");
  if (input.shape.channels == 1)
    throw usage_error(place.name() + " reads " + input.shape.text() +
                      ": one channel has no variance; two channels at least are needed");
  return input;
}

LayerTensorForms tensors(const LayerNorm&, Shape input) {
  return {"ln", {vector_form(ParameterRole::scale, input.channels), vector_form(ParameterRole::shift, input.channels)}};
}

// subsample

std::string text(const Subsample& shortcut) { return std::to_string(shortcut.channels) + ' ' + std::to_string(shortcut.stride); }

Flow output(const Subsample& shortcut, const Flow& input, const LayerPlace& place) {
  return windows(input, shortcut.channels, 1, shortcut.stride, 0, place);
}

// Defaults: a layer without settings has no further words, one that leaves every value in its place does not change the
// shape.

template <class Layer>
  requires std::is_empty_v<Layer>
constexpr std::string_view syntax(const Layer&) { return Layer::kName; }
template <class Layer>
  requires std::is_empty_v<Layer>
void read(Layer&, Words&, int) {}
template <class Layer>
  requires std::is_empty_v<Layer> std::string text(const Layer&) { return {}; }
template <class Layer>
  requires Layer::kKeepsPlaces Flow output(const Layer&, const Flow& input, const LayerPlace&) { return input; }

}  // namespace

Layer read_layer(const LayerPlace& place, int classes) {
  const std::string_view name = split(place.text, ' ').front();
  if (name.starts_with("batchnorm"))
    throw usage_error(place.name() +
                      " is refused: batch norm mixes the examples of a batch, so none has a gradient of its own, and its running "
                      "statistics are no part of the average of models; use groupnorm GROUPS");
  return std::visit(
      [&](auto part) -> Layer {
        Words words(place, syntax(part));
        read(part, words, classes);
        words.end();
        return part;
      },
      make_part<WrittenLayer>("layer " + std::to_string(place.number), name));
}

std::string layer_text(const Layer& layer) {
  return std::visit(
      []<class Part>(const Part& part) {
        const std::string words = text(part);
        return std::string(Part::kName) + (words.empty() ? "" : " ") + words;
      },
      layer);
}

Flow layer_output(const Layer& layer, const Flow& input, const LayerPlace& place) {
  const Flow flow = std::visit([&](const auto& part) { return output(part, input, place); }, layer);
  if (flow.shape.size() > kMaxValues)
    throw usage_error(place.name() + " makes " + std::to_string(flow.shape.size()) + " values of one example; at most " +
                      std::to_string(kMaxValues) + " are supported");
  return flow;
}

LayerTensorForms layer_tensors(const Layer& layer, Shape input) {
  return std::visit(
      [&]<class Part>(const Part& part) {
        if constexpr (Part::kHasParameters)
          return tensors(part, input);
        else
          return LayerTensorForms{};
      },
      layer);
}

}  // namespace fedstride
