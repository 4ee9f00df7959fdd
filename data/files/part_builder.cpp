#include "data/files/part_builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxRows = 4'000'000'000;
constexpr std::size_t kMaxExampleSize = std::size_t{1} << 24;
constexpr std::size_t kMaxAnswers = std::size_t{1} << 16;
constexpr std::size_t kMaxTokens = 65535;  // 16 bits each; one value marks positions that do not count
constexpr double kLargestClass = 1e9;

std::vector<std::size_t> without_first(const std::vector<std::size_t>& shape) {
  return shape.empty() ? shape : std::vector<std::size_t>(shape.begin() + 1, shape.end());
}

}  // namespace

std::string dimensions_text(const std::vector<std::size_t>& dimensions) {
  std::string text;
  for (const std::size_t size : dimensions) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "one number" : text;
}

namespace {

/// k if the number is the floating-point number closest to k/255 for a whole number k from 0 to 255, else -1.
int in_255ths(auto number) {
  const double whole = std::nearbyint(static_cast<double>(number) * 255);
  const bool is_exact = whole >= 0 && whole <= 255 && number == static_cast<decltype(number)>(whole / 255);
  return is_exact ? static_cast<int>(whole) : -1;
}

/// The string as a whole number; nothing if it is not one or has more than 18 characters.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  return text.size() <= 18 && parse_number(text, number) ? std::optional(number) : std::nullopt;
}

}  // namespace

bool Names::are_whole() const {
  return !names_.empty() && std::ranges::all_of(names_, [](const std::string& name) { return whole_number(name).has_value(); });
}

std::vector<std::uint32_t> Names::sort() {
  std::vector<std::uint32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (are_whole()) {
    std::vector<std::int64_t> keys;
    keys.reserve(names_.size());
    for (const std::string& name : names_) keys.push_back(*whole_number(name));
    std::ranges::stable_sort(order, {}, [&keys](std::uint32_t i) { return keys[i]; });
  } else {
    std::ranges::stable_sort(order, {}, [this](std::uint32_t i) -> const std::string& { return names_[i]; });
  }
  std::vector<std::uint32_t> places(order.size());
  std::vector<std::string> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
    sorted.push_back(std::move(names_[order[place]]));
  }
  names_ = std::move(sorted);
  for (std::uint32_t place = 0; place < names_.size(); ++place) numbers_[names_[place]] = place;
  return places;
}

void PartBuilder::begin_examples(const Array& x, const std::vector<std::size_t>& each) {
  each_ = each;
  examples_key_ = x.key;
  if (x.is_text()) throw wrong(x.key, "strings, " + x.type_text() + "; examples must be numbers");
  if (each.size() > 3)
    throw wrong(x.key, "examples of " + std::to_string(each.size()) +
                           " dimensions; valid: numbers, rows, or images with or without channels");
  std::size_t size = 1;
  for (const std::size_t dimension : each) {
    if (dimension == 0) throw wrong(x.key, x.type_text() + " has no numbers");
    size *= std::min(dimension, kMaxExampleSize + 1);
    if (size > kMaxExampleSize)
      throw wrong(x.key,
                  "examples of " + dimensions_text(each) + " numbers; at most " + std::to_string(kMaxExampleSize) + " are read");
  }
  const bool is_byte = x.item == 1 && x.kind != 'i';  // signed bytes are treated like wider integers
  const bool may_be_bytes = !columns_ && (!shared_.kept_by_types || (x.kind == 'u' && is_byte));
  if (x.is_whole() && x.kind != 'b' && !is_byte && each.size() == 1)
    kind_ = Examples::tokens;
  else
    kind_ = may_be_bytes ? Examples::bytes : Examples::numbers;
  unit_ = x.kind == 'f' || x.kind == 'b' ? 1.0F / 255 : 1;
  if (kind_ != Examples::tokens && !columns_) begin_offsets(size);
}

// An example's numbers are identified by position, from 1. (The table reader subtracts its columns' offsets itself.)
void PartBuilder::begin_offsets(std::size_t size) {
  for (const NamedOffset& one : shared_.offsets) {
    const std::vector<std::string>& names = shared_.table.inputs;
    std::size_t column = 1 + static_cast<std::size_t>(std::ranges::find(names, one.column) - names.begin());
    if (column > names.size() && !parse_number(one.column, column)) continue;
    if (column < 1 || column > size || each_.size() > 1)
      throw usage_error("offsets has column " + one.column + "; " + file_ + " has examples of " + dimensions_text(each_) +
                        "; valid: columns 1 to " + std::to_string(size) + " of rows, and the key of the answers");
    offsets_.resize(size);
    offsets_[column - 1] = one.offset;
    kind_ = Examples::numbers;
  }
  if (shared_.finds_offsets && each_.size() <= 1) spans_.resize(size);
}

