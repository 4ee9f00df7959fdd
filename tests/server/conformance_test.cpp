// The promises of server optimizers and aggregations (tests/kits/conformance.hpp), checked for every registered part and for
// broken ones.
#include "tests/kits/conformance.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>

#include "core/serialize.hpp"
#include "core/text.hpp"
#include "dp/noise/client_release.hpp"
#include "server/aggregation/bulyan.hpp"
#include "server/aggregation/coordinates.hpp"
#include "server/aggregation/geometric_median.hpp"
#include "server/aggregation/krum.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/server_optimizer.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::conformance_test {
namespace {

struct HonestSettings {
  double rate = 1;
  static constexpr auto kFields = fields(Field{"server-learning-rate", &HonestSettings::rate, "factor", kPositive});
};
struct AnyRateSettings : HonestSettings {
  static constexpr auto kFields = fields(Field{"server-learning-rate", &HonestSettings::rate, "factor", Valid{.low = -1}});
};

/// v <- v / 2 + change, model += rate v. Each of the broken ones below does one thing wrong.
template <class Self, class State = Vector, class Settings = HonestSettings>
struct HonestBase : ServerOptimizerBase<Self, Settings, State> {
  static constexpr std::string_view kName = "honest", kSummary = "momentum of a half";

  void start(State& velocity, std::size_t size) const override { velocity.assign(size, 0); }
  void apply(State& velocity, Vector& model, const Vector& mean_change) const override {
    for (std::size_t i = 0; i < model.size(); ++i) {
      velocity[i] = velocity[i] / 2 + mean_change[i];
      model[i] += static_cast<float>(this->rate) * velocity[i];
    }
  }
};

struct Honest final : HonestBase<Honest> {};
struct InvalidSetting final : HonestBase<InvalidSetting> {
  InvalidSetting() { rate = 0; }
};
struct AnyRate final : HonestBase<AnyRate, Vector, AnyRateSettings> {};
struct UnsavedVelocity : Vector {};
template <class Archive>
void save(Archive&, const UnsavedVelocity&) {}
template <class Archive>
void load(Archive&, UnsavedVelocity&) {}
struct SavesNothing final : HonestBase<SavesNothing, UnsavedVelocity> {};
/// Keeps something in the part instead of its state.
struct Shared final : HonestBase<Shared> {
  std::shared_ptr<int> rounds = std::make_shared<int>(0);
  void apply(Vector& velocity, Vector& model, const Vector& mean_change) const override {
    HonestBase::apply(velocity, model, mean_change);
    model[0] += static_cast<float>(++*rounds) * mean_change[0];
  }
};
struct GrowingVelocity : Vector {
  Vector rounds;
};
template <class Archive>
void save(Archive& archive, const GrowingVelocity& velocity) {
  archive(static_cast<const Vector&>(velocity), velocity.rounds);
}
template <class Archive>
void load(Archive& archive, GrowingVelocity& velocity) {
  archive(static_cast<Vector&>(velocity), velocity.rounds);
}
struct Grows final : HonestBase<Grows, GrowingVelocity> {
  void start(GrowingVelocity& velocity, std::size_t size) const override {
    velocity.assign(size, 0);
    velocity.rounds = {};
  }
  void apply(GrowingVelocity& velocity, Vector& model, const Vector& mean_change) const override {
    velocity.rounds.resize(velocity.rounds.size() + 1);
    HonestBase::apply(velocity, model, mean_change);
  }
};
/// The length of its state does not depend on the model.
struct LongVelocity : Vector {};
template <class Archive>
void save(Archive& archive, const LongVelocity& velocity) {
  Vector padded = velocity;
  padded.resize(1000);
  archive(padded, velocity.size());
}
template <class Archive>
void load(Archive& archive, LongVelocity& velocity) {
  std::size_t size = 0;
  archive(static_cast<Vector&>(velocity), size);
  velocity.resize(size);
}
struct OneLength final : HonestBase<OneLength, LongVelocity> {};
struct WeightDecay final : HonestBase<WeightDecay> {
  void apply(Vector& velocity, Vector& model, const Vector& mean_change) const override {
    for (float& weight : model) weight *= 0.999F;
    HonestBase::apply(velocity, model, mean_change);
  }
};
struct FillsGaps final : HonestBase<FillsGaps> {
  void apply(Vector& velocity, Vector& model, const Vector& mean_change) const override {
    HonestBase::apply(velocity, model, mean_change);
    for (float& weight : model) weight += 1e-3F * mean_change[0];
  }
};
struct Backwards final : HonestBase<Backwards> {
  void apply(Vector& velocity, Vector& model, const Vector& mean_change) const override {
    Vector turned = mean_change;
    for (float& value : turned) value = -value;
    HonestBase::apply(velocity, model, turned);
  }
};

struct Factor {
  double factor = 1;
  static constexpr auto kFields = fields(Field{"factor", &Factor::factor, "factor", kPositive});
};

/// The mean of the changes, weights aside. Each of the broken ones below does one thing wrong.
template <class Self>
struct MeanBase : PartBase<ComparingAggregation, Self, Factor> {
  static constexpr std::string_view kName = "honest", kSummary = "mean";
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    return linear_combination(changes, std::vector<double>(changes.size(), this->factor / static_cast<double>(changes.size())),
                              for_each_piece);
  }
};

