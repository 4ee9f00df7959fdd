#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "run/evaluate.hpp"
#include "run/evaluate_clients.hpp"

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
  std::printf("confusion on the test part, a line for each class, a column for each predicted one:\n");
  std::size_t digits = 5;
  for (const auto& line : result.confusion)
    for (const std::uint64_t count : line) digits = std::max(digits, std::to_string(count).size() + 1);
  for (std::size_t c = 0; c < result.confusion.size(); ++c) {
    std::printf("  class %-3zu", c);
    for (const std::uint64_t count : result.confusion[c])
      std::printf("%*llu", static_cast<int>(digits), static_cast<unsigned long long>(count));
    std::printf("  %s\n", c < result.class_names.size() ? result.class_names[c].c_str() : "");
  }
}

void print_not_covered() {
  std::printf("note: the run protects these rows; no release covers what is measured on them, and nothing may be chosen by it\n");
}

void evaluate_per_client(const EvaluateFlags& arguments) {
  if (!arguments.dataset.empty())
    throw usage_error("dataset is '" + arguments.dataset + "'; with --per-client it is the run's own");
  if (!arguments.reading.empty())
    throw usage_error(arguments.reading.begin()->first + " is given; with --per-client data are read as the run read them");
  const ClientsEvaluation result = evaluate_clients(arguments.model, arguments.options.data_dir, arguments.fine_tune,
                                                    arguments.threads, arguments.options.data);
  if (arguments.json) {
    std::cout << clients_json(result) << "\n";
    return;
  }
  const std::string metric(result.metric);
  print_spread(metric + " of the run's model on clients' own test rows",
               spread_of_clients(result.global, &GroupEvaluation::accuracy));
  if (!result.fine_tuned.empty())
    print_spread(
        metric + " of each client's model after " + counted(static_cast<std::uint64_t>(arguments.fine_tune), "local epoch"),
        spread_of_clients(result.fine_tuned, &GroupEvaluation::accuracy));
  if (!result.personal.empty())
    print_spread(metric + " of each client's personal model", spread_of_clients(result.personal, &GroupEvaluation::accuracy));
  for (std::size_t client = 0; client < result.global.size(); ++client) {
    const GroupEvaluation& global = result.global[client];
    std::printf("  client %-5zu %6llu rows, %s %.4f, loss %.4f", client, static_cast<unsigned long long>(global.examples),
                metric.c_str(), global.accuracy, global.loss);
    if (!result.fine_tuned.empty())
      std::printf("; its own model %.4f, loss %.4f", result.fine_tuned[client].accuracy, result.fine_tuned[client].loss);
    if (!result.personal.empty())
      std::printf("; its personal model %.4f, loss %.4f", result.personal[client].accuracy, result.personal[client].loss);
    std::printf("\n");
  }
  if (!result.is_covered) print_not_covered();
  print_confusion(result);
}

void evaluate(const EvaluateFlags& arguments) {
  if (arguments.per_client) return evaluate_per_client(arguments);
  if (arguments.fine_tune != 0)
    throw usage_error("fine-tune is " + std::to_string(arguments.fine_tune) + "; it goes with --per-client alone");
  DataOptions options = arguments.options;
  options.read = reading_settings(arguments.reading);
  const auto result = evaluate_file(arguments.model, arguments.dataset, options, arguments.part == "train", arguments.threads);
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
  CLI::App& command = *app.add_subcommand("evaluate", "Accuracy and loss of a model on a data set.");
  command.footer(
      "Accuracy is a share of the examples, loss the mean softmax cross-entropy in nats; data whose answers are numbers\n"
      "have R2 and the mean squared error instead.\n"
      "Example: fedstride evaluate runs/quickstart/model.safetensors");
  auto arguments = std::make_shared<EvaluateFlags>();
  command.allow_extras();
  takes(*command.add_option("MODEL", arguments->model, "a .safetensors file that fedstride wrote, or the folder of a run")
             ->required(),
        Place::file);
  takes(*command.add_option("--dataset", arguments->dataset, "data set [the one it was trained on]"),
        {.word = "NAME", .known = known_datasets()});
  add_data_flag(command, arguments->options.data);
  add_reading_flags(command, arguments->reading);
  add_data_folder_flag(command, arguments->options.data_dir);
  add_choice_flag(command, "--part", arguments->part, {"test", "train"}, "which examples of it");
  add_number_flag(command, "--threads", arguments->threads, {.low = 0, .high = 1024}, "threads; 0: one for each processor");
  add_switch(command, "--per-client", arguments->per_client,
             "each client of the run on test rows of its own (--client-test), its personal model if it has one, and the model's "
             "confusion matrix");
  add_number_flag(command, "--fine-tune", arguments->fine_tune, {.low = 0, .high = 1000000},
                  "with --per-client: also the model that each client makes of it in so many local epochs");
  add_json_switch(command, arguments->json);
  when_called(command, [arguments] { evaluate(*arguments); });
}

}  // namespace fedstride
