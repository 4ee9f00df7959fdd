#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "core/gradient.hpp"
#include "core/part.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// Combines a round's updates into one change to the model.
class AggregationPart : public Part {
 public:
  static PartFamily& family();  ///< server/aggregations.cpp has the list

  virtual Accumulator::Keeps reads() const = 0;            ///< whether it reads the sum or single updates
  virtual std::size_t least_updates() const { return 0; }  ///< the minimum number of updates it needs; 0 if it reads the sum
  /// True if a parameter's change depends only on the clients' changes of that parameter, and a single update is returned
  /// unchanged. A fleet of several processes then computes the aggregation in slices.
  virtual bool is_by_coordinate() const { return false; }
  /// Ends the accumulator by release() or open() and returns the mean change. Returns nothing if the round has no mean change or
  /// too few updates.
  virtual std::optional<Vector> mean_change(Accumulator&& updates, ForEachPiece for_each_piece) const = 0;

 private:
  AggregationPart() = default;  // only the two classes below derive from it
  friend class SummingAggregation;
  friend class ComparingAggregation;
};

/// An aggregation that reads the sum; it works with every kind of privacy.
class SummingAggregation : public AggregationPart {
 public:
  virtual std::optional<Vector> mean_change(const ReleasedSum& sum) const = 0;

  Accumulator::Keeps reads() const final { return Accumulator::Keeps::sum; }
  std::optional<Vector> mean_change(Accumulator&& updates, ForEachPiece /*for_each_piece*/) const final {
    return mean_change(std::move(updates).release());
  }
};

/// An aggregation that compares updates (median, trimmed mean). Not available if the coordinator provides client-level privacy,
/// since only a clipped and noised sum then exists. Memory is O(clients x model): see SumRules::memory.
class ComparingAggregation : public AggregationPart {
 public:
  /// At least 1.
  std::size_t least_updates() const override { return 1; }
  /// Called with at least least_updates() updates. The division into pieces must depend only on the size and number of updates,
  /// so that the result is the same on any number of threads; ties go to the smaller client number.
  virtual std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const = 0;

  Accumulator::Keeps reads() const final { return Accumulator::Keeps::updates; }
  std::optional<Vector> mean_change(Accumulator&& updates, ForEachPiece for_each_piece) const final {
    const OpenUpdates open = std::move(updates).open();
    if (open.all().size() < least_updates()) return std::nullopt;
    return mean_change(open, for_each_piece);
  }
};

/// The aggregation chosen for a run; the weighted mean by default.
using Aggregation = Chosen<AggregationPart>;

/// Call before training. Throws Error (usage) if the aggregation or a simulated attack needs single updates that the rules hide.
void check_aggregation(const Aggregation& aggregation, const Attack& attack, const SumRules& rules);

}  // namespace fedstride
