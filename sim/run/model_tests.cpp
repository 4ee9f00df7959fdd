#include "sim/run/model_tests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "core/seconds_since.hpp"
#include "dp/noise/noisy_mean.hpp"

namespace fedstride {
namespace {

// Each client's test rows and, below, the skews of their inputs.
std::vector<std::span<const Row>> client_test_groups(const Setup& setup) {
  std::vector<std::span<const Row>> groups;
  for (const auto& rows : setup.clients.test) groups.push_back(rows);
  return groups;
}

std::vector<ClientSkew> client_skews(const Setup& setup) {
  std::vector<ClientSkew> skews;
  for (std::size_t client = 0; client < setup.clients.test.size(); ++client)
    skews.push_back(setup.training.skew_of(static_cast<ClientId>(client)));
  return skews;
}

// Test accuracy weighted by each client's mix of classes; empty if the clients' rows are elsewhere or have no classes.
std::vector<double> client_accuracies(const Setup& setup, const Evaluation& test) {
  if (setup.clients.rows.row_count() == 0 || test.class_examples.empty()) return {};
  const Dataset& train = setup.data.train;
  std::vector<double> accuracies;
  accuracies.reserve(setup.clients.rows.size());
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(train.classes));
  for (const auto& rows : setup.clients.rows) {
    std::ranges::fill(counts, 0);
    for (const Row row : rows) ++counts[train.labels[row]];
    accuracies.push_back(test.accuracy_on(counts));
  }
  return accuracies;
}

// Adds the trigger to all images outside the target class, labels them as the target, and returns their rows.
std::vector<Row> with_trigger(const Setup& setup, Dataset& data) {
  const AttackPart& attack = *setup.training.attack.attack;
  std::vector<Row> rows;
  for (Row row = 0; row < data.size(); ++row) {
    if (data.labels[row] == attack.target()) continue;
    attack.trigger(data, row);
    data.labels[row] = attack.target();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(const Setup& setup, EvaluatedOn examples) {
  if (examples == EvaluatedOn::validation)
    return std::make_unique<Evaluator>(setup.model, setup.data.train, setup.data.validation_rows);
  return std::make_unique<Evaluator>(setup.model, setup.data.test,
                                     examples == EvaluatedOn::test ? setup.data.evaluation_rows : std::vector<Row>{},
                                     setup.training.skew_of_test());
}

GroupEvaluator client_evaluator(const Setup& setup) {
  return {setup.model, client_test_data(setup), client_test_groups(setup), client_skews(setup)};
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
    std::array<double, 2> record{};  // a client without rows contributes 0, like an absent one
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

BackdoorTest::BackdoorTest(const Setup& setup)
    : data_(setup.data.test), evaluator_(setup.model, data_, with_trigger(setup, data_)) {}

ModelTests::ModelTests(const Setup& setup, Threads& threads, Fleet& fleet) : setup_(setup), threads_(threads), fleet_(fleet) {
  if (setup.configuration.metrics && setup.data.test.targets == Targets::positions)
    throw usage_error("metrics is true, but answers are one for each position, which have none: leave it out");
  if (setup.configuration.evaluate == EvaluateRule::privately) private_.emplace(setup);
  if (!setup.clients.test.empty())
    clients_.emplace(setup.model, client_test_data(setup), client_test_groups(setup), client_skews(setup));
  if (setup.training.attack.attack->has_backdoor()) backdoor_.emplace(setup);
}

void ModelTests::test(const Vector& model, RoundRecord& record) {
  record.test = evaluate(model, record.round, EvaluatedOn::test, record.evaluation_seconds);
  if (!record.test) return;
  if (setup_.configuration.metrics && !record.test->is_told) {
    const auto start = std::chrono::steady_clock::now();
    threads_.run([&] { record.test_metrics = evaluator_of(EvaluatedOn::test).metrics(model, threads_).numbers; });
    record.evaluation_seconds += seconds_since(start);
  }
  record.test_is_covered = is_covered(*record.test);
  if (!setup_.data.validation_rows.empty())
    record.validation = evaluate(model, record.round, EvaluatedOn::validation, record.evaluation_seconds);
  record.client_accuracy = client_accuracies(setup_, *record.test);
  if (clients_) threads_.run([&] { record.client_test = clients_->evaluate(model, threads_); });
  if (backdoor_) threads_.run([&] { record.backdoor_success = backdoor_->success(model, threads_); });
}

Evaluator& ModelTests::evaluator_of(EvaluatedOn examples) {
  auto& evaluator = evaluators_[examples];
  if (evaluator == nullptr) evaluator = make_evaluator(setup_, examples);
  return *evaluator;
}

std::optional<Evaluation> ModelTests::evaluate(const Vector& model, std::uint32_t round, EvaluatedOn examples, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Evaluation> result;
  if (private_ && examples != EvaluatedOn::validation) {
    threads_.run([&] { result = private_->evaluate(model, round, source_of(setup_), threads_); });
  } else if (result = fleet_.evaluate(model, examples); !result && setup_.model.has_layers()) {
    threads_.run([&] { result = evaluator_of(examples).evaluate(model, threads_); });
  }
  if (result) seconds += seconds_since(start);
  return result;
}

bool ModelTests::is_covered(const Evaluation& test) const {
  return is_private() || (setup_.data.has_public_test && !test.is_told);
}

}  // namespace fedstride
