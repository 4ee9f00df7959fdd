// The promises of local optimizers (tests/kits/conformance.hpp), checked for every registered part and for broken ones.
#include "tests/kits/conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "client/optim/adadp.hpp"
#include "client/optim/optimizer.hpp"
#include "core/serialize.hpp"
#include "core/text.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::conformance_test {
namespace {

struct HonestSettings {
  double rate = 0.1;
  static constexpr auto kFields = fields(Field{"learning-rate", &HonestSettings::rate, "step size", kPositive});
};
struct AnyRateSettings : HonestSettings {
  static constexpr auto kFields = fields(Field{"learning-rate", &HonestSettings::rate, "step size", Valid{.low = -1}});
};

/// v <- v / 2 + g, weights -= rate v. Each of the broken ones below does one thing wrong.
template <class Self, class State = Vector, class Settings = HonestSettings>
struct HonestBase : OptimizerBase<Self, Settings, State> {
  static constexpr std::string_view kName = "honest", kSummary = "momentum of a half";

  int gradients_per_step(Progress) const override { return 1; }
  bool keeps_state() const override { return true; }
  void start(State& velocity, std::size_t size) const override { velocity.assign(size, 0); }
  double learning_rate(const State&, Progress) const override { return this->rate; }
  StepReport step(State& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress) const override {
    check_state_size(kName, velocity, weights);
    scratch.assign(weights.size(), 1);
    gradient(weights.data(), [&](std::size_t offset, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        float& v = velocity[offset + i];
        v = v / 2 + values[i];
        weights[offset + i] -= static_cast<float>(this->rate) * v;
      }
      return 0.0;
    });
    return {.learning_rate = this->rate};
  }
};

struct Honest final : HonestBase<Honest> {};
struct InvalidSetting final : HonestBase<InvalidSetting> {
  InvalidSetting() { rate = 0; }
};
struct AnyRate final : HonestBase<AnyRate, Vector, AnyRateSettings> {};
struct StaleStart final : HonestBase<StaleStart> {
  void start(Vector& velocity, std::size_t size) const override {
    if (velocity.size() != size) velocity.assign(size, 0);
  }
};
struct UnsavedVelocity : Vector {};
template <class Archive>
void save(Archive&, const UnsavedVelocity&) {}
template <class Archive>
void load(Archive&, UnsavedVelocity&) {}
struct SavesNothing final : HonestBase<SavesNothing, UnsavedVelocity> {};
/// Writes one number more than it reads.
struct PaddedVelocity : Vector {};
template <class Archive>
void save(Archive& archive, const PaddedVelocity& velocity) {
  archive(static_cast<const Vector&>(velocity), std::uint32_t{0});
}
template <class Archive>
void load(Archive& archive, PaddedVelocity& velocity) {
  archive(static_cast<Vector&>(velocity));
}
struct LoosePadding final : HonestBase<LoosePadding, PaddedVelocity> {};
struct AnySize final : HonestBase<AnySize> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    velocity.resize(weights.size());
    return HonestBase::step(velocity, scratch, weights, gradient, progress);
  }
};
struct LeakyScratch final : HonestBase<LeakyScratch> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    LeakyScratch slower = *this;
    if (!scratch.empty()) slower.rate /= 2;
    StepReport report = slower.HonestBase::step(velocity, scratch, weights, gradient, progress);
    report.learning_rate = rate;
    return report;
  }
};
struct ReadsTwice final : HonestBase<ReadsTwice> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    HonestBase::step(velocity, scratch, weights, gradient, progress);
    return HonestBase::step(velocity, scratch, weights, gradient, progress);
  }
};
/// Claims to read two batches from epoch 5 on, but still reads one.
struct NeverChanges final : HonestBase<NeverChanges> {
  int gradients_per_step(Progress progress) const override { return progress.epoch < 5 ? 1 : 2; }
  int epoch_of_change() const override { return 5; }
};
/// Says that its gradient decides the rate, and reports another one than it used.
struct ForgetsRate final : HonestBase<ForgetsRate> {
  bool rate_follows_gradient() const override { return true; }
  double learning_rate(const Vector&, Progress) const override { return 0; }
};
struct OddReads final : HonestBase<OddReads> {
  int gradients_per_batch() const override { return 2; }
};
struct OtherRate final : HonestBase<OtherRate> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    HonestBase::step(velocity, scratch, weights, gradient, progress);
    return {.learning_rate = 2 * rate};
  }
};
struct WeightDecay final : HonestBase<WeightDecay> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    for (float& weight : weights) weight *= 0.999F;
    return HonestBase::step(velocity, scratch, weights, gradient, progress);
  }
};
struct SaysUndone final : HonestBase<SaysUndone> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    const Vector before = weights;
    StepReport report = HonestBase::step(velocity, scratch, weights, gradient, progress);
    report.accepted = weights == before;
    return report;
  }
};
/// Uses the first number of each stretch.
struct SeesTheCut final : HonestBase<SeesTheCut> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    const auto flattened = [&](const float* at, GradientSink sink) {
      return gradient(at, [&](std::size_t offset, std::span<const float> values) {
        Vector changed(values);
        for (float& value : changed) value += 1e-3F * values[0];
        return sink(offset, view(std::as_const(changed)));
      });
    };
    return HonestBase::step(velocity, scratch, weights, flattened, progress);
  }
};
/// Moves every weight by the first one's step.
struct FillsGaps final : HonestBase<FillsGaps> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    const float before = weights[0];
    const StepReport report = HonestBase::step(velocity, scratch, weights, gradient, progress);
    for (float& weight : weights) weight += 1e-3F * (weights[0] - before);
    return report;
  }
};
struct Climbs final : HonestBase<Climbs> {
  StepReport step(Vector& velocity, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override {
    const auto uphill = [&](const float* at, GradientSink sink) {
      return gradient(at, [&](std::size_t offset, std::span<const float> values) {
        Vector turned(values);
        if (weights.size() == 64)  // the bowl to descend
          for (float& value : turned) value = -value;
        return sink(offset, view(std::as_const(turned)));
      });
    };
    return HonestBase::step(velocity, scratch, weights, uphill, progress);
  }
};

/// Follows SGD's steps, without its momentum.
struct FollowsOthers final : HonestBase<FollowsOthers> {
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 1); }
};

