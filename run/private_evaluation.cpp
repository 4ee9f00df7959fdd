#include "run/private_evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/noise/noisy_mean.hpp"
#include "run/evaluate_clients.hpp"

namespace fedstride {

void check_private_evaluation(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  if (configuration.evaluate != EvaluateRule::privately) return;
  const auto refuse = [](const std::string& why) { throw usage_error("evaluate is 'private'; " + why); };
  if (!setup.privacy.on()) refuse("without dp nothing is protected, and only plain is valid");
  if (!(configuration.evaluate_noise > 0))
    refuse("evaluate-noise, the noise multiplier of each evaluation, is " + number_text(configuration.evaluate_noise) +
           " and must be a number above 0");
  if (configuration.evaluate_rows > 0) refuse("it is of all protected test rows: only evaluate-rows 0 is valid");
  if (!setup.model.has_layers()) refuse("code of your own tests the model, which no release covers: only plain is valid");
  if (setup.data.train.targets == Targets::values)
    refuse("answers that are numbers have no accuracy with a bound: only plain is valid");
  if (setup.training.local_release) refuse("with client-noise local nobody is trusted with the noise: only plain is valid");
  if (setup.privacy.client && setup.client_test.empty())
    refuse(
        "clients are protected and have no test rows of their own: name --client-test, or data with natural clients and a test "
        "part");
  if (!setup.privacy.client && setup.data.test.size() == 0) refuse("there is no test row");
}

PrivateEvaluation::PrivateEvaluation(const Setup& setup) : setup_(setup) {
  if (setup.privacy.client) {
    groups_ =
        std::make_unique<GroupEvaluator>(setup.model, client_test_data(setup), client_test_groups(setup), client_skews(setup));
    return;
  }
  rows_.resize(setup.data.test.size());
  std::iota(rows_.begin(), rows_.end(), Row{0});
  std::vector<std::span<const Row>> groups;
  for (const Row& row : rows_) groups.emplace_back(&row, 1);
  groups_ = std::make_unique<GroupEvaluator>(setup.model, setup.data.test, groups);
}

Evaluation PrivateEvaluation::evaluate(const Vector& model, std::uint32_t round, const RandomSource& source,
                                       ForEachPiece for_each_piece) {
  const double bound = setup_.configuration.evaluate_loss_bound;
  NoisyMean mean(2);
  std::uint64_t examples = 0;
  const std::vector<GroupEvaluation> records = groups_->evaluate(model, for_each_piece);
  for (const GroupEvaluation& record : records) {
    examples += record.examples;
    if (record.examples == 0) continue;  // such a client contributes 0, as an absent one would
    const double loss = std::isfinite(record.loss) ? std::clamp(record.loss, 0.0, bound) : bound;
    mean.add(std::array{2 * record.accuracy - 1, 2 * loss / bound - 1});
  }
  const std::vector<double> released = mean.release(setup_.configuration.evaluate_noise, records.size(), source,
                                                    {.purpose = Purpose::evaluation_noise, .round = round});
  Evaluation evaluation;
  evaluation.examples = examples;
  evaluation.accuracy = (released[0] + 1) / 2;
  evaluation.loss = bound * (released[1] + 1) / 2;
  return evaluation;
}

}  // namespace fedstride