// Finds the offsets of the examples; those of answers are found once the answers are known to be values.
void PartBuilder::find_offsets() {
  for (std::size_t i = 0; i < spans_.size(); ++i)
    if (const std::optional<double> offset = spans_[i].offset())
      shared_.offsets.push_back({i < shared_.table.inputs.size() ? shared_.table.inputs[i] : std::to_string(i + 1), *offset});
}

void PartBuilder::add_examples(const Array& x) {
  if (x.shape.empty()) throw wrong(x.key, "a single number; its first dimension must count the examples");
  if (kind_ == Examples::none) {
    begin_examples(x, without_first(x.shape));
    first_type_ = {x.kind == 'f', x.item == 1};
  } else if (const std::vector<std::size_t> each = without_first(x.shape); each != each_) {
    throw wrong(x.key, "examples of " + dimensions_text(each) + " after examples of " + dimensions_text(each_) +
                           "; all files must have the same shape");
  } else if (first_type_ != std::pair(x.kind == 'f', x.item == 1)) {
    throw wrong(x.key, x.type_text() + ", another type than in the first file; all files must have the same");
  }
  check_count(x.key, x.rows());
  if (kind_ == Examples::tokens) {
    add_tokens(x);
  } else {
    if (kind_ == Examples::bytes) add_bytes(x);
    if (kind_ == Examples::numbers) add_numbers(x);
  }
  rows_ += x.rows();
}

void PartBuilder::check_count(const std::string& key, std::size_t more) const {
  if (rows_ + more > kMaxRows) throw wrong(key, "more than " + std::to_string(kMaxRows) + " examples");
}

void PartBuilder::add_columns(const std::string& key, Blocks<float> numbers, std::size_t size) {
  add_examples(array_of<float>(key, {}, {0, size}));
  const std::size_t rows = numbers.size() / size;
  check_count(key, rows);
  std::size_t i = rows_ * size;
  numbers.each([&](std::span<const float> some) {
    for (const float number : some) {
      if (is_refused(number)) throw not_finite(key, i / size, i % size, static_cast<double>(number));
      ++i;
    }
  });
  if (numbers_.empty())
    numbers_ = std::move(numbers);
  else
    numbers.drain([&](std::span<const float> some) { numbers_.append(some); });
  rows_ += rows;
}

Error PartBuilder::not_finite(const std::string& key, std::size_t example, std::size_t at, double number) const {
  const std::string which = "example " + std::to_string(example) + ", number " + std::to_string(at) + " (counted from 0), is ";
  if (std::isinf(number)) return wrong(key, which + "infinite; all must be finite");
  if (std::isfinite(number)) return wrong(key, which + number_text(number) + ", which is too large; numbers go up to 3.4e38");
  return wrong(key, which + "missing (NaN); " + std::string(kMissingChoice));
}

bool PartBuilder::is_refused(float number) const {
  if (std::isfinite(number) || shared_.rows_are_protected) return false;
  return !std::isnan(number) || shared_.missing == Missing::error;
}

// Adds the numbers as bytes if all fit; otherwise converts everything so far to numbers, and the caller then adds `x` as numbers.
void PartBuilder::add_bytes(const Array& x) {
  const std::size_t count = x.rows() * x.row_size();
  bool fit = true;
  if (x.kind == 'u' && x.item == 1) {
    between_ = between_ || count > 0;
    if (x.bytes.is_lent())
      lent_bytes_ = x.bytes;
    else
      bytes_.append(x.bytes);
    return;
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(count);
  for_each_number(x, 0, count, [&](auto value) {
    if (!fit) return;
    const int byte = unit_ != 1 ? in_255ths(value) : value >= 0 && value <= 255 ? static_cast<int>(value) : -1;
    fit = byte >= 0;
    between_ = between_ || unit_ == 1 || (byte > 0 && byte < 255);
    bytes.push_back(static_cast<std::uint8_t>(byte));
  });
  if (fit) return bytes_.append(bytes);
  bytes_to_numbers();
}

// Copies lent memory before it grows or changes its form.
void PartBuilder::keep_lent() {
  if (lent_bytes_.is_lent()) bytes_.append(std::exchange(lent_bytes_, {}));
  if (lent_numbers_.is_lent()) numbers_.append(std::exchange(lent_numbers_, {}));
}

void PartBuilder::bytes_to_numbers() {
  keep_lent();
  kind_ = Examples::numbers;
  for (ColumnSpan& span : spans_)
    for (const double bound : {0.0, unit_ == 1 ? 255.0 : 1.0})
      if (!bytes_.empty()) span.add(bound);
  std::vector<float> some;
  bytes_.drain([&](std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      some.clear();
      for (const std::uint8_t byte : bytes.subspan(at, std::min(kPiece, bytes.size() - at)))
        some.push_back(unit_ == 1 ? static_cast<float>(byte) : static_cast<float>(byte / 255.0));
      numbers_.append(some);
    }
  });
}

