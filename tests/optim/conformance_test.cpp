// The promises of a local optimiser (optim/conformance.hpp), asked of every one in the registry and of broken ones.
#include "optim/conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/serialize.hpp"
#include "core/text.hpp"
#include "optim/adadp.hpp"
#include "optim/optimizer_of.hpp"
#include "optim/state_size.hpp"

namespace fedstride::test::conformance_test {
namespace {

/// v <- v / 2 + g, weights -= rate v. Each of the broken ones below does one thing wrong.
struct Honest {
  double rate = 0.1;
  static constexpr std::string_view kName = "honest", kSummary = "momentum of a half";
  static constexpr auto kFields = std::tuple{Field{"learning-rate", &Honest::rate, "step size", kPositive}};
  static constexpr int kGradientsPerStep = 1;
  static constexpr bool kKeepsState = true;

  struct State {
    Vector velocity;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(velocity);
    }
  };
  struct Scratch {
    int steps = 0;
  };

  void start(auto& state, std::size_t size) const { state.velocity.assign(size, 0); }
  double learning_rate(const auto&, Progress) const { return rate; }
  StepReport step(auto& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress) const {
    check_state_size(kName, state.velocity, weights);
    ++scratch.steps;
    gradient(weights.data(), [&](std::size_t offset, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        float& velocity = state.velocity[offset + i];
        velocity = velocity / 2 + values[i];
        weights[offset + i] -= static_cast<float>(rate) * velocity;
      }
      return 0.0;
    });
    return {.learning_rate = rate};
  }
};

/// Goes wrong in a step: wrong(state, scratch, weights, gradient, progress) stands for it.
template <class Self>
struct WrongStep : Honest {
  StepReport step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    return static_cast<const Self&>(*this).wrong(state, scratch, weights, gradient, progress);
  }
};

struct InvalidSetting : Honest {
  InvalidSetting() { rate = 0; }
};
struct AnyRate : Honest {
  static constexpr auto kFields = std::tuple{Field{"learning-rate", &Honest::rate, "step size", Valid{.low = -1}}};
};
struct StaleStart : Honest {
  void start(State& state, std::size_t size) const {
    if (state.velocity.size() != size) state.velocity.assign(size, 0);
  }
};
struct SavesNothing : Honest {
  struct State {
    Vector velocity;
    template <class Archive>
    void serialize(Archive&) {}
  };
};
/// Writes a number more than it reads.
struct LoosePadding : Honest {
  struct State {
    Vector velocity;
    template <class Archive>
    void save(Archive& archive) const {
      archive(velocity, std::uint32_t{0});
    }
    template <class Archive>
    void load(Archive& archive) {
      archive(velocity);
    }
  };
};
struct AnySize : WrongStep<AnySize> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    state.velocity.resize(weights.size());
    return Honest::step(state, scratch, weights, gradient, progress);
  }
};
struct LeakyScratch : WrongStep<LeakyScratch> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    LeakyScratch slower = *this;
    if (scratch.steps > 0) slower.rate /= 2;
    StepReport report = slower.Honest::step(state, scratch, weights, gradient, progress);
    report.learning_rate = rate;
    return report;
  }
};
struct ReadsTwice : WrongStep<ReadsTwice> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    Honest::step(state, scratch, weights, gradient, progress);
    return Honest::step(state, scratch, weights, gradient, progress);
  }
};
/// Says that it reads two batches from epoch 5 on, and goes on reading one.
struct NeverChanges : Honest {
  int gradients_per_step(Progress progress) const { return progress.epoch < 5 ? 1 : 2; }
  int epoch_of_change() const { return 5; }
};
struct OtherRate : WrongStep<OtherRate> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    Honest::step(state, scratch, weights, gradient, progress);
    return {.learning_rate = 2 * rate};
  }
};
struct WeightDecay : WrongStep<WeightDecay> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    for (float& weight : weights) weight *= 0.999F;
    return Honest::step(state, scratch, weights, gradient, progress);
  }
};
struct SaysUndone : WrongStep<SaysUndone> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    const Vector before = weights;
    StepReport report = Honest::step(state, scratch, weights, gradient, progress);
    report.accepted = weights == before;
    return report;
  }
};
/// Takes each stretch by its first number.
struct SeesTheCut : WrongStep<SeesTheCut> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    const auto flattened = [&](const float* at, GradientSink sink) {
      return gradient(at, [&](std::size_t offset, std::span<const float> values) {
        Vector changed(values);
        for (float& value : changed) value += 1e-3F * values[0];
        return sink(offset, view(std::as_const(changed)));
      });
    };
    return Honest::step(state, scratch, weights, flattened, progress);
  }
};
/// Moves every weight by what the first one got.
struct FillsGaps : WrongStep<FillsGaps> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    const float before = weights[0];
    const StepReport report = Honest::step(state, scratch, weights, gradient, progress);
    for (float& weight : weights) weight += 1e-3F * (weights[0] - before);
    return report;
  }
};
struct Climbs : WrongStep<Climbs> {
  StepReport wrong(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
    const auto uphill = [&](const float* at, GradientSink sink) {
      return gradient(at, [&](std::size_t offset, std::span<const float> values) {
        Vector turned(values);
        if (weights.size() == 64)  // the bowl that is to be descended
          for (float& value : turned) value = -value;
        return sink(offset, view(std::as_const(turned)));
      });
    };
    return Honest::step(state, scratch, weights, uphill, progress);
  }
};

