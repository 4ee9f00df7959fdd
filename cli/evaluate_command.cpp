#include <algorithm>
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

void print_confusion(const ClientsEvaluation& result) {
  if (result.confusion.empty()) return;
  std::printf("confusion matrix on the test part (rows: classes, columns: predictions):\n");
  std::size_t digits = 5;
  for (const auto& line : result.confusion)
    for (const std::uint64_t count : line) digits = std::max(digits, std::to_string(count).size() + 1);
  std::printf("  %-9s", "");
  for (std::size_t c = 0; c < result.confusion.size(); ++c) std::printf("%*zu", static_cast<int>(digits), c);
  std::printf("\n");
  for (std::size_t c = 0; c < result.confusion.size(); ++c) {
    std::printf("  class %-3zu", c);
    for (const std::uint64_t count : result.confusion[c])
      std::printf("%*llu", static_cast<int>(digits), static_cast<unsigned long long>(count));
    std::printf("  %s\n", c < result.class_names.size() ? one_line(result.class_names[c]).c_str() : "");
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
  if (!result.fine_tuned.empty())
    print_spread(
        metric + " of each client's model after " + counted(static_cast<std::uint64_t>(arguments.fine_tune), "local epoch"),
        spread_of_clients(result.fine_tuned, &GroupEvaluation::accuracy));
  if (!result.personal.empty())
    print_spread(metric + " of each client's personal model", spread_of_clients(result.personal, &GroupEvaluation::accuracy));
  for (std::size_t client = 0; client < result.global.size(); ++client) {
    const GroupEvaluation& global = result.global[client];
    if (global.examples == 0) {
      std::printf("  client %-5zu has no test rows\n", client);
      continue;
    }
    std::printf("  client %-5zu %6llu rows, %s %.4f, loss %.4f", client, static_cast<unsigned long long>(global.examples),
                metric.c_str(), global.accuracy, global.loss);
    if (!result.fine_tuned.empty())
      std::printf("; fine-tuned %.4f, loss %.4f", result.fine_tuned[client].accuracy, result.fine_tuned[client].loss);
    if (!result.personal.empty())
      std::printf("; its personal model %.4f, loss %.4f", result.personal[client].accuracy, result.personal[client].loss);
    std::printf("\n");
  }
  if (!result.is_covered) print_not_covered();
  print_confusion(result);
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
  std::size_t width = 0;
  for (const auto& name : result.class_names) width = std::max(width, name.size() + 1);
  for (std::size_t c = 0; c < evaluation.class_examples.size(); ++c) {
    if (evaluation.class_examples[c] == 0) continue;
    const std::string name = c < result.class_names.size() ? result.class_names[c] : "";
    std::printf("  class %-3zu %-*s accuracy %.4f of %llu\n", c, static_cast<int>(width), name.c_str(),
                static_cast<double>(evaluation.class_correct[c]) / static_cast<double>(evaluation.class_examples[c]),
                static_cast<unsigned long long>(evaluation.class_examples[c]));
  }
}

}  // namespace

void add_evaluate_command(CLI::App& app) {
  const auto [command, flags] = add_command<EvaluateFlags>(
      app, "evaluate", "Report a model's accuracy and loss on a data set.",
      "Accuracy is a share of the examples; loss is the mean softmax cross-entropy in nats. For regression, they are R2 and\n"
      "the mean squared error.\n"
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
  add_switch(
      command, "--per-client", flags.per_client,
      "evaluate each client of the run on its own test rows (--client-test), with its personal model if it has one, and print "
      "a confusion matrix");
  add_number_flag(command, "--fine-tune", flags.fine_tune, {.low = 0, .high = 1000000},
                  "with --per-client: local epochs of fine-tuning by each client; 0: none");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