void PartBuilder::add_numbers(const Array& x) {
  const std::size_t size = x.row_size();
  if (x.bytes.is_lent() && x.kind == 'f' && x.item == sizeof(float)) {
    const std::span numbers(reinterpret_cast<const float*>(std::as_const(x.bytes).data()), x.rows() * size);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (is_refused(numbers[i])) throw not_finite(x.key, i / size, i % size, numbers[i]);
    lent_numbers_ = Borrowable<float>(numbers, x.bytes.owner());
    return;
  }
  std::vector<float> row(size);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    std::size_t at = 0;
    for_each_number(x, i * size, (i + 1) * size, [&](auto value) {
      if (!spans_.empty()) spans_[at].add(static_cast<double>(value));
      const auto number = static_cast<float>(value);
      if (is_refused(number)) throw not_finite(x.key, rows_ + i, at, static_cast<double>(value));
      row[at] = offsets_.empty() ? number : static_cast<float>(static_cast<double>(value) - offsets_[at]);
      ++at;
    });
    numbers_.append(row);
  }
}

void PartBuilder::add_tokens(const Array& x) {
  std::vector<std::uint16_t> tokens;
  const std::size_t count = x.rows() * x.row_size();
  tokens.reserve(count);
  const std::int64_t end = shared_.vocabulary.value_or(kMaxTokens);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t token = x.whole(i);
    if (shared_.rows_are_protected && (token < 0 || token >= end)) {
      token = 0;
      ++shared_.replaced;
    }
    if (token < 0 || token >= end)
      throw wrong(x.key, "example " + std::to_string(rows_ + i / x.row_size()) + " (counted from 0) has the token " +
                             std::to_string(token) + "; valid: 0 to " + std::to_string(end - 1) +
                             "; rows of whole numbers are tokens, so use a floating-point type for plain numbers");
    tokens.push_back(static_cast<std::uint16_t>(token));
    largest_token_ = std::max(largest_token_, tokens.back());
  }
  tokens_.append(tokens);
}

void PartBuilder::add_answers(const Array& y) {
  if (y.shape.empty()) throw wrong(y.key, "a single number; its first dimension must count the examples");
  std::vector<std::size_t> each = without_first(y.shape);
  if (each.size() == 1 && each.front() == 1) each.clear();
  if (each.size() > 1) throw wrong(y.key, y.type_text() + "; valid: one answer per example, or one list of answers");
  const Answering kind = y.is_text() ? Answering::words : y.is_whole() ? Answering::whole : Answering::numbers;
  if (answering_ == Answering::none) {
    answering_ = kind;
    answers_each_ = each;
    answers_key_ = y.key;
    for (const NamedOffset& one : shared_.offsets)
      if (one.column == y.key && each.empty() && !columns_) answers_offset_ = one.offset;
    if (!each.empty() && (each.front() == 0 || each.front() > kMaxAnswers))
      throw wrong(y.key, std::to_string(each.front()) + " answers per example; valid: 1 to " + std::to_string(kMaxAnswers));
  }
  if (kind != answering_ || each != answers_each_)
    throw wrong(y.key,
                y.type_text() + ", another type or number of answers than in the first file; all files must have the same");
  if (kind == Answering::words && !each.empty()) throw wrong(y.key, "lists of strings; a string label must be single");
  kind == Answering::numbers ? add_number_answers(y) : add_whole_answers(y, kind);
  answered_ += y.rows();
}

void PartBuilder::add_words(const std::string& key, std::span<const std::string> words) {
  Array word{.key = key, .kind = 'S', .item = 0, .shape = {1}, .bytes = {}};
  for (const std::string& text : words) {
    word.bytes.assign(text.begin(), text.end());
    word.item = text.size();
    add_answers(word);
  }
}

void PartBuilder::add_number_answers(const Array& y) {
  for (std::size_t i = 0; i < y.rows() * y.row_size(); ++i) {
    double value = y.number(i);
    if (!std::isfinite(static_cast<float>(value))) {
      if (!shared_.rows_are_protected)
        throw wrong(y.key, "answer " + std::to_string(answered_ + i / y.row_size()) + " (counted from 0) is " +
                               (std::isfinite(value) ? number_text(value) + ", which is too large; numbers go up to 3.4e38"
                                                     : std::string("not a finite number")));
      value = 0;
      ++shared_.replaced;
    }
    zero_or_one_ = zero_or_one_ && (value == 0 || value == 1);
    are_classes_ = are_classes_ && value == std::floor(value) && value >= -1 && value <= kLargestClass;
    if (are_classes_ && distinct_.size() <= kMaxFloatClasses) distinct_.insert(value);
    answers_span_.add(value);
    values_.push(static_cast<float>(value - answers_offset_));
  }
  note_lists(y);
}

