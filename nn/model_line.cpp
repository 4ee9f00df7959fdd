#include "nn/model_line.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/family.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr int kMaxKernel = 1024;

/// The words after a layer's name, taken one by one.
class Words {
 public:
  Words(const LayerPlace& place, std::string_view syntax) : place_(place), syntax_(syntax) {
    for (const auto word : split(place.text, ' ')) words_.push_back(word);
  }

  bool done() const { return next_ == words_.size(); }
  bool takes(std::string_view word) {
    if (done() || words_[next_] != word) return false;
    ++next_;
    return true;
  }

  int whole(std::string_view what, int low, int high) {
    int value = 0;
    const auto word = take(what);
    if (!parse_number(word, value) || value < low || value > high)
      fail(std::string(what) + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", not '" +
           std::string(word) + "'");
    return value;
  }

  double share(std::string_view what) {
    double value = 0;
    const auto word = take(what);
    if (!parse_number(word, value) || !(value > 0 && value <= 1))
      fail(std::string(what) + " must be a number above 0 and up to 1, not '" + std::string(word) + "'");
    return value;
  }

  double fraction_below_one(std::string_view what) {
    double value = 0;
    const auto word = take(what);
    if (!parse_number(word, value) || !(value >= 0 && value < 1))
      fail(std::string(what) + " must be a number from 0 to below 1, not '" + std::string(word) + "'");
    return value;
  }

  struct Option {
    std::string_view word;
    int* value;  ///< the number after the word
    int low;
  };
  /// Reads the remaining words: up to `positional` numbers for the first options, in order; then options in any order, each at
  /// most once, and the word "nobias" if `bias` is not null.
  void options(std::initializer_list<Option> options, bool* bias = nullptr, int positional = 0) {
    std::vector<std::string_view> seen;
    for (const Option* option = options.begin(); positional-- > 0 && next_is_number(); ++option) {
      *option->value = whole(option->word, option->low, kMaxKernel);
      seen.push_back(option->word);
    }
    while (!done()) {
      const auto word = take("an option");
      if (std::find(seen.begin(), seen.end(), word) != seen.end()) fail("'" + std::string(word) + "' is given twice");
      seen.push_back(word);
      if (bias != nullptr && word == "nobias") {
        *bias = false;
        continue;
      }
      const auto option =
          std::find_if(options.begin(), options.end(), [&](const Option& candidate) { return candidate.word == word; });
      if (option == options.end()) fail("'" + std::string(word) + "' is not understood");
      *option->value = whole(option->word, option->low, kMaxKernel);
    }
  }

  bool next_is_number() const { return !done() && words_[next_].front() >= '0' && words_[next_].front() <= '9'; }

  void end() const {
    if (!done()) fail("'" + std::string(words_[next_]) + "' is not understood");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw usage_error(place_.name() + ": " + what + "; syntax: " + std::string(syntax_));
  }

 private:
  std::string_view take(std::string_view what) {
    if (done()) fail(std::string(what) + " is missing");
    return words_[next_++];
  }

  const LayerPlace& place_;
  std::string_view syntax_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 1;
};

constexpr int kMaxUnits = 1 << 20;
constexpr int kMaxChannels = 1 << 16;

/// Refuses a sequence as the input of a layer that needs an image or a row.
void no_sequence(const Flow& input, const LayerPlace& place, std::string_view instead) {
  if (input.form == Flow::Form::sequence)
    throw usage_error(place.name() + " cannot read a sequence of " + std::to_string(input.shape.height) + " positions; " +
                      std::string(instead));
}

/// Refuses a flattened image as the input of a layer that reads channels.
void no_flattened_picture(const Flow& input, const LayerPlace& place) {
  if (input.form == Flow::Form::flattened_picture)
    throw usage_error(place.name() + " reads a flattened image, which has no channels; put it before flatten");
}

/// The output of square windows of this kernel and stride; throws if the input is not an image or the window does not fit.
Flow windows(const Flow& input, int channels, int kernel, int stride, int padding, const LayerPlace& place) {
  no_sequence(input, place, "it needs an image");
  if (input.form != Flow::Form::picture)
    throw usage_error(place.name() + " needs an image, but its input is a row of " + std::to_string(input.shape.size()) +
                      " values; put it before flatten and dense (tabular data contain no images)");
  const int room = std::min(input.shape.height, input.shape.width) + 2 * padding;
  if (kernel > room)
    throw usage_error(place.name() + " does not fit a " + input.shape.text() + " image: its kernel size must be from 1 to " +
                      std::to_string(room));
  const auto positions = [&](int side) { return (side + 2 * padding - kernel) / stride + 1; };
  return {Shape{positions(input.shape.height), positions(input.shape.width), channels}, Flow::Form::picture};
}

