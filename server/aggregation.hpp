#pragma once

#include <concepts>
#include <optional>
#include <string_view>

#include "server/accumulator.hpp"

namespace fedstride {

/// An aggregation that reads the sum; it works with every kind of privacy.
template <class A>
concept ReadsSum = requires(const A& aggregation, const ReleasedSum& sum) {
  { aggregation.mean_change(sum) } -> std::same_as<std::optional<Vector>>;
};
/// An aggregation that compares the updates (median, trimmed mean). It cannot be used under client-level privacy at the
/// coordinator, which has only a clipped and noised sum.
template <class A>
concept ReadsUpdates = requires(const A& aggregation, const OpenUpdates& updates) {
  { aggregation.mean_change(updates) } -> std::same_as<std::optional<Vector>>;
};

template <class A>
concept HasNameAndSummary = requires {
  { A::kName } -> std::convertible_to<std::string_view>;
  { A::kSummary } -> std::convertible_to<std::string_view>;
};

/// Makes one change of the model out of a round's updates; empty if the round has none.
///   kName, kSummary     core/family.hpp
///   mean_change(...)    takes a ReleasedSum or OpenUpdates, not both
template <class A>
concept Aggregation = HasNameAndSummary<A> &&(ReadsSum<A> != ReadsUpdates<A>);

template <Aggregation A>
inline constexpr auto kKeptFor = ReadsSum<A> ? Accumulator::Keeps::sum : Accumulator::Keeps::updates;

/// Called before training. Throws Error (usage) if the aggregation needs single updates that the rules forbid to read.
template <Aggregation A>
void check_aggregation(const A&, const SumRules& rules) {
  if constexpr (ReadsUpdates<A>) require_open_updates(A::kName, rules);
}

/// Ends the accumulator as the aggregation requires.
template <Aggregation A>
std::optional<Vector> mean_change(const A& aggregation, Accumulator&& updates) {
  if constexpr (ReadsSum<A>)
    return aggregation.mean_change(std::move(updates).release());
  else
    return aggregation.mean_change(std::move(updates).open());
}

}  // namespace fedstride
