#include "data/files/json_column.hpp"

#include <cstring>
#include <utility>

namespace fedstride {
namespace {

constexpr std::size_t kMaxExampleDepth = 3;

template <class Value>
void store(Array& array, const std::vector<double>& numbers) {
  array.item = sizeof(Value);
  array.bytes.resize(numbers.size() * sizeof(Value));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto value = static_cast<Value>(numbers[i]);
    std::memcpy(array.bytes.data() + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

void JsonColumn::clear() {
  numbers_.clear();
  texts_.clear();
  counts_.clear();
  sizes_.clear();
  examples_ = 0;
  depth_ = 0;
  whole_ = true;
}

std::string JsonColumn::add(double number, bool whole) {
  if (!texts_.empty()) return "has texts and numbers";
  numbers_.push_back(number);
  constexpr double kLargestWhole = 9e15;
  whole_ = whole_ && whole && number < kLargestWhole && number > -kLargestWhole;
  count_one();
  return "";
}

std::string JsonColumn::add(std::string text) {
  if (!numbers_.empty() || depth_ > 0) return "has texts among numbers or in lists";
  texts_.push_back(std::move(text));
  count_one();
  return "";
}

std::string JsonColumn::open() {
  if (++depth_ > kMaxExampleDepth) return "has examples of more than " + std::to_string(kMaxExampleDepth) + " dimensions";
  counts_.resize(depth_, 0);
  counts_[depth_ - 1] = 0;
  return "";
}

std::string JsonColumn::close() {
  const std::size_t size = counts_[--depth_];
  if (sizes_.size() <= depth_) sizes_.resize(depth_ + 1, kUnknown);
  if (sizes_[depth_] == kUnknown) sizes_[depth_] = size;
  if (sizes_[depth_] != size || size == 0)
    return "has lists of " + std::to_string(sizes_[depth_]) + " and of " + std::to_string(size) +
           "; all must have one length above 0";
  count_one();
  return "";
}

std::string JsonColumn::give(Array& array, bool keep_whole) const {
  array.shape.assign(1, examples_);
  std::size_t count = examples_;
  for (const std::size_t size : sizes_) {
    array.shape.push_back(size);
    if (size > numbers_.size()) return "has examples of several shapes";
    count *= size;
  }
  if (count != numbers_.size()) return "has examples of several shapes";
  const bool whole = keep_whole && whole_;
  array.kind = whole ? 'i' : 'f';
  whole ? store<std::int64_t>(array, numbers_) : store<float>(array, numbers_);
  return "";
}

void JsonColumn::count_one() {
  if (depth_ == 0)
    ++examples_;
  else
    ++counts_[depth_ - 1];
}

}  // namespace fedstride
