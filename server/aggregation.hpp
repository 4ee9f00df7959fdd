#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "core/gradient.hpp"
#include "core/part.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// An aggregation that reads the sum; it works with every kind of privacy.
///   mean_change(sum)              empty if the round has no information
template <class A>
concept ReadsSum = requires(const A& aggregation, const ReleasedSum& sum) {
  { aggregation.mean_change(sum) } -> std::same_as<std::optional<Vector>>;
};
/// An aggregation that compares the updates (median, trimmed mean). It cannot be used under client-level privacy at the
/// coordinator, which has only a clipped and noised sum. Memory is O(clients x model): see SumRules::memory.
///   least_updates()               the fewest updates it can work with, at least 1
///   mean_change(updates, pieces)  called with that many at least. The work is cut into pieces by the updates' size and number
///                                 alone, so that threads do not show; ties go to the smaller client number.
///   kByCoordinate                 if it is there and true: a parameter's change depends on the changes of that parameter alone, and of
///                                 one update it makes that update. Then a fleet of several processes does it in slices.
template <class A>
concept ReadsUpdates = requires(const A& aggregation, const OpenUpdates& updates, ForEachPiece for_each_piece) {
  { aggregation.mean_change(updates, for_each_piece) } -> std::same_as<std::optional<Vector>>;
  { aggregation.least_updates() } -> std::convertible_to<std::size_t>;
};

/// Makes one change of the model out of a round's updates.
///   kName, kSummary, kFields      core/part.hpp
///   mean_change(...)              takes a ReleasedSum or OpenUpdates, not both
template <class A>
concept AggregationRule = requires {
  { A::kName } -> std::convertible_to<std::string_view>;
  { A::kSummary } -> std::convertible_to<std::string_view>;
  A::kFields;
}
&&(ReadsSum<A> != ReadsUpdates<A>);

template <AggregationRule A>
class AggregationOf;

/// The abstract interface of an aggregation.
class AggregationPart : public Part {
 public:
  static PartFamily& family();  ///< server/aggregations.cpp has the list
  template <AggregationRule A>
  using Of = AggregationOf<A>;

  virtual Accumulator::Keeps reads() const = 0;   ///< the sum, or the updates one by one
  virtual std::size_t least_updates() const = 0;  ///< the fewest updates it can work with; 0 if it reads the sum
  virtual bool is_by_coordinate() const = 0;
  /// Ends the accumulator as the aggregation requires. Empty if the round has no information, or too few updates.
  virtual std::optional<Vector> mean_change(Accumulator&& updates, ForEachPiece for_each_piece) const = 0;
};

template <AggregationRule A>
class AggregationOf final : public PartOf<AggregationPart, AggregationOf<A>, A> {
  using Base = PartOf<AggregationPart, AggregationOf<A>, A>;

 public:
  using Base::Base;
  Accumulator::Keeps reads() const final { return ReadsSum<A> ? Accumulator::Keeps::sum : Accumulator::Keeps::updates; }
  std::size_t least_updates() const final {
    if constexpr (ReadsUpdates<A>) return this->part_.least_updates();
    return 0;
  }
  bool is_by_coordinate() const final {
    if constexpr (requires { A::kByCoordinate; }) return A::kByCoordinate;
    return false;
  }
  std::optional<Vector> mean_change(Accumulator&& updates, ForEachPiece for_each_piece) const final {
    if constexpr (ReadsSum<A>) {
      static_cast<void>(for_each_piece);
      return this->part_.mean_change(std::move(updates).release());
    } else {
      const OpenUpdates open = std::move(updates).open();
      if (open.all().size() < least_updates()) return std::nullopt;
      return this->part_.mean_change(open, for_each_piece);
    }
  }
};

/// An aggregation that has been chosen; the default is the weighted mean.
using Aggregation = Chosen<AggregationPart>;

/// Called before training. Throws Error (usage) if the aggregation, or a simulated attack, needs single updates that the rules forbid to read.
void check_aggregation(const Aggregation& aggregation, const Attack& attack, const SumRules& rules);

}  // namespace fedstride
