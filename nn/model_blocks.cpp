#include "nn/model_blocks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

/// A layer or the beginning of a block, in reading order.
struct WrittenItem {
  enum class Kind { layer, repeat, residual };
  Kind kind = Kind::layer;
  LayerPlace place;     ///< of a block: the number of its first layer, and the words before '{'
  int times = 1;        ///< repeat
  bool pads = false;    ///< residual: option A
  std::size_t end = 0;  ///< index of the first item after this one and its contents
};

constexpr std::string_view kBlockForms = "residual { LAYERS }, residual pad { LAYERS }, repeat N { LAYERS }";

/// Words separated by single spaces, without spaces around them.
std::string one_space(std::string_view text) {
  std::string result;
  for (const char character : text) {
    const bool blank = character == ' ' || (character >= '\t' && character <= '\r');
    if (!blank)
      result += character;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

Error too_many_layers() {
  return usage_error("the model has more than " + std::to_string(kMaxLayers) + " layers, the maximum supported");
}

/// Splits a line into items. Time and memory are linear in its length. Throws Error (usage) for empty layers and blocks, blocks
/// that are not closed, not opened, nested too deeply or unknown, and more than kMaxLayers layers. A piece ends at '|', '{', '}' or
/// the end of the line.
class LineReader {
 public:
  std::vector<WrittenItem> read(std::string_view line) {
    std::size_t begin = 0;
    for (;;) {
      const std::size_t end = std::min(line.find_first_of("|{}", begin), line.size());
      const char mark = end < line.size() ? line[end] : '\0';
      const std::string text = one_space(line.substr(begin, end - begin));
      if (mark == '{')
        open(text);
      else
        take(text, mark);
      if (mark == '}') close();
      if (mark == '\0') break;
      begin = end + 1;
    }
    if (!open_.empty()) {
      const LayerPlace& place = items_[open_.back().item].place;
      throw usage_error("the block '" + place.text + " {' before layer " + std::to_string(place.number) +
                        " is not closed: a '}' is missing");
    }
    return std::move(items_);
  }

 private:
  struct Open {
    std::size_t item;
    std::size_t layers = 0;  ///< in its body, with nested blocks expanded
  };

  std::string next_layer() const { return "layer " + std::to_string(number_); }
  std::size_t& layers() { return open_.empty() ? layers_ : open_.back().layers; }
  void count(std::size_t more) {
    layers() += more;
    if (layers() > kMaxLayers) throw too_many_layers();
  }

  void take(const std::string& text, char mark) {
    if (after_block_) {  // the piece between a '}' and the next mark
      if (!text.empty())
        throw usage_error("a '}' must be followed by '|', another '}' or the end of the line, not '" + text + "'");
      after_block_ = false;
      return;
    }
    if (text.empty()) {
      if (mark == '}' && !open_.empty() && open_.back().item + 1 == items_.size())
        throw usage_error("the block '" + items_.back().place.text + " { }' before " + next_layer() +
                          " is empty; it must hold at least one layer");
      if (mark == '}' && open_.empty()) throw closes_nothing();
      throw usage_error(next_layer() +
                        " of the model is empty; layers are separated by '|', as in 'dense 100 | relu | dense classes'");
    }
    if (text == "residual" || text.starts_with("residual ") || text == "repeat" || text.starts_with("repeat "))
      throw usage_error(next_layer() + " '" + text + "' begins a block, but no '{' follows; blocks are " +
                        std::string(kBlockForms));
    items_.push_back({.kind = WrittenItem::Kind::layer, .place = {number_++, text}, .end = items_.size() + 1});
    count(1);
  }

  void open(const std::string& text) {
    if (after_block_)
      throw usage_error("a '}' must be followed by '|', another '}' or the end of the line, not '" + one_space(text + " {") +
                        "'");
    const auto words = split(text, ' ');
    WrittenItem item{.kind = WrittenItem::Kind::residual, .place = {number_, text}};
    if (words.front() == "repeat" && words.size() == 2) {
      item.kind = WrittenItem::Kind::repeat;
      if (!parse_number(words[1], item.times) || item.times < 1 || item.times > static_cast<int>(kMaxLayers))
        throw usage_error("the block '" + text + " {' before " + next_layer() +
                          " must be repeated a whole number of times from 1 to " + std::to_string(kMaxLayers) + ", not '" +
                          std::string(words[1]) + "'");
    } else if (text == "residual pad") {
      item.pads = true;
    } else if (text != "residual") {
      throw usage_error("'" + one_space(text + " {") + "' before " + next_layer() + " is not a block; blocks are " +
                        std::string(kBlockForms));
    }
    if (open_.size() == kMaxDepth)
      throw usage_error("the block '" + text + " {' before " + next_layer() + " is nested in more than " +
                        std::to_string(kMaxDepth) + " blocks, the maximum supported");
    open_.push_back({items_.size()});
    items_.push_back(std::move(item));
  }

  Error closes_nothing() const {
    return usage_error("a '}' before " + next_layer() + " closes no block; blocks are " + std::string(kBlockForms));
  }

  void close() {
    if (open_.empty()) throw closes_nothing();
    const Open done = open_.back();
    open_.pop_back();
    WrittenItem& block = items_[done.item];
    block.end = items_.size();
    constexpr std::size_t kResidualLayers = 4;  // fork, projection, its norm, add
    count(block.kind == WrittenItem::Kind::repeat ? done.layers * static_cast<std::size_t>(block.times)
                                                  : done.layers + kResidualLayers);
    after_block_ = true;
  }

  std::vector<WrittenItem> items_;
  std::vector<Open> open_;
  std::size_t layers_ = 0;
  int number_ = 1;  ///< number of the next layer
  bool after_block_ = false;
};

/// The smallest stride at which 1x1 windows lead from one image size to the other.
std::optional<int> stride_between(Shape from, Shape to) {
  constexpr int kMaxStride = 1024;
  const auto leads = [](int before, int after, int stride) { return (before - 1) / stride + 1 == after; };
  for (int stride = 1; stride <= kMaxStride; ++stride)
    if (leads(from.height, to.height, stride) && leads(from.width, to.width, stride)) return stride;
  return std::nullopt;
}

class Layout {
 public:
  Layout(std::vector<WrittenItem> items, const Flow& input, const ExampleForm& examples)
      : items_(std::move(items)), flow_(input) {
    for (const WrittenItem& item : items_)
      read_.push_back(item.kind == WrittenItem::Kind::layer ? read_layer(item.place, examples) : Layer{});
  }

  LaidLine line() {
    place_items(0, items_.size());
    return {std::move(laid_), text(0, items_.size())};
  }

 private:
  int slot() const { return static_cast<int>(laid_.size()); }

  void place(const Layer& layer, const LayerPlace& place, int from, int added = -1) {
    const Flow input = flow_;
    flow_ = layer_output(layer, flow_, place);
    laid_.push_back({layer, place, input, flow_, from, added});
  }

  void place_items(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i = items_[i].end) {
      const WrittenItem& item = items_[i];
      switch (item.kind) {
        case WrittenItem::Kind::layer:
          place(read_[i], item.place, slot());
          break;
        case WrittenItem::Kind::repeat:
          for (int time = 0; time < item.times; ++time) place_items(i + 1, item.end);
          break;
        case WrittenItem::Kind::residual:
          place_residual(i);
          break;
      }
    }
  }

  void place_residual(std::size_t i) {
    const Flow before = flow_;
    place(Fork{}, items_[i].place, slot());
    const int saved = slot();
    place_items(i + 1, items_[i].end);
    const LaidLayer last = laid_.back();
    const int body = slot();
    const Flow after = flow_;
    if (before.shape == after.shape && before.form == after.form) return place(Add{}, last.place, body, saved);
    const auto stride = before.form == Flow::Form::picture && after.form == Flow::Form::picture
                            ? stride_between(before.shape, after.shape)
                            : std::nullopt;
    if (!stride || (items_[i].pads && after.shape.channels < before.shape.channels))
      throw usage_error("the residual block from " + first_of(saved).name() + ", which reads " + before.shape.text() + ", to " +
                        last.place.name() + ", which outputs " + after.shape.text() +
                        ", cannot add its input to its output: " + hint(items_[i].pads, before));
    const Conv projection{.channels = after.shape.channels, .kernel = 1, .stride = *stride, .padding = 0, .bias = false};
    const Layer shortcut =
        items_[i].pads ? Layer(Subsample{.stride = *stride, .channels = after.shape.channels}) : Layer(projection);
    flow_ = before;
    place(shortcut, {last.place.number, "shortcut " + layer_text(shortcut)}, saved);
    const auto* norm = std::get_if<GroupNorm>(&last.layer);
    if (norm != nullptr && !items_[i].pads) place(*norm, {last.place.number, "shortcut " + layer_text(*norm)}, slot());
    place(Add{}, last.place, slot(), body);
  }
  /// The place of the first written layer at or after `layer`.
  const LayerPlace& first_of(int layer) const {
    while (std::holds_alternative<Fork>(laid_[static_cast<std::size_t>(layer)].layer)) ++layer;
    return laid_[static_cast<std::size_t>(layer)].place;
  }
  static std::string hint(bool pads, const Flow& before) {
    if (before.form != Flow::Form::picture)
      return before.form == Flow::Form::sequence ? "a sequence must keep its number of positions and of values per position"
                                                 : "a row must keep its number of values";
    return std::string(
               "height and width must stay the same or be divided by the same stride, rounded up, and an image must stay an "
               "image") +
           (pads ? "; with 'pad' the number of channels must not decrease" : "");
  }

  std::string text(std::size_t first, std::size_t last) const {
    std::string result;
    for (std::size_t i = first; i < last; i = items_[i].end) {
      if (i > first) result += " | ";
      result += items_[i].kind == WrittenItem::Kind::layer ? layer_text(read_[i])
                                                           : items_[i].place.text + " { " + text(i + 1, items_[i].end) + " }";
    }
    return result;
  }

  std::vector<WrittenItem> items_;
  std::vector<Layer> read_;  ///< the layers among the items; others are unused
  Flow flow_;
  std::vector<LaidLayer> laid_;
};

}  // namespace

LaidLine lay_out(std::string_view line, const Flow& input, const ExampleForm& examples) {
  return Layout(LineReader().read(line), input, examples).line();
}

}  // namespace fedstride
