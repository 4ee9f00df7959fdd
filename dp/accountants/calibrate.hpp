#pragma once

#include <cstdint>
#include <span>

#include "core/function_ref.hpp"
#include "dp/accountants/accountants.hpp"

namespace fedstride {

/// True if the accountant proves (epsilon, delta) for the spending.
bool meets(const Accountant& accountant, std::span<const Releases> spending, double epsilon, double delta);

inline constexpr double kMaxNoiseMultiplier = 1e6;

/// The smallest multiple of `resolution` that, as the noise multiplier of `spending_at`, meets (epsilon, delta); the
/// returned value has been checked. The spending may be a schedule, of any releases whose noise grows with the argument.
/// Throws Error (usage) that names the smallest epsilon within reach if kMaxNoiseMultiplier is not enough.
double calibrate(const Accountant& accountant, function_ref<Spending(double noise_multiplier)> spending_at, double epsilon,
                 double delta, double resolution = 1e-3);

/// The largest count in [0, limit] for which `holds`, which must hold up to some count and not beyond; 0 is assumed to
/// hold. The search begins at `guess`.
std::uint64_t largest_count(std::uint64_t limit, std::uint64_t guess, function_ref<bool(std::uint64_t count)> holds);

inline constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 40;

/// The number of further releases like `next` (its count is ignored) within the budget; 0 if none, kMaxSteps at most.
std::uint64_t most_steps(const Accountant& accountant, std::span<const Releases> spent, const Releases& next, double epsilon,
                         double delta);

/// The number of releases of the sequence, counted one by one, that fit the budget after `spent`.
std::uint64_t longest_prefix(const Accountant& accountant, std::span<const Releases> spent, std::span<const Releases> sequence,
                             double epsilon, double delta);

}  // namespace fedstride
