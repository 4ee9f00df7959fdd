#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "client/compression/compressor.hpp"
#include "core/vector.hpp"

namespace fedstride::test {

/// d numbers between about -3 and 3, most of them small: cubes of normal draws.
inline Vector some_numbers(std::size_t d, std::uint64_t seed = 5) {
  Vector numbers(d);
  RandomStream random(seed, {Purpose::test});
  for (float& number : numbers) {
    const double z = random.normal();
    number = static_cast<float>(0.05 * z * z * z);
  }
  return numbers;
}

inline UpCompression compression(std::string_view name,
                                 const std::vector<std::pair<std::string_view, SettingValue>>& settings = {}) {
  UpCompression chosen;
  chosen.choose(name);
  for (const auto& [key, value] : settings) chosen.part().set(*chosen.part().find(key), value);
  return chosen;
}

inline std::string code_of(const UpCompression& how, const Vector& numbers, std::uint32_t round = 1) {
  std::string code;
  how->encode(view(numbers), {1, round, 3, 0}, code);
  return code;
}
inline Vector decoded(const UpCompression& how, const std::string& code, std::size_t d, bool& good, std::uint32_t round = 1) {
  Vector numbers(d, 77);
  good = how->decode(code, {1, round, 3, 0}, view(numbers));
  return numbers;
}
/// What arrives of the numbers.
inline Vector sent(const UpCompression& how, const Vector& numbers, std::uint32_t round = 1) {
  bool good = false;
  Vector there = decoded(how, code_of(how, numbers, round), numbers.size(), good, round);
  if (!good) there.fill(std::nanf(""));
  return there;
}

inline double squared(const Vector& x) {
  double sum = 0;
  for (const float number : x) sum += static_cast<double>(number) * number;
  return sum;
}
inline double squared_error(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  return sum;
}

}  // namespace fedstride::test