struct PlainMean final : MeanBase<PlainMean> {};
struct InvalidFactor final : MeanBase<InvalidFactor> {
  InvalidFactor() { factor = -1; }
};
/// The last piece to run leaves its mark.
struct LastPiece final : MeanBase<LastPiece> {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    auto change = MeanBase::mean_change(updates, for_each_piece);
    std::atomic<int> last = 0;
    for_each_piece(2, [&](int piece) { last = piece; });
    if (last == 0) (*change)[0] = std::nextafter((*change)[0], 0.0F);
    return change;
  }
};
struct Doubles final : MeanBase<Doubles> {
  Doubles() { factor = 2; }
};
struct NeverRests final : MeanBase<NeverRests> {
  std::size_t least_updates() const override { return 0; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    return updates.all().empty() ? Vector(1) : MeanBase::mean_change(updates, for_each_piece);
  }
};
/// Client 1 may have sent zeros.
struct Divides final : MeanBase<Divides> {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    auto change = MeanBase::mean_change(updates, for_each_piece);
    const double norm = l2_norm(updates.all()[1].change);
    for (float& value : *change) value *= static_cast<float>(norm / norm);
    return change;
  }
};
struct MovesFrozen final : MeanBase<MovesFrozen> {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    auto change = MeanBase::mean_change(updates, for_each_piece);
    for (float& value : *change)
      if (value == 0) value = 1e-9F;
    return change;
  }
};

/// The part breaks one promise, the one with this word in it.
template <class Family>
void check_only_broken(const Family& part, std::string_view promise) {
  const auto lines = complaints(part);
  REQUIRE_MESSAGE(lines.size() == 1, promise, ": ", joined(lines, "; "));
  CHECK_MESSAGE(names(lines[0], {part.family().key(), "honest", promise}), promise, ": ", lines[0]);
}

}  // namespace

TEST_CASE("every registered server optimizer keeps its promises") {
  for (const auto& name : ServerOptimizerPart::family().names()) {
    ServerOptimizer optimizer;
    optimizer.choose(name);
    CHECK_MESSAGE(complaints(optimizer).empty(), joined(complaints(optimizer), "; "));
  }
  CHECK_MESSAGE(complaints(ServerOptimizer(Honest{})).empty(), joined(complaints(ServerOptimizer(Honest{})), "; "));
}

TEST_CASE("each broken part fails its own check") {
  check_only_broken(ServerOptimizer(AnyRate{}), "learning rate");
  check_only_broken(ServerOptimizer(SavesNothing{}), "save");
  check_only_broken(ServerOptimizer(OneLength{}), "size");
  check_only_broken(ServerOptimizer(WeightDecay{}), "no change");
  check_only_broken(ServerOptimizer(FillsGaps{}), "zero");
  check_only_broken(ServerOptimizer(Backwards{}), "first step");
  const auto grown = complaints(ServerOptimizer(Grows{}));
  CHECK(grown.size() == 2);
  CHECK(names(grown.back(), {"server-optimizer", "honest", "saved state"}));
  const auto shared = complaints(ServerOptimizer(Shared{}));
  CHECK(shared.size() == 2);
  CHECK(names(shared.back(), {"server-optimizer", "honest", "another"}));
  CHECK(
      names(complaints(ServerOptimizer(InvalidSetting{})).front(), {"server-optimizer", "honest", "server-learning-rate", "0"}));
}

TEST_CASE("every registered aggregation keeps its promises") {
  for (const auto& name : AggregationPart::family().names()) {
    Aggregation aggregation;
    aggregation.choose(name);
    CHECK_MESSAGE(complaints(aggregation).empty(), joined(complaints(aggregation), "; "));
  }
  const Aggregation others[] = {PlainMean{},
                                TrimmedMean({.trim = 0.3}),
                                Krum({.byzantine = 2}),
                                MultiKrum({.byzantine = 0, .selected = 2}),
                                Bulyan({.byzantine = 2}),
                                Bulyan({.byzantine = 0}),
                                GeometricMedian({.iterations = 1, .smoothing = 10})};
  for (const Aggregation& other : others) CHECK_MESSAGE(complaints(other).empty(), joined(complaints(other), "; "));
}

TEST_CASE("each broken aggregation fails its own check") {
  check_only_broken(Aggregation(LastPiece{}), "order");
  check_only_broken(Aggregation(Doubles{}), "the same");
  check_only_broken(Aggregation(NeverRests{}), "without updates");
  check_only_broken(Aggregation(MovesFrozen{}), "parameter");
  check_only_broken(Aggregation(Divides{}), "finite");
  CHECK(names(complaints(Aggregation(InvalidFactor{})).front(), {"aggregation", "honest", "factor", "-1"}));
}

}  // namespace fedstride::test::conformance_test
