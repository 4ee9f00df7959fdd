// Parts as their authors write them; with -DWRONG each has a mistake and must not compile. Every line that begins with "// refused:"
// has words of an error message that the compiler then gives (tests/compile/check.cmake).
#include <vector>

#include "client/attacks/attack.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "server/aggregation.hpp"
#include "server/cohort.hpp"

namespace fedstride {
namespace {

// refused: follw
struct Misspelt final : OptimizerBase<Misspelt, NoSettings> {
  static constexpr std::string_view kName = "misspelt", kSummary = "";
  int gradients_per_step(Progress) const override { return 1; }
  double learning_rate(const State&, Progress) const override { return 1; }
  StepReport step(State&, Vector&, Vector&, Gradient, Progress) const override { return {}; }
#ifdef WRONG
  void follw(UnitWeight&, const StepReport&) const override {}
#else
  void follow(UnitWeight&, const StepReport&) const override {}
#endif
};

// refused: gradients_are_noisy
struct IllTyped final : OptimizerBase<IllTyped, NoSettings> {
  static constexpr std::string_view kName = "ill-typed", kSummary = "";
  int gradients_per_step(Progress) const override { return 1; }
  double learning_rate(const State&, Progress) const override { return 1; }
  StepReport step(State&, Vector&, Vector&, Gradient, Progress) const override { return {}; }
#ifdef WRONG
  void gradients_are_noisy(bool) override {}
#else
  void gradients_are_noisy(function_ref<bool(std::string_view)>) override {}
#endif
};

// refused: Unanswered
struct Unanswered final : OptimizerBase<Unanswered, NoSettings> {
  static constexpr std::string_view kName = "unanswered", kSummary = "";
#ifndef WRONG
  int gradients_per_step(Progress) const override { return 1; }
#endif
  double learning_rate(const State&, Progress) const override { return 1; }
  StepReport step(State&, Vector&, Vector&, Gradient, Progress) const override { return {}; }
};

// refused: Nameless
struct Nameless final : PartBase<PersonalPart, Nameless> {
#ifndef WRONG
  static constexpr std::string_view kName = "nameless";
#endif
  static constexpr std::string_view kSummary = "";
};

// refused: Dependent
struct Dependent final : PartBase<CohortPart, Dependent> {
  static constexpr std::string_view kName = "dependent", kSummary = "";
  std::vector<ClientId> sample(const CohortQuestion&) const override { return {}; }
  double rate(std::size_t) const override { return 1; }
#ifndef WRONG
  bool is_independent() const override { return false; }
#endif
};

// refused: falsfy
struct Attacker final : AttackBase<Attacker> {
  static constexpr std::string_view kName = "attacker", kSummary = "";
#ifdef WRONG
  void falsfy(const AttackRound&, std::uint32_t, std::span<float>) const override {}
#else
  void falsify(const AttackRound&, std::uint32_t, std::span<float>) const override {}
#endif
};

// refused: AggregationPart
#ifdef WRONG
struct Undecided final : PartBase<AggregationPart, Undecided> {
  Accumulator::Keeps reads() const override { return Accumulator::Keeps::sum; }
  std::optional<Vector> mean_change(Accumulator&&, ForEachPiece) const override { return {}; }
#else
struct Undecided final : PartBase<ComparingAggregation, Undecided> {
  std::optional<Vector> mean_change(const OpenUpdates&, ForEachPiece) const override { return {}; }
#endif
  static constexpr std::string_view kName = "undecided", kSummary = "";
};

void use() {
  add_part<Optimizer>(Misspelt{});
  add_part<Optimizer>(IllTyped{});
  add_part<Optimizer>(Unanswered{});
  add_part<Personal>(Nameless{});
  add_part<Cohort>(Dependent{});
  add_part<Attack>(Attacker{});
  add_part<Aggregation>(Undecided{});
}

}  // namespace
}  // namespace fedstride

void (*const kUsed)() = fedstride::use;