// A list is one-hot if it holds a single 1 and otherwise zeros.
void PartBuilder::note_lists(const Array& y) {
  const std::size_t size = y.row_size();
  for (std::size_t i = 0; one_hot_ && size > 1 && i < y.rows(); ++i) {
    std::size_t ones = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const double value = y.number(i * size + k);
      ones += value == 1 ? 1 : 0;
      one_hot_ = one_hot_ && (value == 0 || value == 1);
    }
    one_hot_ = one_hot_ && ones == 1;
  }
}

// If rows are protected, a number that is not a class becomes -1, which has no class.
void PartBuilder::make_classes_of_numbers() {
  values_.drain([&](std::span<const float> some) {
    for (float value : some) {
      const bool is_whole = value == std::floor(value) && std::abs(value) <= kLargestClass;
      if (!is_whole && shared_.rows_are_protected) value = -1;
      if (!is_whole && !shared_.rows_are_protected)
        throw wrong(answers_key_, number_text(value) + " is not a class; it must be a whole number");
      const auto number = static_cast<std::int64_t>(value);
      whole_.push(shared_.named_classes.empty() ? number : class_named(answers_key_, std::to_string(number)));
    }
  });
  if (rows_ > 0) answering_ = Answering::whole;
}

// The class is the index of the largest number (the first one on a tie), so it depends on the example's own list alone.
void PartBuilder::make_classes_of_lists() {
  if (answers_each_.empty()) return;
  const std::size_t size = answers_each_.front();
  Blocks<std::int64_t> classes;
  std::size_t at = 0;
  std::int64_t best = 0;
  double largest = 0;
  const auto take = [&](auto some) {
    for (const auto value : some) {
      const auto number = static_cast<double>(value);
      if (at == 0 || number > largest) {
        best = static_cast<std::int64_t>(at);
        largest = number;
      }
      if (++at < size) continue;
      classes.push(best);
      at = 0;
    }
  };
  if (answering_ == Answering::numbers)
    values_.drain(take);
  else
    whole_.drain(take);
  whole_ = std::move(classes);
  answers_each_.clear();
  answering_ = Answering::whole;
}

// The class that class-names assigns to a label.
std::int64_t PartBuilder::class_named(const std::string& key, const std::string& label) {
  const std::uint32_t known = shared_.named_classes.find(label);
  if (known < shared_.named_classes.size()) return known;
  if (!shared_.rows_are_protected)
    throw wrong(key, "label '" + label + "' is not one of class-names; valid: " + joined(shared_.named_classes.all()));
  ++shared_.replaced;
  return 0;
}

void PartBuilder::add_whole_answers(const Array& y, Answering kind) {
  const bool named = !shared_.named_classes.empty() && answers_each_.empty();
  if (shared_.rows_are_protected && kind == Answering::words && !named)
    throw wrong(y.key, "labels are strings, whose order must not depend on the rows under dp; give --class-names A,B,...");
  for (std::size_t i = 0; i < y.rows() * y.row_size(); ++i) {
    const std::int64_t value = named ? class_named(y.key, y.is_text() ? one_line(y.text(i)) : std::to_string(y.whole(i)))
                               : kind == Answering::words ? shared_.labels.number(one_line(y.text(i)))
                                                          : y.whole(i);
    zero_or_one_ = zero_or_one_ && (value == 0 || value == 1);
    answers_span_.add(static_cast<double>(value));
    whole_.push(value);
  }
  if (kind == Answering::whole) note_lists(y);
}

void PartBuilder::add_client(std::string_view name, std::size_t rows) {
  const std::uint32_t number = shared_.clients.number(name);
  for (std::size_t i = 0; i < rows; ++i) clients_.push(number);
}

void PartBuilder::add_names(const Array& names, Names& known, Blocks<std::uint32_t>& numbers) const {
  if (names.shape.size() != 1 || names.kind == 'f')
    throw wrong(names.key, names.type_text() + "; valid: one whole number or string per example");
  for (std::size_t i = 0; i < names.rows(); ++i) {
    char digits[24];
    if (names.is_text())
      numbers.push(known.number(names.text(i)));
    else
      numbers.push(known.number({digits, std::to_chars(digits, digits + sizeof digits, names.whole(i)).ptr}));
  }
}

}  // namespace fedstride