/// The only complaint about a part, without what is the same in all of them.
std::string complaint(const Optimizer& optimizer) {
  const std::string prefix = "optimizer 'honest' does not keep: ";
  const auto lines = complaints(optimizer);
  REQUIRE_MESSAGE(lines.size() == 1, joined(lines, "; "));
  REQUIRE(lines[0].starts_with(prefix));
  return lines[0].substr(prefix.size());
}

}  // namespace

TEST_CASE("every optimiser of the registry keeps what all promise") {
  for (const auto& name : OptimizerPart::family().names()) {
    Optimizer optimizer;
    optimizer.choose(name);
    CHECK_MESSAGE(complaints(optimizer).empty(), joined(complaints(optimizer), "; "));
  }
  CHECK_MESSAGE(complaints(Honest{}).empty(), joined(complaints(Honest{}), "; "));
}

TEST_CASE("ADADP keeps it in every preset, with noise, and where it goes on as SGD") {
  for (const auto preset : {AdadpPreset::ours, AdadpPreset::paper, AdadpPreset::authors_code})
    for (const bool noisy : {false, true})
      for (const int epochs : {0, 2}) {
        CAPTURE(choice_name(preset));
        CAPTURE(noisy);
        CAPTURE(epochs);
        Adadp adadp;
        adadp.preset = preset;
        adadp.noisy = noisy;
        adadp.adapt_epochs = epochs;
        CHECK_MESSAGE(complaints(adadp).empty(), joined(complaints(adadp), "; "));
      }
}

TEST_CASE("the registry finds a part by its name and names the nearest for a slip") {
  const auto names = OptimizerPart::family().names();
  CHECK(names == std::vector<std::string>{"adadp", "sgd", "heavy-ball", "ema", "adam", "pooled"});
  Optimizer optimizer;
  CHECK(optimizer.name() == "adadp");
  optimizer.choose("heavy-ball");
  CHECK(optimizer.name() == "heavy-ball");
  CHECK_THROWS_WITH_AS(optimizer.choose("adap"), doctest::Contains("did you mean"), Error);
}

TEST_CASE("what is broken is complained of, each by its own check") {
  CHECK(complaint(AnyRate{}) == "a learning rate of 0, below 0 or not a number is refused");
  CHECK(complaint(StaleStart{}) == "start makes a used state a fresh one");
  CHECK(complaint(SavesNothing{}) == "save, load, step equals step");
  CHECK(complaint(LoosePadding{}) == "bytes that end early are refused");
  CHECK(complaint(AnySize{}) == "a state of another model's size is refused");
  CHECK(complaint(ReadsTwice{}) == "a step reads as many batches as it says, after the epoch of change too");
  CHECK(complaint(NeverChanges{}) == "a step reads as many batches as it says, after the epoch of change too");
  CHECK(complaint(OtherRate{}) == "a step is taken with the rate that was announced");
  CHECK(complaint(WeightDecay{}) == "no gradient, no change");
  CHECK(complaint(SaysUndone{}) == "a step that is not accepted leaves the weights as they were");
  CHECK(complaint(SeesTheCut{}) == "how the gradient is cut changes no bit of a step");
  CHECK(complaint(FillsGaps{}) == "what is never reported stays zero");
  CHECK(complaint(Climbs{}) == "it descends a bowl");
}

TEST_CASE("what breaks several promises is complained of for each, with what was thrown") {
  const auto invalid = complaints(InvalidSetting{});
  CHECK(invalid.front() ==
        "optimizer 'honest' does not keep: its settings are valid, each with a name of its own (learning-rate "
        "is 0; it must be a number above 0)");
  const auto leaky = complaints(LeakyScratch{});
  CHECK(std::ranges::count(leaky, "optimizer 'honest' does not keep: a scratch used by one client does not show in another") ==
        1);
}

}  // namespace fedstride::test::conformance_test
