#pragma once

#include <concepts>
#include <optional>
#include <string_view>

#include "server/accumulator.hpp"

namespace fedstride {

/// What an aggregation reads decides what it may be used with. One that reads the sum works with every kind of privacy.
template <class A>
concept ReadsSum = requires(const A& aggregation, const ReleasedSum& sum) {
  { aggregation.mean_change(sum) } -> std::same_as<std::optional<Vector>>;
};
/// One that compares the updates (median, trimmed mean) cannot have them under client-level privacy at the coordinator: a
/// clipped and noised sum is all there is then.
template <class A>
concept ReadsUpdates = requires(const A& aggregation, const OpenUpdates& updates) {
  { aggregation.mean_change(updates) } -> std::same_as<std::optional<Vector>>;
};

/// Makes one change of the model out of a round's updates; nothing if the round has none to give.
///   kName, kSummary     core/family.hpp
///   mean_change(...)    of a ReleasedSum or of OpenUpdates, and not of both
template <class A>
concept Aggregation = requires {
  { A::kName } -> std::convertible_to<std::string_view>;
  { A::kSummary } -> std::convertible_to<std::string_view>;
} && ReadsSum<A> != ReadsUpdates<A>;

template <Aggregation A>
inline constexpr auto kKeptFor = ReadsSum<A> ? Accumulator::Keeps::sum : Accumulator::Keeps::updates;

/// Called before anything is trained. Throws Error (usage) if the aggregation would have to see what nobody may.
template <Aggregation A>
void check_aggregation(const A&, const SumRules& rules) {
  if constexpr (ReadsUpdates<A>) require_open_updates(A::kName, rules);
}

/// Ends the accumulator in the way that the aggregation needs.
template <Aggregation A>
std::optional<Vector> mean_change(const A& aggregation, Accumulator&& updates) {
  if constexpr (ReadsSum<A>)
    return aggregation.mean_change(std::move(updates).release());
  else
    return aggregation.mean_change(std::move(updates).open());
}

}  // namespace fedstride
