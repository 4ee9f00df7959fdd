#include "sweep/results/numbers.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fedstride {
namespace {

auto lower_bound(auto& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const auto& entry, std::string_view other) { return entry.first < other; });
}

}  // namespace

Numbers::Numbers(std::initializer_list<value_type> entries) {
  for (const auto& [name, value] : entries) (*this)[name] = value;
}

Numbers::const_iterator Numbers::find(std::string_view name) const {
  const auto found = lower_bound(entries_, name);
  return found != end() && found->first == name ? found : end();
}

double Numbers::of(std::string_view name) const {
  const auto found = find(name);
  return found == end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

double Numbers::at(std::string_view name) const {
  const auto found = find(name);
  if (found == end()) throw std::out_of_range("no number '" + std::string(name) + "'");
  return found->second;
}

double& Numbers::operator[](std::string_view name) {
  auto found = lower_bound(entries_, name);
  if (found == entries_.end() || found->first != name) found = entries_.emplace(found, name, 0.0);
  return found->second;
}

void Numbers::add_missing(const Numbers& others) {
  for (const auto& [name, value] : others)
    if (!contains(name)) (*this)[name] = value;
}

void Numbers::erase(std::string_view name) {
  if (const auto found = find(name); found != end()) erase(found);
}

}  // namespace fedstride
