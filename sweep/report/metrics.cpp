#include "sweep/report/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/client_report.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr Words kMetrics[] = {
    {"test_accuracy", "test accuracy (share of examples)"},
    {"best_test_accuracy", "highest test accuracy of all rounds (share of examples)"},
    {"validation_accuracy", "validation accuracy (share of examples)"},
    {"accuracy", "accuracy (share of examples)"},
    {"chance_accuracy", "accuracy of always predicting the commonest class (share of test examples)"},
    {"test_r2", "test R2 (share of the variance explained)"},
    {"validation_r2", "validation R2 (share of the variance explained)"},
    {"own_r2", "clients' R2 on their own rows (mean)"},
    {"personal_r2", "personal models' R2 on clients' own rows (mean)"},
    {"worst_client_accuracy", "accuracy of the worst client (share of examples)"},
    {"best_client_accuracy", "accuracy of the best client (share of examples)"},
    {"own_accuracy", "clients' accuracy on their own rows (mean)"},
    {"own_accuracy_worst_tenth", "clients' accuracy on their own rows (mean of the worst tenth)"},
    {"own_accuracy_p10", "clients' accuracy on their own rows (10th percentile)"},
    {"own_accuracy_p50", "clients' accuracy on their own rows (median)"},
    {"own_accuracy_p90", "clients' accuracy on their own rows (90th percentile)"},
    {"own_accuracy_deviation", "standard deviation over clients of the accuracy on their own rows"},
    {"own_loss", "clients' loss on their own rows (mean, nats per example)"},
    {"personal_accuracy", "personal models' accuracy on clients' own rows (mean)"},
    {"personal_accuracy_worst_tenth", "personal models' accuracy on clients' own rows (mean of the worst tenth)"},
    {"personal_accuracy_p10", "personal models' accuracy on clients' own rows (10th percentile)"},
    {"personal_accuracy_p50", "personal models' accuracy on clients' own rows (median)"},
    {"personal_accuracy_p90", "personal models' accuracy on clients' own rows (90th percentile)"},
    {"personal_accuracy_deviation", "standard deviation over clients of their personal models' accuracy"},
    {"personal_loss", "personal models' loss on clients' own rows (mean, nats per example)"},
    {"backdoor_success", "backdoor success (share of triggered images)"},
    {"test_loss", "test loss (nats per example)"},
    {"validation_loss", "validation loss (nats per example)"},
    {"train_loss", "training loss (nats per example)"},
    {"learning_rate_result", "learning rate after the last round"},
    {"uplink_bytes", "bytes of updates"},
    {"downlink_bytes", "bytes of models and requests"},
    {"wasted_bytes", "bytes to and from clients whose update is not in any sum"},
    {"megabytes", "megabytes sent and received"},
    {"test_rounds_to_target", "rounds to the target"},
    {"test_seconds_to_target", "virtual seconds to the target"},
    {"test_megabytes_to_target", "megabytes to the target"},
    {"validation_rounds_to_target", "rounds to the target (validation rows)"},
    {"validation_seconds_to_target", "virtual seconds to the target (validation rows)"},
    {"validation_megabytes_to_target", "megabytes to the target (validation rows)"},
    {"test_target_reached", "runs that reached the target (share)"},
    {"rejected_steps", "rejected steps"},
    {"rejected_share", "share of rejected steps"},
    {"epsilon_spent", "example-level epsilon spent"},
    {"client_epsilon_spent", "client-level epsilon spent"},
    {"delta_spent", "example-level delta"},
    {"client_delta_spent", "client-level delta"},
    {"idle_rounds", "rounds in which no client kept a step"},
    {"seconds", "run time: training and averaging (seconds, on this machine)"},
    {"evaluation_seconds", "evaluation time (seconds, on this machine)"},
    {"examples_per_second", "speed (examples per second, on this machine)"},
};

constexpr Words kKeys[] = {
    {"random-fraction", "share of random data (random-fraction)"},
    {"learning-rate", "learning rate"},
    {"batch", "batch size (examples)"},
    {"noise-multiplier", "noise multiplier (standard deviation over clip)"},
    {"clip", "clip bound (norm of a gradient)"},
    {"clients", "clients"},
    {"local-epochs", "local epochs per round"},
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

std::string metric_label(std::string_view metric) {
  std::string label = looked_up(kMetrics, metric);
  for_each_report_field([&](const auto& field) {
    if (field.name == metric && std::ranges::find(kMetrics, metric, &Words::first) == std::end(kMetrics)) label = field.text;
  });
  return label;
}

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
  const bool is_name = !number_of(value) && value != "true" && value != "false";
  return is_name ? value : key + " " + value;
}

bool is_never_negative(std::string_view metric) {
  return is_share(metric) || metric.ends_with("loss") || metric.ends_with("rate") || metric.find("epsilon") != metric.npos;
}

bool is_share(std::string_view metric) {
  return metric.ends_with("accuracy") || metric.ends_with("share") || metric.starts_with("own_accuracy") ||
         metric.starts_with("personal_accuracy") || metric == "backdoor_success";
}

}  // namespace fedstride
