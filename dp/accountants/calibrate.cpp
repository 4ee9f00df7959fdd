#include "dp/accountants/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace fedstride {

std::uint64_t largest_count(std::uint64_t limit, std::uint64_t guess, function_ref<bool(std::uint64_t)> holds) {
  if (limit == 0) return 0;
  std::uint64_t low = 0;
  std::uint64_t beyond = std::clamp<std::uint64_t>(guess, 1, limit);
  while (holds(beyond)) {
    check_stop();
    if (beyond == limit) return limit;
    low = beyond;
    beyond = beyond > limit / 2 ? limit : beyond * 2;
  }
  while (beyond - low > 1) {
    check_stop();
    const std::uint64_t middle = low + (beyond - low) / 2;
    (holds(middle) ? low : beyond) = middle;
  }
  return low;
}

bool meets(const Accountant& accountant, std::span<const Releases> spending, double epsilon, double delta) {
  return delta_by(accountant, spending, epsilon).value <= delta;
}

namespace {

/// True if both the accountant's bounds, on delta and on epsilon, prove (epsilon, delta). The reported bound, which is on
/// epsilon, is not always the sharper one.
bool reaches(const Accountant& accountant, std::span<const Releases> spending, double epsilon, double delta) {
  return meets(accountant, spending, epsilon, delta) && epsilon_by(accountant, spending, delta).value <= epsilon;
}

/// Thrown by the searches below if even the largest multiplier is too small.
struct OutOfReach {};

/// The smallest n for which is_short is false, given a `low` for which it is true and a `high` for which it is false.
std::uint64_t between(function_ref<bool(std::uint64_t)> is_short, std::uint64_t low, std::uint64_t high) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (is_short(middle) ? low : high) = middle;
  }
  return high;
}

/// Such a pair (low, high), searching upward from n in doubling steps; (n, n) if is_short(n) is false.
std::pair<std::uint64_t, std::uint64_t> upward(function_ref<bool(std::uint64_t)> is_short, std::uint64_t n, std::uint64_t most,
                                               std::uint64_t step = 1) {
  std::uint64_t low = n;
  for (; is_short(n); step *= 2) {
    if (n == most) throw OutOfReach();
    low = n;
    n = std::min(most, n + step);
  }
  return {low, n};
}

/// The smallest n, searching from `high` by halves and doubles.
std::uint64_t least(function_ref<bool(std::uint64_t)> is_short, std::uint64_t high, std::uint64_t most) {
  if (is_short(high)) {
    const auto [low, enough] = upward(is_short, high, most, high);
    return between(is_short, low, enough);
  }
  for (std::uint64_t half = high / 2; half > 0 && !is_short(half); half /= 2) high = half;
  return between(is_short, high / 2, high);
}

/// The smallest n, searching from a guess that is a step or two away.
std::uint64_t near(function_ref<bool(std::uint64_t)> is_short, std::uint64_t guess, std::uint64_t most) {
  auto [low, high] = upward(is_short, guess, most);
  if (low == high) {
    low = high - 1;
    for (std::uint64_t step = 2; low > 0 && !is_short(low); step *= 2) high = low, low = low > step ? low - step : 0;
  }
  return between(is_short, low, high);
}

/// True if the accountant has to compute a privacy curve for each trial.
bool is_slow(const Accountant& accountant, const Spending& spending) {
  return std::holds_alternative<Tight>(accountant) &&
         std::ranges::any_of(spending, [](const Releases& some) { return draw_of(some.sampling).has_curve(); });
}

}  // namespace

double calibrate(const Accountant& accountant, function_ref<Spending(double noise_multiplier)> spending_at, double epsilon,
                 double delta, double resolution) {
  check_epsilon(epsilon);
  check_delta(delta);
  constexpr double kMinResolution = 1e-9;
  if (!(resolution >= kMinResolution && resolution <= 1))
    throw usage_error("resolution is " + number_text(resolution) + "; it must be a number from 1e-09 to 1");
  const auto a_unit = std::round(1 / resolution);
  const bool divides = std::abs(a_unit * resolution - 1) < 1e-9;
  const auto multiplier = [&](std::uint64_t n) {  // 943 / 1000 is the double that "0.943" parses to; 943 * 0.001 is not
    return divides ? static_cast<double>(n) / a_unit : static_cast<double>(n) * resolution;
  };
  const auto one = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(a_unit));
  const auto most = static_cast<std::uint64_t>(kMaxNoiseMultiplier / resolution);
  const auto fails = [&](const Accountant& by, std::uint64_t n) {
    check_stop();
    return !meets(by, spending_at(multiplier(n)), epsilon, delta);
  };
  const auto fails_here = [&](std::uint64_t n) { return fails(accountant, n); };
  const auto reports_more = [&](std::uint64_t n) {
    check_stop();
    return !reaches(accountant, spending_at(multiplier(n)), epsilon, delta);
  };
  try {
    std::uint64_t n = 0;
    if (is_slow(accountant, spending_at(1))) {  // a quick bound gives the first guess
      Tight quick = std::get<Tight>(accountant);
      quick.quick = true;
      const std::uint64_t guess = least([&](std::uint64_t at) { return fails(quick, at); }, one, most);
      n = near(fails_here, guess, most);
    } else {
      n = least(fails_here, one, most);
    }
    // This n is the smallest for which the bound on delta proves (epsilon, delta). It is rarely off by more than one step or, for
    // large noise, by more than rounding errors.
    const auto [low, high] = upward(reports_more, n, most);
    return multiplier(between(reports_more, low, high));
  } catch (const OutOfReach&) {
    const auto reached = epsilon_by(accountant, spending_at(multiplier(most)), delta).value;
    throw usage_error("epsilon is " + number_text(epsilon) + "; no noise multiplier up to 1e6 reaches it at delta " +
                      number_text(delta) + ": the smallest epsilon within reach is " + number_text(reached));
  }
}

std::uint64_t most_steps(const Accountant& accountant, std::span<const Releases> spent, const Releases& next, double epsilon,
                         double delta) {
  check_epsilon(epsilon);
  check_delta(delta);
  Spending spending(spent.begin(), spent.end());
  spending.push_back(next);
  const auto found = [&](const Accountant& by, std::uint64_t guess) {
    return largest_count(kMaxSteps, guess, [&](std::uint64_t count) {
      spending.back().count = count;
      return meets(by, spending, epsilon, delta);
    });
  };
  // A cheap accountant provides a starting value: the answers of different accountants differ by a small factor.
  const bool helps = !std::holds_alternative<Rdp>(accountant) && Rdp{}.unsound(spending).empty();
  const std::uint64_t by_delta = found(accountant, helps ? found(Rdp{}, 1) : 1);
  return largest_count(by_delta, by_delta, [&](std::uint64_t count) {
    spending.back().count = count;
    return reaches(accountant, spending, epsilon, delta);
  });
}

std::string steps_remark(std::uint64_t steps) {
  return steps < kMaxSteps
             ? ""
             : "at least " + std::to_string(steps) + " steps are allowed: the search for the largest number ends there";
}

}  // namespace fedstride