TensorForm weight_form(ParameterLayout layout, std::vector<std::int64_t> shape) {
  return {ParameterRole::weight, layout, std::move(shape)};
}

/// One number per output or channel.
TensorForm vector_form(ParameterRole role, int size) { return {role, ParameterLayout::same, {size}}; }

// conv

constexpr std::string_view syntax(const Conv&) { return "conv CHANNELS KERNEL [STRIDE [PAD]] [stride S] [pad P] [nobias]"; }

void read(Conv& conv, Words& words, const ExampleForm&) {
  conv.channels = words.whole("the number of channels", 1, kMaxChannels);
  conv.kernel = words.whole("the kernel size", 1, kMaxKernel);
  words.options({{"stride", &conv.stride, 1}, {"pad", &conv.padding, 0}}, &conv.bias, 2);
  if (conv.padding >= conv.kernel) words.fail("pad must be smaller than the kernel size, not " + std::to_string(conv.padding));
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

LayerTensorForms tensors(const Conv& conv, const Flow& flow) {
  const Shape input = flow.shape;
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
void read(P& pool, Words& words, const ExampleForm&) {
  pool.kernel = words.whole("the kernel size", 1, kMaxKernel);
  pool.stride = words.next_is_number() ? words.whole("the stride", 1, kMaxKernel) : pool.kernel;
  words.options({{"pad", &pool.padding, 0}});
  if (2 * pool.padding > pool.kernel) words.fail("pad must be at most half the kernel size, not " + std::to_string(pool.padding));
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

constexpr std::string_view syntax(const Dense&) { return "dense UNITS|classes|outputs [nobias]"; }

void read(Dense& dense, Words& words, const ExampleForm& examples) {
  const bool all = words.takes("classes") || words.takes("outputs");
  dense.units = all ? examples.outputs : words.whole("the number of units", 1, kMaxUnits);
  words.options({}, &dense.bias);
}

std::string text(const Dense& dense) { return std::to_string(dense.units) + (dense.bias ? "" : " nobias"); }

Flow output(const Dense& dense, const Flow& input, const LayerPlace&) {
  if (input.form == Flow::Form::sequence) return {Shape{input.shape.height, 1, dense.units}, input.form};
  return {Shape{1, 1, dense.units}, Flow::Form::row};
}

LayerTensorForms tensors(const Dense& dense, const Flow& input) {
  const std::size_t inputs =
      input.form == Flow::Form::sequence ? static_cast<std::size_t>(input.shape.channels) : input.shape.size();
  LayerTensorForms result{"fc", {weight_form(ParameterLayout::dense, {dense.units, static_cast<std::int64_t>(inputs)})}};
  if (dense.bias) result.forms.push_back(vector_form(ParameterRole::bias, dense.units));
  return result;
}

// leakyrelu

constexpr std::string_view syntax(const LeakyRelu&) { return "leakyrelu [SLOPE]"; }
void read(LeakyRelu& relu, Words& words, const ExampleForm&) {
  if (!words.done()) relu.slope = words.fraction_below_one("the slope");
}
std::string text(const LeakyRelu& relu) { return number_text(relu.slope); }

// dropout

constexpr std::string_view syntax(const Dropout&) { return "dropout RATE"; }
void read(Dropout& dropout, Words& words, const ExampleForm&) { dropout.rate = words.fraction_below_one("the rate"); }
std::string text(const Dropout& dropout) { return number_text(dropout.rate); }

// flatten

Flow output(const Flatten&, const Flow& input, const LayerPlace& place) {
  no_sequence(input, place, "put 'last' before it to keep only the last position");
  const Shape row{1, 1, static_cast<int>(input.shape.size())};
  if (input.form != Flow::Form::picture) return {row, input.form};
  const bool reordered = input.shape.channels > 1 && row != input.shape;
  return {row, reordered ? Flow::Form::flattened_picture : Flow::Form::row};
}

// groupnorm

constexpr std::string_view syntax(const GroupNorm&) { return "groupnorm GROUPS"; }
void read(GroupNorm& norm, Words& words, const ExampleForm&) { norm.groups = words.whole("the number of groups", 1, kMaxUnits); }
std::string text(const GroupNorm& norm) { return std::to_string(norm.groups); }

Flow output(const GroupNorm& norm, const Flow& input, const LayerPlace& place) {
  const int channels = input.shape.channels;
  no_sequence(input, place, "use layernorm for sequences");
  no_flattened_picture(input, place);
  if (channels % norm.groups != 0) {
    int below = std::min(norm.groups, channels), above = norm.groups;
    while (channels % below != 0) --below;
    while (above < channels && channels % above != 0) ++above;
    throw usage_error(place.name() + " cannot split " + std::to_string(channels) +
                      " channels into groups of equal size; nearest valid: " + std::to_string(below) +
                      (channels % above == 0 ? " or " + std::to_string(above) : ""));
  }
  if (input.shape.size() == static_cast<std::size_t>(norm.groups))
    throw usage_error(place.name() + " has groups of one value, which have no variance; its input has only " +
                      std::to_string(input.shape.size()) + " values");
  return input;
}

LayerTensorForms tensors(const GroupNorm&, const Flow& flow) {
  const Shape input = flow.shape;
  return {"gn", {vector_form(ParameterRole::scale, input.channels), vector_form(ParameterRole::shift, input.channels)}};
}

// batchnorm

constexpr std::string_view syntax(const BatchNorm&) { return "batchnorm [MOMENTUM|cumulative]"; }
void read(BatchNorm& norm, Words& words, const ExampleForm&) {
  if (words.takes("cumulative"))
    norm.momentum = 0;
  else if (!words.done())
    norm.momentum = words.share("the momentum");
}
std::string text(const BatchNorm& norm) {
  if (norm.momentum == 0) return "cumulative";
  return norm.momentum == BatchNorm().momentum ? "" : number_text(norm.momentum);
}

Flow output(const BatchNorm&, const Flow& input, const LayerPlace& place) {
  no_sequence(input, place, "use layernorm for sequences");
  no_flattened_picture(input, place);
  return input;
}

LayerTensorForms tensors(const BatchNorm&, const Flow& flow) {
  const int channels = flow.shape.channels;
  return {"bn",
          {vector_form(ParameterRole::scale, channels), vector_form(ParameterRole::shift, channels),
           vector_form(ParameterRole::running_mean, channels), vector_form(ParameterRole::running_variance, channels)}};
}

// embedding, positions

constexpr std::string_view syntax(const Embedding&) { return "embedding SIZE"; }
void read(Embedding& embedding, Words& words, const ExampleForm& examples) {
  embedding.size = words.whole("the size", 1, kMaxUnits);
  embedding.vocabulary = examples.vocabulary;
}
std::string text(const Embedding& embedding) { return std::to_string(embedding.size); }

Flow output(const Embedding& embedding, const Flow& input, const LayerPlace& place) {
  if (input.form != Flow::Form::tokens)
    throw usage_error(place.name() +
                      " needs tokens: it must be the first layer, and the data must be tokens, not numbers or images");
  return {Shape{input.shape.height, 1, embedding.size}, Flow::Form::sequence};
}

LayerTensorForms tensors(const Embedding& embedding, const Flow&) {
  return {"embedding", {{ParameterRole::table, ParameterLayout::same, {embedding.vocabulary, embedding.size}}}};
}

/// Refuses anything but a sequence.
void need_sequence(const Flow& input, const LayerPlace& place) {
  if (input.form == Flow::Form::sequence) return;
  throw usage_error(place.name() + " needs a sequence, but its input is " + input.shape.text() +
                    "; 'sequence' turns the rows of an image into one");
}

Flow output(const Positions&, const Flow& input, const LayerPlace& place) {
  need_sequence(input, place);
  return input;
}

LayerTensorForms tensors(const Positions&, const Flow& input) {
  return {"positions", {{ParameterRole::table, ParameterLayout::same, {input.shape.height, input.shape.channels}}}};
}

// lstm, gru

template <class Layer>
concept Recurrent = std::same_as<Layer, Lstm> || std::same_as<Layer, Gru>;

constexpr std::string_view syntax(const Lstm&) { return "lstm UNITS"; }
constexpr std::string_view syntax(const Gru&) { return "gru UNITS"; }

template <Recurrent R>
void read(R& layer, Words& words, const ExampleForm&) {
  layer.units = words.whole("the number of units", 1, kMaxUnits);
}
template <Recurrent R>
std::string text(const R& layer) {
  return std::to_string(layer.units);
}

template <Recurrent R>
Flow output(const R& layer, const Flow& input, const LayerPlace& place) {
  need_sequence(input, place);
  return {Shape{input.shape.height, 1, layer.units}, Flow::Form::sequence};
}

template <Recurrent R>
LayerTensorForms tensors(const R& layer, const Flow& input) {
  const std::int64_t units = layer.units, gates = (std::same_as<R, Lstm> ? 4 : 3) * units;
  return {R::kName,
          {{ParameterRole::weight, ParameterLayout::dense, {gates, input.shape.channels}, "weight_ih_l0", units},
           {ParameterRole::bias, ParameterLayout::same, {gates}, "bias_ih_l0"},
           {ParameterRole::second_weight, ParameterLayout::dense, {gates, units}, "weight_hh_l0", units},
           {ParameterRole::second_bias, ParameterLayout::same, {gates}, "bias_hh_l0"}}};
}

// attention

constexpr std::string_view syntax(const Attention&) { return "attention HEADS"; }
void read(Attention& attention, Words& words, const ExampleForm&) {
  attention.heads = words.whole("the number of heads", 1, kMaxUnits);
}
std::string text(const Attention& attention) { return std::to_string(attention.heads); }

Flow output(const Attention& attention, const Flow& input, const LayerPlace& place) {
  need_sequence(input, place);
  if (input.shape.channels % attention.heads != 0)
    throw usage_error(place.name() + " cannot split " + std::to_string(input.shape.channels) +
                      " values evenly among its heads; the number of heads must divide them");
  return input;
}

LayerTensorForms tensors(const Attention&, const Flow& input) {
  const std::int64_t size = input.shape.channels;
  return {"attention",
          {{ParameterRole::weight, ParameterLayout::dense, {3 * size, size}, "in_proj_weight"},
           {ParameterRole::bias, ParameterLayout::same, {3 * size}, "in_proj_bias"},
           {ParameterRole::second_weight, ParameterLayout::dense, {size, size}, "out_proj.weight"},
           {ParameterRole::second_bias, ParameterLayout::same, {size}, "out_proj.bias"}}};
}

// last, sequence

Flow output(const Last&, const Flow& input, const LayerPlace& place) {
  need_sequence(input, place);
  return {Shape{1, 1, input.shape.channels}, Flow::Form::row};
}

Flow output(const Sequence&, const Flow& input, const LayerPlace& place) {
  if (input.form != Flow::Form::picture)
    throw usage_error(place.name() + " needs an image, whose rows become positions, but its input is " + input.shape.text());
  return {Shape{input.shape.height, 1, input.shape.width * input.shape.channels}, Flow::Form::sequence};
}

// layernorm

Flow output(const LayerNorm&, const Flow& input, const LayerPlace& place) {
  no_flattened_picture(input, place);
  if (input.shape.channels == 1)
    throw usage_error(place.name() + " reads " + input.shape.text() +
                      ": one channel has no variance; at least two channels are needed");
  return input;
}

LayerTensorForms tensors(const LayerNorm&, const Flow& flow) {
  const Shape input = flow.shape;
  return {"ln", {vector_form(ParameterRole::scale, input.channels), vector_form(ParameterRole::shift, input.channels)}};
}

// subsample

std::string text(const Subsample& shortcut) { return std::to_string(shortcut.channels) + ' ' + std::to_string(shortcut.stride); }

Flow output(const Subsample& shortcut, const Flow& input, const LayerPlace& place) {
  return windows(input, shortcut.channels, 1, shortcut.stride, 0, place);
}

// Defaults: a layer without settings has no further words; a layer that keeps all values in place keeps the shape.

template <class Layer>
  requires std::is_empty_v<Layer>
constexpr std::string_view syntax(const Layer&) { return Layer::kName; }
template <class Layer>
  requires std::is_empty_v<Layer>
void read(Layer&, Words&, const ExampleForm&) {}
template <class Layer>
  requires std::is_empty_v<Layer> std::string text(const Layer&) { return {}; }
template <class Layer>
  requires(Layer::kTraits.keeps_places)
Flow output(const Layer&, const Flow& input, const LayerPlace&) { return input; }

}  // namespace

Layer read_layer(const LayerPlace& place, const ExampleForm& examples) {
  const std::string_view name = split(place.text, ' ').front();
  return std::visit(
      [&](auto part) -> Layer {
        static_assert(
            requires(Words rest) { syntax(part), read(part, rest, examples), text(part); },
            "a layer with settings needs syntax, read and text in nn/model_line.cpp");
        Words words(place, syntax(part));
        read(part, words, examples);
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
  if (input.form == Flow::Form::tokens && !std::holds_alternative<Embedding>(layer))
    throw usage_error(place.name() + " cannot read tokens; 'embedding SIZE' must come before it");
  const Flow flow = std::visit(
      [&](const auto& part) {
        static_assert(
            requires { output(part, input, place); }, "a layer that does not keep places needs output in nn/model_line.cpp");
        return output(part, input, place);
      },
      layer);
  if (flow.shape.size() > kMaxValues)
    throw usage_error(place.name() + " outputs " + std::to_string(flow.shape.size()) + " values per example; at most " +
                      std::to_string(kMaxValues) + " are supported");
  return flow;
}

LayerTensorForms layer_tensors(const Layer& layer, const Flow& input) {
  return std::visit(
      [&]<class Part>(const Part& part) {
        if constexpr (Part::kTraits.has_parameters) {
          static_assert(
              requires { tensors(part, input); }, "a layer with parameters needs tensors in nn/model_line.cpp");
          return tensors(part, input);
        } else {
          return LayerTensorForms{};
        }
      },
      layer);
}

}  // namespace fedstride
