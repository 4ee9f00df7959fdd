#include "report/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parse_number.hpp"

namespace fedstride {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr Words kMetrics[] = {
    {"test_accuracy", "test accuracy (share of examples)"},
    {"validation_accuracy", "validation accuracy (share of examples)"},
    {"accuracy", "accuracy (share of examples)"},
    {"worst_client_accuracy", "accuracy of the worst client (share of examples)"},
    {"best_client_accuracy", "accuracy of the best client (share of examples)"},
    {"own_accuracy", "clients' accuracy on their own rows (mean)"},
    {"own_accuracy_worst_tenth", "clients' accuracy on their own rows (mean of the worst tenth)"},
    {"own_accuracy_p10", "clients' accuracy on their own rows (10th percentile)"},
    {"own_accuracy_p50", "clients' accuracy on their own rows (median)"},
    {"own_accuracy_p90", "clients' accuracy on their own rows (90th percentile)"},
    {"own_accuracy_deviation", "standard deviation over clients of their accuracy on their own rows"},
    {"own_loss", "clients' loss on their own rows (mean, nats an example)"},
    {"personal_accuracy", "accuracy of clients' own models on their own rows (mean)"},
    {"personal_accuracy_worst_tenth", "accuracy of clients' own models on their own rows (mean of the worst tenth)"},
    {"personal_accuracy_p10", "accuracy of clients' own models on their own rows (10th percentile)"},
    {"personal_accuracy_p50", "accuracy of clients' own models on their own rows (median)"},
    {"personal_accuracy_p90", "accuracy of clients' own models on their own rows (90th percentile)"},
    {"personal_accuracy_deviation", "standard deviation over clients of their own models' accuracy"},
    {"personal_loss", "loss of clients' own models on their own rows (mean, nats an example)"},
    {"backdoor_success", "pictures with the trigger taken for its class (share)"},
    {"test_loss", "test loss (nats an example)"},
    {"validation_loss", "validation loss (nats an example)"},
    {"train_loss", "training loss (nats an example)"},
    {"loss", "loss (nats an example)"},
    {"learning_rate", "learning rate"},
    {"learning_rate_result", "learning rate after the last round"},
    {"rejected_steps", "steps that were undone"},
    {"rejected_share", "share of steps that were undone"},
    {"clipped_share", "share of gradients that were clipped"},
    {"gradient_norm", "gradient norm (mean over examples)"},
    {"epsilon_spent", "epsilon spent, of an example"},
    {"client_epsilon_spent", "epsilon spent, of a client"},
    {"delta_spent", "delta, of an example"},
    {"client_delta_spent", "delta, of a client"},
    {"idle_rounds", "rounds in which no step of anybody was kept"},
    {"seconds", "time of a run: training and averaging (seconds, on this machine)"},
    {"evaluation_seconds", "evaluation, beside it (seconds, on this machine)"},
    {"examples_per_second", "speed (examples a second, on this machine)"},
};

constexpr Words kKeys[] = {
    {"random-fraction", "share of random data (random-fraction)"},
    {"learning-rate", "learning rate"},
    {"batch", "examples a batch"},
    {"noise-multiplier", "noise multiplier (standard deviation over clip)"},
    {"clip", "clip bound (norm of a gradient)"},
    {"clients", "clients"},
    {"local-epochs", "local epochs a round"},
};

std::string looked_up(const auto& table, std::string_view name) {
  for (const auto& [known, words] : table)
    if (known == name) return std::string(words);
  std::string words(name);
  std::ranges::replace_if(
      words, [](char c) { return c == '_' || c == '-'; }, ' ');
  return words;
}

}  // namespace

std::string metric_label(std::string_view metric) { return looked_up(kMetrics, metric); }

std::string title_of_metric(std::string_view metric) {
  std::string title = metric_label(metric);
  title.resize(std::min(title.find(" ("), title.size()));
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::string key_label(std::string_view key) { return looked_up(kKeys, key); }

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  if (!parse_number(text, number) || !std::isfinite(number)) return {};
  return number;
}

std::string value_label(const std::string& key, const std::string& value) {
  const bool says_itself = !number_of(value) && value != "true" && value != "false";
  return says_itself ? value : key + " " + value;
}

bool is_never_negative(std::string_view metric) {
  return is_share(metric) || metric.ends_with("loss") || metric.ends_with("rate") || metric.find("epsilon") != metric.npos;
}

bool is_share(std::string_view metric) {
  return metric.ends_with("accuracy") || metric.ends_with("share") || metric.starts_with("own_accuracy") ||
         metric.starts_with("personal_accuracy") || metric == "backdoor_success";
}

}  // namespace fedstride
