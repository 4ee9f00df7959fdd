// The promises of server optimisers and of aggregations (server/conformance.hpp), asked of every one in the registry and of
// broken ones.
#include "server/conformance.hpp"

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
#include "server/aggregation/multi_krum.hpp"
#include "server/aggregation/trimmed_mean.hpp"
#include "server/server_optimizer_of.hpp"

namespace fedstride::test::conformance_test {
namespace {

/// v <- v / 2 + change, model += rate v. Each of the broken ones below does one thing wrong.
struct Honest {
  double rate = 1;
  static constexpr std::string_view kName = "honest", kSummary = "momentum of a half";
  static constexpr auto kFields = std::tuple{Field{"server-learning-rate", &Honest::rate, "factor", kPositive}};

  struct State {
    Vector velocity;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(velocity);
    }
  };

  void start(auto& state, std::size_t size) const { state.velocity.assign(size, 0); }
  void apply(auto& state, Vector& model, const Vector& mean_change) const {
    for (std::size_t i = 0; i < model.size(); ++i) {
      state.velocity[i] = state.velocity[i] / 2 + mean_change[i];
      model[i] += static_cast<float>(rate) * state.velocity[i];
    }
  }
};

struct InvalidSetting : Honest {
  InvalidSetting() { rate = 0; }
};
struct AnyRate : Honest {
  static constexpr auto kFields = std::tuple{Field{"server-learning-rate", &Honest::rate, "factor", Valid{.low = -1}}};
};
struct SavesNothing : Honest {
  struct State {
    Vector velocity;
    template <class Archive>
    void serialize(Archive&) {}
  };
};
/// It remembers in the part, not in its state.
struct Shared : Honest {
  std::shared_ptr<int> rounds = std::make_shared<int>(0);
  void apply(State& state, Vector& model, const Vector& mean_change) const {
    Honest::apply(state, model, mean_change);
    model[0] += static_cast<float>(++*rounds) * mean_change[0];
  }
};
struct Grows : Honest {
  struct State {
    Vector velocity, rounds;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(velocity, rounds);
    }
  };
  void start(State& state, std::size_t size) const {
    Honest::start(state, size);
    state.rounds = {};
  }
  void apply(State& state, Vector& model, const Vector& mean_change) const {
    state.rounds.resize(state.rounds.size() + 1);
    Honest::apply(state, model, mean_change);
  }
};
/// Its state has a length that says nothing of the model's.
struct OneLength : Honest {
  struct State {
    Vector velocity;
    template <class Archive>
    void save(Archive& archive) const {
      Vector padded = velocity;
      padded.resize(1000);
      archive(padded, velocity.size());
    }
    template <class Archive>
    void load(Archive& archive) {
      std::size_t size = 0;
      archive(velocity, size);
      velocity.resize(size);
    }
  };
};
struct WeightDecay : Honest {
  void apply(State& state, Vector& model, const Vector& mean_change) const {
    for (float& weight : model) weight *= 0.999F;
    Honest::apply(state, model, mean_change);
  }
};
struct FillsGaps : Honest {
  void apply(State& state, Vector& model, const Vector& mean_change) const {
    Honest::apply(state, model, mean_change);
    for (float& weight : model) weight += 1e-3F * mean_change[0];
  }
};
struct Backwards : Honest {
  void apply(State& state, Vector& model, const Vector& mean_change) const {
    Vector turned = mean_change;
    for (float& value : turned) value = -value;
    Honest::apply(state, model, turned);
  }
};

/// The mean of the changes, weights aside. Each of the broken ones below does one thing wrong.
struct PlainMean {
  double factor = 1;
  static constexpr std::string_view kName = "honest", kSummary = "mean";
  static constexpr auto kFields = std::tuple{Field{"factor", &PlainMean::factor, "factor", kPositive}};
  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
    const Changes changes = changes_of(updates);
    return linear_combination(changes, std::vector<double>(changes.size(), factor / static_cast<double>(changes.size())),
                              for_each_piece);
  }
};
struct InvalidFactor : PlainMean {
  InvalidFactor() { factor = -1; }
};
/// The last piece to run leaves its mark.
struct LastPiece : PlainMean {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
    auto change = PlainMean::mean_change(updates, for_each_piece);
    std::atomic<int> last = 0;
    for_each_piece(2, [&](int piece) { last = piece; });
    if (last == 0) (*change)[0] = std::nextafter((*change)[0], 0.0F);
    return change;
  }
};
struct Doubles : PlainMean {
  Doubles() { factor = 2; }
};
struct NeverRests : PlainMean {
  static std::size_t least_updates() { return 0; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
    return updates.all().empty() ? Vector(1) : PlainMean::mean_change(updates, for_each_piece);
  }
};
/// Client 1 may have sent zeros.
struct Divides : PlainMean {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
    auto change = PlainMean::mean_change(updates, for_each_piece);
    const double norm = l2_norm(updates.all()[1].change);
    for (float& value : *change) value *= static_cast<float>(norm / norm);
    return change;
  }
};
struct MovesFrozen : PlainMean {
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const {
    auto change = PlainMean::mean_change(updates, for_each_piece);
    for (float& value : *change)
      if (value == 0) value = 1e-9F;
    return change;
  }
};

