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
  // A single one may be held out for want of any other, and then one row more takes its place (data/split.hpp).
  if (!setup.privacy.client && setup.data.test.size() < 2)
    refuse("the data have " + counted(setup.data.test.size(), "test row") + "; two at least are needed");
}

PrivateEvaluation::PrivateEvaluation(const Setup& setup) : setup_(setup) {
  std::vector<std::span<const Row>> rows;
  std::vector<ClientSkew> skews;
  const auto add = [&](const Row& row, const ClientSkew& skew) {
    rows.emplace_back(&row, 1);
    skews.push_back(skew);
  };
  if (setup.privacy.client) {
    const std::vector<std::span<const Row>> clients = client_test_groups(setup);
    const std::vector<ClientSkew> of_clients = client_skews(setup);
    for (std::size_t client = 0; client < clients.size(); ++client) {
      for (const Row& row : clients[client]) add(row, of_clients[client]);
      sizes_.push_back(clients[client].size());
    }
    rows_ = std::make_unique<GroupEvaluator>(setup.model, client_test_data(setup), rows, skews);
    return;
  }
  all_.resize(setup.data.test.size());
  std::iota(all_.begin(), all_.end(), Row{0});
  for (const Row& row : all_) add(row, setup.training.skew_of_test());
  sizes_.assign(all_.size(), 1);
  rows_ = std::make_unique<GroupEvaluator>(setup.model, setup.data.test, rows, skews);
}

Evaluation PrivateEvaluation::evaluate(const Vector& model, std::uint32_t round, const RandomSource& source,
                                       ForEachPiece for_each_piece) {
  const double bound = setup_.configuration.evaluate_loss_bound;
  NoisyMean mean(2);
  const std::vector<GroupEvaluation> rows = rows_->evaluate(model, for_each_piece);
  auto row = rows.begin();
  for (const std::size_t size : sizes_) {
    std::array<double, 2> record{};  // a client without rows contributes 0, as an absent one would
    for (std::size_t i = 0; i < size; ++i, ++row) {
      const double loss = std::isfinite(row->loss) ? std::clamp(row->loss, 0.0, bound) : bound;
      record[0] += (2 * row->accuracy - 1) / static_cast<double>(size);
      record[1] += (2 * loss / bound - 1) / static_cast<double>(size);
    }
    mean.add(record);
  }
  const std::vector<double> released = mean.release(setup_.configuration.evaluate_noise, sizes_.size(), source,
                                                    {.purpose = Purpose::evaluation_noise, .round = round});
  Evaluation evaluation;
  evaluation.examples = rows.size();
  evaluation.accuracy = (released[0] + 1) / 2;
  evaluation.loss = bound * (released[1] + 1) / 2;
  return evaluation;
}

}  // namespace fedstride
