#include "nn/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/elementary.hpp"
#include "nn/evaluation.hpp"

namespace fedstride {
namespace {

double share(std::uint64_t some, std::uint64_t all) { return all > 0 ? static_cast<double>(some) / static_cast<double>(all) : 0; }

/// The Mann-Whitney statistic of the positive ones' scores over the number of pairs; ties count half.
double area_under_roc(const std::vector<bool>& positive, const std::vector<double>& scores) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) return kNone;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double below = 0, negatives = 0, positives = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double tied_positives = 0, tied_negatives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      ++(positive[order[end]] ? tied_positives : tied_negatives);
    below += tied_positives * (negatives + tied_negatives / 2);
    negatives += tied_negatives;
    positives += tied_positives;
  }
  return positives > 0 && negatives > 0 ? below / (positives * negatives) : kNone;
}

ClassMetrics one_against_rest(const std::vector<bool>& positive, const std::vector<bool>& predicted,
                              const std::vector<double>& scores, std::uint64_t& predictions) {
  ClassMetrics one;
  std::uint64_t correct = 0;
  predictions = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) {
    one.examples += positive[i];
    predictions += predicted[i];
    correct += positive[i] && predicted[i];
  }
  one.recall = share(correct, one.examples);
  one.precision = share(correct, predictions);
  one.f1 = share(2 * correct, one.examples + predictions);
  one.auc = area_under_roc(positive, scores);
  return one;
}

/// The mean of the numbers that exist; NaN if none does.
double mean_of(const std::vector<double>& numbers) {
  double sum = 0, count = 0;
  for (const double number : numbers)
    if (!std::isnan(number)) sum += number, ++count;
  return sum / count;
}

/// The logarithm of a class's probability, which does not underflow.
double log_probability(std::span<const float> scores, Label label) {
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += portable::exp(static_cast<double>(score) - most);
  return static_cast<double>(scores[label]) - most - portable::log(sum);
}

Metrics metrics_of_values(const Dataset& data, std::span<const Row> rows, std::span<const float> scores) {
  const std::size_t outputs = data.form().answers();
  std::vector<double> means(outputs);
  const auto truth = [&](std::size_t i, std::size_t k) {
    return static_cast<double>(data.values[data.place(rows[i]) * outputs + k]);
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < outputs; ++k) means[k] += truth(i, k) / static_cast<double>(rows.size());
  double absolute = 0, square = 0, variation = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < outputs; ++k) {
      const double error = static_cast<double>(scores[i * outputs + k]) - truth(i, k), apart = truth(i, k) - means[k];
      absolute += std::abs(error);
      square += error * error;
      variation += apart * apart;
    }
  const auto count = static_cast<double>(rows.size() * outputs);
  return {.numbers = {{"r2", r_squared(square, variation)}, {"mae", absolute / count}, {"mse", square / count}}};
}

}  // namespace

std::vector<double> probabilities(Targets targets, std::span<const float> scores) {
  std::vector<double> all(scores.begin(), scores.end());
  if (targets == Targets::flags)
    for (double& one : all) one = 1 / (1 + portable::exp(-one));
  if (targets != Targets::classes) return all;
  const double most = *std::ranges::max_element(all);
  for (double& one : all) one = portable::exp(one - most);
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  for (double& one : all) one /= sum;
  return all;
}

Metrics metrics_of(const Dataset& data, std::span<const Row> rows, std::span<const float> scores) {
  if (rows.empty() || data.targets == Targets::positions) return {};
  if (data.targets == Targets::values) return metrics_of_values(data, rows, scores);
  const bool are_classes = data.targets == Targets::classes;
  const auto outputs = static_cast<std::size_t>(data.classes);
  Metrics metrics;
  if (are_classes) metrics.confusion.assign(outputs, std::vector<std::uint64_t>(outputs));
  // By class, then row.
  std::vector<std::vector<bool>> positive(outputs, std::vector<bool>(rows.size())), predicted = positive;
  std::vector<std::vector<double>> likely(outputs, std::vector<double>(rows.size()));
  double loss = 0;
  std::uint64_t correct = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto own = scores.subspan(i * outputs, outputs);
    const std::vector<double> chances = probabilities(data.targets, own);
    const std::size_t place = data.place(rows[i]);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
    for (std::size_t c = 0; c < outputs; ++c) {
      positive[c][i] = are_classes ? data.labels[place] == c : data.values[place * outputs + c] > 0;
      predicted[c][i] = are_classes ? best == c : own[c] > 0;
      likely[c][i] = chances[c];
      correct += are_classes ? positive[c][i] && predicted[c][i] : positive[c][i] == predicted[c][i];
    }
    if (!are_classes) continue;
    ++metrics.confusion[data.labels[place]][best];
    loss -= log_probability(own, data.labels[place]);
  }
  std::vector<double> recalls, f1s, areas;
  for (std::size_t c = 0; c < outputs; ++c) {
    std::uint64_t predictions = 0;
    const ClassMetrics one = one_against_rest(positive[c], predicted[c], likely[c], predictions);
    metrics.classes.push_back(one);
    if (one.examples > 0) recalls.push_back(one.recall);
    if (one.examples + predictions > 0 || !are_classes) f1s.push_back(one.f1);
    areas.push_back(one.auc);
  }
  const double area = are_classes && outputs == 2 ? areas[1] : mean_of(areas);
  metrics.numbers.push_back({"accuracy", share(correct, rows.size() * (are_classes ? 1 : outputs))});
  if (are_classes) metrics.numbers.push_back({"balanced_accuracy", mean_of(recalls)});
  metrics.numbers.push_back({"macro_f1", mean_of(f1s)});
  metrics.numbers.push_back({"auc", area});
  if (are_classes) metrics.numbers.push_back({"log_loss", loss / static_cast<double>(rows.size())});
  return metrics;
}

}  // namespace fedstride