/// The only complaint about a part, without what is the same in all of them.
template <class Family>
std::string complaint(const Family& part) {
  const std::string prefix = std::string(part.family().key()) + " 'honest' does not keep: ";
  const auto lines = complaints(part);
  REQUIRE_MESSAGE(lines.size() == 1, joined(lines, "; "));
  REQUIRE(lines[0].starts_with(prefix));
  return lines[0].substr(prefix.size());
}

}  // namespace

TEST_CASE("every server optimiser of the registry keeps what all promise") {
  for (const auto& name : ServerOptimizerPart::family().names()) {
    ServerOptimizer optimizer;
    optimizer.choose(name);
    CHECK_MESSAGE(complaints(optimizer).empty(), joined(complaints(optimizer), "; "));
  }
  CHECK_MESSAGE(complaints(ServerOptimizer(Honest{})).empty(), joined(complaints(ServerOptimizer(Honest{})), "; "));
}

TEST_CASE("what is broken is complained of, each by its own check") {
  CHECK(complaint(ServerOptimizer(AnyRate{})) == "a server learning rate of 0, below 0 or not a number is refused");
  CHECK(complaint(ServerOptimizer(SavesNothing{})) == "save, load, apply equals apply");
  CHECK(complaint(ServerOptimizer(OneLength{})) == "a state of another size, cut or longer is refused");
  CHECK(complaint(ServerOptimizer(WeightDecay{})) == "no change, no step");
  CHECK(complaint(ServerOptimizer(FillsGaps{})) == "a parameter that never changes stays zero");
  CHECK(complaint(ServerOptimizer(Backwards{})) == "its first step goes the way of the mean change");
  const auto grown = complaints(ServerOptimizer(Grows{}));
  CHECK(grown.size() == 2);
  CHECK(grown.back() ==
        "server-optimizer 'honest' does not keep: how long a saved state is depends on the number of parameters alone");
  const auto shared = complaints(ServerOptimizer(Shared{}));
  CHECK(shared.size() == 2);
  CHECK(shared.back() == "server-optimizer 'honest' does not keep: one at work leaves no trace in another");
  CHECK(complaints(ServerOptimizer(InvalidSetting{})).front() ==
        "server-optimizer 'honest' does not keep: its settings are valid, each with a name of its own (server-learning-rate is "
        "0; it must be a number above 0)");
}

TEST_CASE("every aggregation of the registry keeps what all promise") {
  for (const auto& name : AggregationPart::family().names()) {
    Aggregation aggregation;
    aggregation.choose(name);
    CHECK_MESSAGE(complaints(aggregation).empty(), joined(complaints(aggregation), "; "));
  }
  const Aggregation others[] = {PlainMean{},
                                TrimmedMean{.trim = 0.3},
                                Krum{.byzantine = 2},
                                MultiKrum{.byzantine = 0, .selected = 2},
                                Bulyan{.byzantine = 2},
                                Bulyan{.byzantine = 0},
                                GeometricMedian{.iterations = 1, .smoothing = 10}};
  for (const Aggregation& other : others) CHECK_MESSAGE(complaints(other).empty(), joined(complaints(other), "; "));
}

TEST_CASE("a broken aggregation is complained of") {
  CHECK(complaint(Aggregation(LastPiece{})) == "the same bits in whatever order updates arrive and pieces run, on any threads");
  CHECK(complaint(Aggregation(Doubles{})) == "updates that are all the same give that one back");
  CHECK(complaint(Aggregation(NeverRests{})) == "a round without updates has no change");
  CHECK(complaint(Aggregation(MovesFrozen{})) == "a parameter that no client changes does not change");
  CHECK(complaint(Aggregation(Divides{})) == "its change is as long as the updates, and finite");
  CHECK(complaints(Aggregation(InvalidFactor{})).front() ==
        "aggregation 'honest' does not keep: its settings are valid, each with a name of its own (factor is -1; it must be a "
        "number "
        "above 0)");
}

}  // namespace fedstride::test::conformance_test
