// The promises of a server optimiser (server/conformance.hpp), asked of every one in the registry and of broken ones.
#include "server/conformance.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/serialize.hpp"
#include "core/text.hpp"
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

/// The only complaint about a part, without what is the same in all of them.
std::string complaint(const ServerOptimizer& optimizer) {
  const std::string prefix = "server-optimizer 'honest' does not keep: ";
  const auto lines = complaints(optimizer);
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
  CHECK_MESSAGE(complaints(Honest{}).empty(), joined(complaints(Honest{}), "; "));
}

TEST_CASE("what is broken is complained of, each by its own check") {
  CHECK(complaint(AnyRate{}) == "a server learning rate of 0, below 0 or not a number is refused");
  CHECK(complaint(SavesNothing{}) == "save, load, apply equals apply");
  CHECK(complaint(OneLength{}) == "a state of another size, cut or longer is refused");
  CHECK(complaint(WeightDecay{}) == "no change, no step");
  CHECK(complaint(FillsGaps{}) == "a parameter that never changes stays zero");
  CHECK(complaint(Backwards{}) == "its first step goes the way of the mean change");
  const auto grown = complaints(Grows{});
  CHECK(grown.size() == 2);
  CHECK(grown.back() ==
        "server-optimizer 'honest' does not keep: how long a saved state is depends on the number of parameters alone");
  const auto shared = complaints(Shared{});
  CHECK(shared.size() == 2);
  CHECK(shared.back() == "server-optimizer 'honest' does not keep: one at work leaves no trace in another");
  CHECK(complaints(InvalidSetting{}).front() ==
        "server-optimizer 'honest' does not keep: its settings are valid, each with a name of its own (server-learning-rate is "
        "0; it must be a number above 0)");
}

}  // namespace fedstride::test::conformance_test
