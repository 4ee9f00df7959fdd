#include "data/files/names.hpp"

#include <algorithm>
#include <numeric>

#include "core/parse_number.hpp"

namespace fedstride {
namespace {

bool is_whole_text(const std::string& text) {
  std::int64_t number = 0;
  return text.size() <= 18 && parse_number(text, number);
}

std::int64_t whole_of(const std::string& text) {
  std::int64_t number = 0;
  parse_number(text, number);
  return number;
}

}  // namespace

bool Names::are_whole() const { return !names_.empty() && std::ranges::all_of(names_, is_whole_text); }

std::vector<std::uint32_t> Names::sort() {
  std::vector<std::uint32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (are_whole()) {
    std::vector<std::int64_t> keys;
    keys.reserve(names_.size());
    for (const std::string& name : names_) keys.push_back(whole_of(name));
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

}  // namespace fedstride
