#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/spread.hpp"
#include "core/text.hpp"
#include "sim/run/evaluate.hpp"
#include "sim/run/results.hpp"

namespace fedstride {
namespace {

struct EvaluateFlags {
  std::string model;
  std::string dataset;
  DataOptions options;
  Settings reading;
  std::string part = "test";
  int threads = 0;
  bool json = false;
  bool per_client = false;
  int fine_tune = 0;
};

void print_spread(const std::string& what, const Spread& spread) {
  std::printf("%s: mean %.4f, deviation %.4f, 10th percentile %.4f, median %.4f, 90th %.4f, worst tenth %.4f\n", what.c_str(),
              spread.mean, spread.deviation, spread.tenth, spread.median, spread.ninetieth, spread.worst_tenth);
}

std::string four_places(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", value);
  return std::isnan(value) ? "-" : text;
}

// Without the accuracy, which is shown before: "balanced accuracy 0.9000, ..."; a dash for what does not exist.
std::string metrics_line(const Metrics& metrics) {
  std::vector<std::string> words;
  for (const auto& [name, value] : std::span(metrics.numbers).subspan(std::min<std::size_t>(1, metrics.numbers.size()))) {
    std::string label(name);
    std::ranges::replace(label, '_', ' ');
    words.push_back(label + " " + four_places(value));
  }
  return joined(words);
}

void print_metrics(const Metrics& metrics, const std::vector<std::string>& class_names) {
  if (!metrics.numbers.empty()) std::printf("%s\n", metrics_line(metrics).c_str());
  std::size_t width = 0;
  for (const auto& name : class_names) width = std::max(width, name.size() + 1);
  for (std::size_t c = 0; c < metrics.classes.size(); ++c) {
    const ClassMetrics& one = metrics.classes[c];
    const std::string name = c < class_names.size() ? one_line(class_names[c]) : "";
    if (one.examples == 0) continue;
    std::printf("  class %-3zu %-*s accuracy %.4f of %llu, precision %.4f, F1 %.4f, AUC %s\n", c, static_cast<int>(width),
                name.c_str(), one.recall, static_cast<unsigned long long>(one.examples), one.precision, one.f1,
                four_places(one.auc).c_str());
  }
}

void print_confusion(const std::vector<std::vector<std::uint64_t>>& confusion, const std::vector<std::string>& class_names) {
  if (confusion.empty()) return;
  std::printf("confusion matrix on the test part (rows: classes, columns: predictions):\n");
  std::size_t digits = 5;
  for (const auto& line : confusion)
    for (const std::uint64_t count : line) digits = std::max(digits, std::to_string(count).size() + 1);
  std::printf("  %-9s", "");
  for (std::size_t c = 0; c < confusion.size(); ++c) std::printf("%*zu", static_cast<int>(digits), c);
  std::printf("\n");
  for (std::size_t c = 0; c < confusion.size(); ++c) {
    std::printf("  class %-3zu", c);
    for (const std::uint64_t count : confusion[c])
      std::printf("%*llu", static_cast<int>(digits), static_cast<unsigned long long>(count));
    std::printf("  %s\n", c < class_names.size() ? one_line(class_names[c]).c_str() : "");
  }
}

void print_not_covered() {
  std::printf(
      "note: these rows are protected by the run; no privacy guarantee covers this result, so do not publish it or use it for "
      "selection\n");
}

void evaluate_per_client(const EvaluateFlags& arguments) {
  if (!arguments.dataset.empty())
    throw usage_error("dataset is '" + arguments.dataset + "'; --per-client always uses the run's own");
  if (!arguments.reading.empty())
    throw usage_error(arguments.reading.begin()->first +
                      " cannot be combined with --per-client, which reads the data as the run did");
  const ClientsEvaluation result = evaluate_clients(arguments.model, arguments.options.data_dir, arguments.fine_tune,
                                                    arguments.threads, arguments.options.data);
  if (arguments.json) {
    std::cout << clients_json(result) << "\n";
    return;
  }
  const std::string metric(result.metric);
  print_spread(metric + " of the run's model on the clients' own test rows",
               spread_of_clients(result.global, &GroupEvaluation::accuracy));
  std::printf("mean by rows %.4f\n", mean_by_rows(result.global));
  if (!result.fine_tuned.empty())
    print_spread(
        metric + " of each client's model after " + counted(static_cast<std::uint64_t>(arguments.fine_tune), "local epoch"),
        spread_of_clients(result.fine_tuned, &GroupEvaluation::accuracy));
  if (!result.personal.empty())
    print_spread(metric + " of each client's personal model", spread_of_clients(result.personal, &GroupEvaluation::accuracy));
  for (std::size_t client = 0; client < result.global.size(); ++client) {
    const GroupEvaluation& global = result.global[client];
    const std::string name = client < result.client_names.size() ? " " + one_line(result.client_names[client]) : "";
    if (global.examples == 0) {
      std::printf("  client %-5zu%s has no test rows\n", client, name.c_str());
      continue;
    }
    std::printf("  client %-5zu%s %6llu rows, %s %.4f, loss %.4f", client, name.c_str(),
                static_cast<unsigned long long>(global.examples), metric.c_str(), global.accuracy, global.loss);
    if (!result.client_metrics[client].numbers.empty()) std::printf(" (%s)", metrics_line(result.client_metrics[client]).c_str());
    if (!result.fine_tuned.empty())
      std::printf("; fine-tuned %.4f, loss %.4f", result.fine_tuned[client].accuracy, result.fine_tuned[client].loss);
    if (!result.personal.empty())
      std::printf("; its personal model %.4f, loss %.4f", result.personal[client].accuracy, result.personal[client].loss);
    std::printf("\n");
  }
  if (!result.is_covered) print_not_covered();
  if (!result.metrics.numbers.empty())
    std::printf("the run's model on the whole test part: %s %s, ", metric.c_str(),
                four_places(result.metrics.numbers[0].value).c_str());
  print_metrics(result.metrics, result.class_names);
  print_confusion(result.metrics.confusion, result.class_names);
}

void evaluate(const EvaluateFlags& arguments) {
  stop_on_signals();  // while data are converted
  if (arguments.per_client) return evaluate_per_client(arguments);
  if (arguments.fine_tune != 0)
    throw usage_error("fine-tune is " + std::to_string(arguments.fine_tune) + "; it needs --per-client");
  DataOptions options = arguments.options;
  options.read = reading_settings(arguments.reading);
  const auto result = evaluate_file(arguments.model, arguments.dataset, options, arguments.part == "train", arguments.threads);
  for (const std::string& note : result.notes) std::cerr << "note: " << note << "\n";
  if (arguments.json) {
    std::cout << evaluation_json(result) << "\n";
    return;
  }
  const Evaluation& evaluation = result.evaluation;
  std::printf("%s, %s part, %s: %s %.4f, loss %.4f\n", result.dataset.c_str(), arguments.part.c_str(),
              counted(evaluation.examples, "example").c_str(), std::string(evaluation.metric).c_str(), evaluation.accuracy,
              evaluation.loss);
  if (!result.is_covered) print_not_covered();
  print_metrics(result.metrics, result.class_names);
  print_confusion(result.metrics.confusion, result.class_names);
}

}  // namespace

void add_evaluate_command(CLI::App& app) {
  const auto [command, flags] = add_command<EvaluateFlags>(
      app, "evaluate", "Report a model's accuracy and loss on a data set.",
      "Accuracy is a share of the examples; loss is the mean softmax cross-entropy in nats. For regression, they are R2 and\n"
      "the mean squared error. Further metrics are as scikit-learn defines them.\n"
      "Example: fedstride evaluate runs/quickstart/model.safetensors",
      evaluate);
  add_flag(command, "MODEL", flags.model, Place::file, "a .safetensors file written by fedstride, or the folder of a run",
           Needed::yes);
  add_flag(command, "--dataset", flags.dataset, {.word = "NAME", .known = known_datasets()},
           "data set (default: the one the model was trained on)");
  add_data_flag(command, flags.options.data);
  add_reading_flags(command, flags.reading);
  add_data_folder_flag(command, flags.options.data_dir);
  add_choice_flag(command, "--part", flags.part, {"test", "train"}, "part of the data set");
  add_number_flag(command, "--threads", flags.threads, {.low = 0, .high = 1024}, "threads; 0: one for each processor");
  add_switch(command, "--per-client", flags.per_client,
             "evaluate each client of the run on its own test rows (--client-test), with its personal model if it has one");
  add_number_flag(command, "--fine-tune", flags.fine_tune, {.low = 0, .high = 1000000},
                  "with --per-client: local epochs of fine-tuning by each client; 0: none");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
