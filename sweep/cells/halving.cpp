#include "sweep/cells/halving.hpp"

#include <algorithm>
#include <cmath>

#include "core/probability.hpp"

namespace fedstride {
namespace {

std::uint64_t power_of(unsigned eta, unsigned exponent) {
  std::uint64_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= eta;
  return power;
}

// Returns the largest s for which eta^s <= bound.
unsigned floor_log(unsigned eta, std::uint64_t bound) {
  unsigned s = 0;
  for (std::uint64_t power = eta; power <= bound; power *= eta) ++s;
  return s;
}

Bracket bracket_of(std::size_t n, std::uint32_t rounds, unsigned eta, unsigned s) {
  Bracket rungs;
  for (unsigned i = 0; i <= s; ++i)
    rungs.push_back({std::max<std::size_t>(1, n / power_of(eta, i)), static_cast<std::uint32_t>(rounds / power_of(eta, s - i))});
  return rungs;
}

}  // namespace

Bracket halving_bracket(std::size_t n, std::uint32_t least, std::uint32_t rounds, unsigned eta) {
  return bracket_of(n, rounds, eta, std::min(floor_log(eta, rounds / least), floor_log(eta, n)));
}

std::vector<Bracket> hyperband_brackets(std::size_t n, std::uint32_t least, std::uint32_t rounds, unsigned eta) {
  const unsigned largest = std::min(floor_log(eta, rounds / least), floor_log(eta, n));
  std::vector<Bracket> brackets;
  for (unsigned s = largest + 1; s-- > 0;) {
    const std::uint64_t wanted = ((largest + 1) * power_of(eta, s) + s) / (s + 1);  // rounded up
    brackets.push_back(bracket_of(std::min<std::size_t>(n, wanted), rounds, eta, s));
  }
  return brackets;
}

Score score_of_share(double share, double rows) {
  if (!(rows > 0) || !std::isfinite(share)) return {.value = share};
  constexpr double z = 1.959963984540054;  // 0.975 quantile of the normal distribution
  const double z2 = z * z;
  const double center = (share + z2 / (2 * rows)) / (1 + z2 / rows);
  const double half = z / (1 + z2 / rows) * std::sqrt(share * (1 - share) / rows + z2 / (4 * rows * rows));
  return {.value = share, .low = std::max(0.0, center - half), .high = std::min(1.0, center + half)};
}

Score score_of_seeds(const std::vector<double>& values) {
  Score score{.value = 0};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) score.value += value / n;
  if (values.size() < 2 || !std::isfinite(score.value)) return score;
  double squares = 0;
  for (const double value : values) squares += (value - score.value) * (value - score.value);
  const double half = student_t_quantile(0.05, n - 1) * std::sqrt(squares / (n - 1) / n);
  score.low = score.value - half;
  score.high = score.value + half;
  return score;
}

bool RungOrder::is_toss_up() const {
  const auto is_near = [&](bool goes_on) {
    return std::ranges::any_of(places, [&](const RungPlace& one) { return one.is_near_cut && one.goes_on == goes_on; });
  };
  return is_near(true) && is_near(false);
}

RungOrder order_rung(std::vector<RungPlace> places, std::size_t keep, bool highest_is_best) {
  const auto badness = [&](const RungPlace& one) { return highest_is_best ? -one.score.value : one.score.value; };
  std::ranges::sort(places, [&](const RungPlace& a, const RungPlace& b) {
    const bool lacks_a = std::isnan(a.score.value), lacks_b = std::isnan(b.score.value);
    if (lacks_a != lacks_b) return lacks_b;
    if (!lacks_a && badness(a) != badness(b)) return badness(a) < badness(b);
    return a.configuration < b.configuration;
  });
  RungOrder order{.places = std::move(places)};
  for (std::size_t i = 0; i < std::min(keep, order.places.size()); ++i) order.places[i].goes_on = true;
  if (keep == 0 || keep >= order.places.size()) return order;
  order.cut = (order.places[keep - 1].score.value + order.places[keep].score.value) / 2;
  for (RungPlace& one : order.places) one.is_near_cut = one.score.low <= order.cut && order.cut <= one.score.high;
  return order;
}

}  // namespace fedstride
