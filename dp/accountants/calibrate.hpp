#pragma once

#include <cstdint>
#include <span>

#include "core/function_ref.hpp"
#include "dp/accountants/accountants.hpp"

namespace fedstride {

/// Whether the accountant proves (epsilon, delta) for the spending.
bool meets(const Accountant& accountant, std::span<const Releases> spending, double epsilon, double delta);

inline constexpr double kLargestNoiseMultiplier = 1e6;

/// The smallest multiple of `resolution` that, as the noise multiplier of `spending_at`, meets (epsilon, delta): what is
/// returned has been checked. The spending may be a schedule, of any releases whose noise grows with the argument.
/// Throws Error (usage) that names the smallest epsilon within reach if kLargestNoiseMultiplier is not enough.
double calibrate(const Accountant& accountant, function_ref<Spending(double noise_multiplier)> spending_at,
                 double epsilon, double delta, double resolution = 1e-3);

/// The largest count in [0, limit] that holds, of a property that holds up to some count; 0 is taken to hold. `guess` is
/// where the search begins.
std::uint64_t largest_count(std::uint64_t limit, std::uint64_t guess, function_ref<bool(std::uint64_t count)> holds);

inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 40;

/// How many more releases like `next` (its count aside) may follow what is spent; 0 if none may, kMostSteps at most.
std::uint64_t most_steps(const Accountant& accountant, std::span<const Releases> spent, const Releases& next,
                         double epsilon, double delta);

/// How many releases of the sequence, counted one by one, may follow what is spent.
std::uint64_t longest_prefix(const Accountant& accountant, std::span<const Releases> spent,
                             std::span<const Releases> sequence, double epsilon, double delta);

}  // namespace fedstride