/// The optimizer breaks one promise, the one with this word in it.
void check_only_broken(const Optimizer& optimizer, std::string_view promise) {
  const auto lines = complaints(optimizer);
  REQUIRE_MESSAGE(lines.size() == 1, promise, ": ", joined(lines, "; "));
  CHECK_MESSAGE(names(lines[0], {"optimizer", "honest", promise}), promise, ": ", lines[0]);
}

}  // namespace

TEST_CASE("every registered optimizer keeps its promises") {
  for (const auto& name : OptimizerPart::family().names()) {
    Optimizer optimizer;
    optimizer.choose(name);
    CHECK_MESSAGE(complaints(optimizer).empty(), joined(complaints(optimizer), "; "));
  }
  CHECK_MESSAGE(complaints(Optimizer(Honest{})).empty(), joined(complaints(Optimizer(Honest{})), "; "));
}

TEST_CASE("ADADP keeps them in every preset, with noise, and where it continues as SGD") {
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
        CHECK_MESSAGE(complaints(Optimizer(adadp)).empty(), joined(complaints(Optimizer(adadp)), "; "));
      }
}

TEST_CASE("the registry finds a part by name and suggests the nearest for a typo") {
  Optimizer optimizer;
  CHECK(optimizer.name() == "adadp");
  optimizer.choose("heavy-ball");
  CHECK(optimizer.name() == "heavy-ball");
  CHECK_USAGE_ERROR(optimizer.choose("adap"), "optimizer", "adap", "'adadp'");
}

TEST_CASE("each broken part fails its own check") {
  check_only_broken(AnyRate{}, "learning rate");
  check_only_broken(StaleStart{}, "start");
  check_only_broken(SavesNothing{}, "save");
  check_only_broken(LoosePadding{}, "bytes");
  check_only_broken(AnySize{}, "size");
  check_only_broken(ReadsTwice{}, "batches");
  check_only_broken(NeverChanges{}, "batches");
  check_only_broken(OtherRate{}, "announced");
  check_only_broken(ForgetsRate{}, "announced");
  check_only_broken(OddReads{}, "batches");
  check_only_broken(WeightDecay{}, "no gradient");
  check_only_broken(SaysUndone{}, "not accepted");
  check_only_broken(SeesTheCut{}, "cut");
  check_only_broken(FillsGaps{}, "zero");
  check_only_broken(Climbs{}, "bowl");
  check_only_broken(FollowsOthers{}, "reach");
}

TEST_CASE("a part that breaks several promises fails each check, with what was thrown") {
  const auto invalid = complaints(Optimizer(InvalidSetting{}));
  CHECK(names(invalid.front(), {"optimizer", "honest", "learning-rate", "0"}));
  const auto leaky = complaints(Optimizer(LeakyScratch{}));
  CHECK(std::ranges::count_if(leaky, [](const auto& line) { return names(line, {"optimizer", "honest", "scratch"}); }) == 1);
}

}  // namespace fedstride::test::conformance_test
