#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// An accountant's answer. `value` is an upper bound (infinite if there is none); never negative, never NaN.
struct PrivacyBound {
  double value = 0;
  std::string warning = {};  ///< a remark for the reader: "the best order, 33, is the last of the grid"
};

/// Turns a spending into (epsilon, delta). Parts of the family Accountant (dp/accountants/accountants.hpp).
///   kName, kSummary, kFields     core/family.hpp
///   unsound(spending)            the reason why this accountant has no bound for it, one line without the accountant's
///                                name; empty if it has one
///   epsilon(spending, delta)     smallest epsilon it can prove; 0 < delta < 1
///   delta(spending, epsilon)     smallest delta it can prove; epsilon >= 0
/// Both compose sequences of different releases fixed beforehand; nothing spent is epsilon 0, delta 0. Both throw Error
/// (usage) if unsound() is not empty, or for numbers out of range: noise multiplier outside [1e-100, 1e100], rate outside
/// [1e-100, 1], 2^63 releases and more, delta outside (0, 1), epsilon < 0. Work and memory are bounded for all others: where
/// an exact answer would take more, an upper bound stands in, and the warning says so. Long work throws Stopped
/// (core/stop.hpp).
template <class T>
concept PrivacyAccountant = requires(const T accountant, std::span<const Releases> spending, double number) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  { accountant.unsound(spending) } -> std::same_as<std::string>;
  { accountant.epsilon(spending, number) } -> std::same_as<PrivacyBound>;
  { accountant.delta(spending, number) } -> std::same_as<PrivacyBound>;
};

/// Throws Error (usage) for numbers out of range, see above; the message names value and what is valid.
void check_spending(std::span<const Releases> spending);
void check_delta(double delta);
void check_epsilon(double epsilon);

}  // namespace fedstride
