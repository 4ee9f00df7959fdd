#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fedstride {

/// A map from metric to value, stored as a sorted vector because a sweep has millions of entries. (Boost's flat_map compiles
/// slowly.)
class Numbers {
 public:
  using value_type = std::pair<std::string, double>;
  using const_iterator = std::vector<value_type>::const_iterator;

  Numbers() = default;
  Numbers(std::initializer_list<value_type> entries);

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const_iterator find(std::string_view name) const;  ///< end() if missing
  bool contains(std::string_view name) const { return find(name) != end(); }

  double of(std::string_view name) const;     ///< NaN if missing
  double at(std::string_view name) const;     ///< throws std::out_of_range if missing
  double& operator[](std::string_view name);  ///< adds 0 if missing
  void add_missing(const Numbers& others);    ///< adds only entries whose names are missing
  void erase(std::string_view name);
  void erase(const_iterator at) { entries_.erase(at); }
  void clear() { entries_.clear(); }
  void reserve(std::size_t size) { entries_.reserve(size); }

  bool operator==(const Numbers&) const = default;

 private:
  std::vector<value_type> entries_;
};

}  // namespace fedstride
