#include "dp/noise/skellam.hpp"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using boost::multiprecision::cpp_int;

// Bernoulli(min(numerator / denominator, 1)): a uniform number and the fraction are compared 64 bits at a time.
bool occurs(cpp_int numerator, const cpp_int& denominator, RandomStream& random) {
  if (numerator <= 0) return false;
  while (numerator < denominator) {
    numerator <<= 64;
    const auto digit = static_cast<std::uint64_t>(numerator / denominator);
    numerator %= denominator;
    const std::uint64_t drawn = random.bits64();
    if (drawn != digit) return drawn < digit;
    if (numerator == 0) return false;
  }
  return true;
}

struct Fraction {
  cpp_int numerator = 1;
  cpp_int denominator = 1;
};

// P(k) / P(m) for the Poisson distribution with rate m.
Fraction ratio_to_mode(std::uint64_t m, std::uint64_t k) {
  Fraction ratio;
  for (std::uint64_t i = m + 1; i <= k; ++i) ratio.numerator *= m, ratio.denominator *= i;
  for (std::uint64_t i = k + 1; i <= m; ++i) ratio.numerator *= i, ratio.denominator *= m;
  return ratio;
}

constexpr unsigned kFixed = 90;  // bits after the binary point while the table is computed

std::uint64_t rounded_rate(double variance) {
  if (!(variance > 0 && variance <= Skellam::kMaxVariance))
    throw usage_error("the variance of Skellam noise is " + number_text(variance) +
                      " squared steps; it must be above 0 and at most " + number_text(Skellam::kMaxVariance));
  constexpr std::uint64_t kWhole = 65536;  // from this rate upward, rates are whole numbers
  const double rate = std::ceil(variance / 2 / Poisson::kUnit);
  const auto units = static_cast<std::uint64_t>(rate);
  if (units < kWhole << 16) return units;
  return (units + 0xffff) >> 16 << 16;
}

}  // namespace

Poisson::Table::Table(std::uint64_t m, unsigned precision) : rate(m) {
  if (m == 0) return;
  // The ratios add up to less than sqrt(2 pi m) + 2.
  const double sum = 3 * std::sqrt(static_cast<double>(m)) + 4;
  bits = precision - static_cast<unsigned>(std::ceil(std::log2(sum)));
  const unsigned __int128 one = static_cast<unsigned __int128>(1) << kFixed;
  // A ratio is at least `value` and below value + its distance from the mode, in units of 2^-kFixed.
  std::vector<std::uint64_t> down, up;
  const auto enough = [&](unsigned __int128 value, std::uint64_t distance, double rest) {
    // True if all further ratios add up to at most 2^-bits: by a geometric series, they are at most `rest` times this one.
    return static_cast<double>(value + distance) * (rest * (1 + 1e-9)) <= static_cast<double>(one >> bits);
  };
  unsigned __int128 value = one;
  for (std::uint64_t distance = 0; m - distance > 0;) {
    value = value * (m - distance) / m;
    ++distance;
    down.push_back(static_cast<std::uint64_t>(value >> (kFixed - bits)));
    if (enough(value, distance, static_cast<double>(m - distance) / static_cast<double>(distance))) break;
  }
  value = one;
  for (std::uint64_t distance = 0;;) {
    ++distance;
    value = value * m / (m + distance);
    up.push_back(static_cast<std::uint64_t>(value >> (kFixed - bits)));
    if (enough(value, distance, static_cast<double>(m) / static_cast<double>(distance + 1))) break;
  }
  first = m - down.size();
  std::uint64_t end = 0;
  for (auto weight = down.rbegin(); weight != down.rend(); ++weight) ends.push_back(end += *weight);
  ends.push_back(end += std::uint64_t{1} << bits);
  for (const std::uint64_t weight : up) ends.push_back(end += weight);
  const auto cells = std::bit_ceil(ends.size());
  guide_shift =
      static_cast<unsigned>(std::max(0, static_cast<int>(std::bit_width(end)) - static_cast<int>(std::bit_width(cells))));
  std::uint32_t entry = 0;
  for (std::uint64_t cell = 0; cell << guide_shift < end; ++cell) {
    while (ends[entry] <= cell << guide_shift) ++entry;
    guide.push_back(entry);
  }
}

std::uint64_t Poisson::Table::operator()(RandomStream& random) const {
  if (rate == 0) return 0;
  // The sum of the weights, plus two units for the rounding of each entry and one for each end of the table.
  const std::uint64_t total = ends.back() + 2 * ends.size() + 2;
  for (;;) {
    const std::uint64_t at = random.below(total);
    if (at < ends.back()) {
      std::size_t entry = guide[at >> guide_shift];
      while (ends[entry] <= at) ++entry;
      return first + entry;
    }
    bool found = false;
    const std::uint64_t drawn = left_over(at - ends.back(), random, found);
    if (found) return drawn;
  }
}

// Each unit after the weights yields a number with exactly the right probability, or none (`found` stays false).
std::uint64_t Poisson::Table::left_over(std::uint64_t at, RandomStream& random, bool& found) const {
  const std::uint64_t m = rate;
  if (at < 2 * ends.size()) {
    const std::size_t entry = at / 2;
    const std::uint64_t weight = ends[entry] - (entry == 0 ? 0 : ends[entry - 1]);
    const Fraction ratio = ratio_to_mode(m, first + entry);
    const cpp_int excess = (ratio.numerator << bits) - (cpp_int(weight) + at % 2) * ratio.denominator;
    found = occurs(excess, ratio.denominator, random);
    return first + entry;
  }
  // A number beyond the table is drawn from a geometric series that dominates the ratios, then accepted factor by factor.
  const bool is_up = at == 2 * ends.size();
  const std::uint64_t last = is_up ? first + ends.size() - 1 : first;
  if (!is_up && last == 0) return 0;
  const std::uint64_t numerator = is_up ? m : last, denominator = is_up ? last + 1 : m;
  const Fraction ratio = ratio_to_mode(m, last);
  if (!occurs((ratio.numerator << bits) * numerator, ratio.denominator * (denominator - numerator), random)) return 0;
  std::uint64_t steps = 1;
  while (random.below(denominator) < numerator) ++steps;
  if (!is_up && steps > last) return 0;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const bool stays = is_up ? random.below(last + step) < last + 1 : random.below(last) < last - step + 1;
    if (!stays) return 0;
  }
  found = true;
  return is_up ? last + steps : last - steps;
}

Poisson::Poisson(std::uint64_t rate, unsigned precision)
    : whole_(rate >> 16, precision), one_((rate & 0xffff) != 0 ? 1 : 0, precision), fraction_(rate & 0xffff) {
  if (rate == 0 || rate > kMaxRate)
    throw usage_error("the rate of Poisson draws is " + std::to_string(rate) + " units of 2^-16; it must be from 1 to 2^46");
}

std::uint64_t Poisson::operator()(RandomStream& random) const {
  std::uint64_t drawn = whole_(random);
  if (fraction_ == 0) return drawn;
  for (std::uint64_t point = one_(random); point > 0; --point) drawn += random.below(0x10000) < fraction_ ? 1 : 0;
  return drawn;
}

Skellam::Skellam(double variance, unsigned precision)
    : variance_(static_cast<double>(rounded_rate(variance)) * 2 * Poisson::kUnit), poisson_(rounded_rate(variance), precision) {}

}  // namespace fedstride
