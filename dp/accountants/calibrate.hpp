#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/function_ref.hpp"
#include "dp/accountants/accountants.hpp"

namespace fedstride {

/// True if the accountant proves (epsilon, delta) for the spending.
bool meets(const Accountant& accountant, std::span<const Releases> spending, double epsilon, double delta);

inline constexpr double kMaxNoiseMultiplier = 1e6;

/// Returns the smallest noise multiplier, in multiples of `resolution`, for which the spending that `spending_at` returns meets
/// (epsilon, delta) and has a reported epsilon of at most `epsilon`. The returned value has been checked. The spending may
/// contain any releases whose noise grows with the multiplier. If kMaxNoiseMultiplier is not enough, throws an Error (usage) that
/// states the smallest epsilon within reach.
double calibrate(const Accountant& accountant, function_ref<Spending(double noise_multiplier)> spending_at, double epsilon,
                 double delta, double resolution = 1e-3);

/// The largest count in [0, limit] for which `holds` is true. `holds` must be true up to some count and false beyond it, and is
/// assumed true for 0. The search begins at `guess`.
std::uint64_t largest_count(std::uint64_t limit, std::uint64_t guess, function_ref<bool(std::uint64_t count)> holds);

inline constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 40;

/// The number of further releases like `next` (whose count is ignored) that fit the budget, as in calibrate(). A result of
/// kMaxSteps means that many or more.
std::uint64_t most_steps(const Accountant& accountant, std::span<const Releases> spent, const Releases& next, double epsilon,
                         double delta);
/// A remark if the search ended before finding the largest number of steps; otherwise empty.
std::string steps_remark(std::uint64_t steps);

}  // namespace fedstride
