#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/text.hpp"
#include "run/evaluate.hpp"

namespace fedstride {
namespace {

struct EvaluateFlags {
  std::string model;
  std::string dataset;
  std::string data_dir;
  std::string part = "test";
  int threads = 0;
  bool json = false;
};

void evaluate(const EvaluateFlags& arguments) {
  const auto result =
      evaluate_file(arguments.model, arguments.dataset, arguments.data_dir, arguments.part == "train", arguments.threads);
  if (arguments.json) {
    std::printf("%s\n", evaluation_json(result).c_str());
    return;
  }
  const Evaluation& evaluation = result.evaluation;
  std::printf("%s, %s part, %s: accuracy %.4f, loss %.4f\n", result.dataset.c_str(), arguments.part.c_str(),
              counted(evaluation.examples, "example").c_str(), evaluation.accuracy, evaluation.loss);
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
      "Accuracy is a share of the examples, loss the mean softmax cross-entropy in nats.\n"
      "Example: fedstride evaluate runs/quickstart/model.safetensors");
  auto arguments = std::make_shared<EvaluateFlags>();
  command.allow_extras();
  takes(*command.add_option("MODEL", arguments->model, "a .safetensors file that fedstride wrote, or the folder of a run")
             ->required(),
        Place::file);
  takes(*command.add_option("--dataset", arguments->dataset, "data set [the one it was trained on]"),
        {.word = "NAME", .known = known_datasets()});
  add_data_folder_flag(command, arguments->data_dir);
  add_choice_flag(command, "--part", arguments->part, {"test", "train"}, "which examples of it");
  add_number_flag(command, "--threads", arguments->threads, {.low = 0, .high = 1024}, "threads; 0: one for each processor");
  add_json_switch(command, arguments->json);
  when_called(command, [arguments] { evaluate(*arguments); });
}

}  // namespace fedstride
