#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "client/trainer.hpp"
#include "dp/accountants/accountants.hpp"

namespace fedstride::test::canary_test {
namespace {

// Linear scores of 3 features, 2 classes, no bias. Every feature row is long, so that every clipped gradient has norm C.
constexpr double kClip = 1;
constexpr std::size_t kOthers = 4;

Dataset with_canary() {
  Dataset data;
  data.shape = {1, 1, 3};
  data.classes = 2;
  const auto add = [&data](std::initializer_list<float> row) { data.features.append(row.begin(), row.end()); };
  for (std::size_t row = 0; row < kOthers; ++row) {
    add({0, 100, static_cast<float>(row)});
    data.labels.push_back(static_cast<Label>(row % 2));
  }
  add({1000, 0, 0});  // the canary
  data.labels.push_back(0);
  add({-1000, 0, 0});  // what replaces it
  data.labels.push_back(0);
  data.mean.assign(3, 0);
  data.deviation.assign(3, 1);
  return data;
}

enum class World { with, without, replaced };

/// An attacker's score, the released gradient in the canary's direction: larger on average if the canary was in.
std::vector<double> scores(World world, double noise_multiplier, int runs, std::uint64_t seed) {
  static const Dataset data = with_canary();
  static const Model model = Model::parse("dense classes nobias", data.shape, data.classes);
  std::vector<Row> rows;
  for (Row row = 0; row < kOthers; ++row) rows.push_back(row);
  if (world == World::with) rows.push_back(kOthers);
  if (world == World::replaced) rows.push_back(kOthers + 1);
  Sgd sgd;
  sgd.initial_rate = 1;
  LocalTraining training{.optimizer = sgd, .batch = 100, .seed = 1};
  training.privacy.emplace();
  const auto plan = std::make_shared<const PrivatePlan>(
      PrivateRules{.batch = 100, .noise = {.clip = kClip, .noise_multiplier = noise_multiplier}}, training.optimizer,
      rows.size());
  training.privacy->plans = {plan};
  training.privacy->source = RandomSource(seed);
  Trainer trainer(model, data, training, rows.size());
  const Vector start(model.size());
  const std::vector<std::uint64_t> allowed{1};
  // At equal scores the canary's gradient is (p - y) x: -1/2, +1/2 times (1000, 0, 0); clipped, (-1, 1) C / sqrt 2.
  std::vector<double> found;
  for (int run = 1; run <= runs; ++run) {
    ClientState state;
    trainer.train({static_cast<std::uint32_t>(run), start, allowed}, 0, rows, state, serially, {},
                  [&](const ClientUpdate& update) {
                    const double move = static_cast<double>(update.change[0]) - static_cast<double>(update.change[1]);
                    found.push_back(move / std::sqrt(2.0) * plan->denominator());
                  });
  }
  return found;
}

/// Probability that a draw of the first is larger than one of the second.
double auc(std::vector<double> in, std::vector<double> out) {
  std::ranges::sort(out);
  double larger = 0;
  for (const double value : in) larger += static_cast<double>(std::ranges::lower_bound(out, value) - out.begin());
  return larger / static_cast<double>(in.size()) / static_cast<double>(out.size());
}

/// The largest epsilon, over thresholds fixed beforehand, that the two worlds' rates prove at delta, at confidence
/// 1 - 1e-4 altogether (Clopper & Pearson, both rates, every threshold).
double lower_bound_on_epsilon(const std::vector<double>& in, const std::vector<double>& out, double delta) {
  const std::vector<double> thresholds{0, 0.5, 1, 1.5, 2, 2.5, 3};
  const double each = 1e-4 / static_cast<double>(2 * thresholds.size());
  const auto n = static_cast<double>(in.size());
  double best = 0;
  for (const double threshold : thresholds) {
    const auto above = [&](double value) { return value > threshold; };
    const auto hits = static_cast<double>(std::ranges::count_if(in, above));
    const auto alarms = static_cast<double>(std::ranges::count_if(out, above));
    const double hit_rate = hits == 0 ? 0 : quantile(boost::math::beta_distribution<>(hits, n - hits + 1), each);
    const double alarm_rate =
        alarms == n ? 1 : quantile(complement(boost::math::beta_distribution<>(alarms + 1, n - alarms), each));
    if (hit_rate > delta) best = std::max(best, std::log((hit_rate - delta) / alarm_rate));
  }
  return best;
}

constexpr int kRuns = 100'000;
constexpr double kNoNoise = 1e-6;

}  // namespace

// The score is N(C, C^2) with the canary and N(0, C^2) without, N(-C, C^2) with what replaces it: AUC Phi(1 / sqrt 2),
// Phi(sqrt 2). Standard error below 0.0012.
TEST_CASE("an attacker tells a clipped gradient in one noisy sum as often as a Gaussian of one deviation allows") {
  const auto in = scores(World::with, 1, kRuns, 1);
  CHECK(std::abs(auc(in, scores(World::without, 1, kRuns, 2)) - 0.7602) < 0.006);
  CHECK(std::abs(auc(in, scores(World::replaced, 1, kRuns, 3)) - 0.9214) < 0.004);
  CHECK(auc(scores(World::with, kNoNoise, 100, 1), scores(World::without, kNoNoise, 100, 2)) == 1);
}

TEST_CASE("the attack's lower bound on epsilon stays under the claim, and passes it when the noise is switched off") {
  constexpr double kDelta = 1e-5;
  const Spending claimed{{.sampling = Sampling::full, .noise_multiplier = 1}};
  const double claim = epsilon_by(make_part<Accountant>("accountant", "tight"), claimed, kDelta).value;
  const double honest = lower_bound_on_epsilon(scores(World::with, 1, kRuns, 1), scores(World::without, 1, kRuns, 2), kDelta);
  CHECK(honest > 1.5);  // the attack is worth something
  CHECK(honest < claim);
  const double broken =
      lower_bound_on_epsilon(scores(World::with, kNoNoise, kRuns, 1), scores(World::without, kNoNoise, kRuns, 2), kDelta);
  CHECK(broken > claim);
}

}  // namespace fedstride::test::canary_test
