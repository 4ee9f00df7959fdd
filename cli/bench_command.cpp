#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/network_bench.hpp"
#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/fleet_flags.hpp"
#include "cli/settings_flags.hpp"
#include "core/build_info.hpp"
#include "core/json.hpp"
#include "mpi/ranks_bench.hpp"
#include "nn/models.hpp"

namespace fedstride {
namespace {

struct BenchFlags {
  FleetFlags fleet;
  std::string model;
  int batch = 10;
  double seconds = 1;
  bool json = false;
};

/// The examples that a named model is for; other lines get pictures.
ExampleForm form_for(std::string_view model) {
  const NamedModel* named = find_named_model(model);
  return named == nullptr ? ExampleForm{{32, 32, 3}, 10} : named->form;
}

// The default measurements: the networks of the speed goals, on the inputs they are meant for.
struct Case {
  const char* name;
  const char* model;
  ExampleForm form;
  int batch = 0;  ///< 0: the one asked for
};
const Case kCases[] = {{"adadp-cnn", "adadp-cnn", form_for("adadp-cnn")},
                       {"pfl-cnn", "pfl-cnn", form_for("pfl-cnn")},
                       {"874-parameter MLP", "dense 32 | relu | dense classes", {{1, 1, 16}, 10}},
                       {"resnet20-gn", "resnet20-gn", form_for("resnet20-gn"), 32},
                       {"femnist-cnn", "femnist-cnn", form_for("femnist-cnn"), 20},
                       {"leaf-lstm", "leaf-lstm", form_for("leaf-lstm"), 10},
                       {"small-transformer", "small-transformer", form_for("small-transformer"), 16}};

Json measure(const char* name, const Model& model, const BenchFlags& arguments, double peak, int batch = 0) {
  const NetworkSpeed speed = measure_network(model, batch > 0 ? batch : arguments.batch, arguments.seconds);
  const double evaluated = speed.batch / speed.evaluate_seconds;
  if (!arguments.json)
    std::printf(
        "%-18s batch %d: %9.0f examples/s  %8.1f us a step  %6.1f GFLOP/s  %3.0f %% of peak  (forward only: %.0f "
        "examples/s)\n",
        name, speed.batch, speed.examples_per_second(), speed.step_seconds * 1e6, speed.flops_per_second() * 1e-9,
        100 * speed.flops_per_second() / peak, evaluated);
  return {{"name", name},
          {"batch", speed.batch},
          {"examples_per_second", speed.examples_per_second()},
          {"step_seconds", speed.step_seconds},
          {"flops_per_second", speed.flops_per_second()},
          {"share_of_peak", speed.flops_per_second() / peak},
          {"evaluated_examples_per_second", evaluated}};
}

// A noisy release against a plain gradient of the same batch.
struct PrivateCase {
  const char* name;
  const char* model;
  const char* frozen;
  ExampleForm form;
  int batch = 200;
};
const PrivateCase kPrivateCases[] = {
    {"adadp-cnn's dense part", "dense 500 | relu | dense 500 | relu | dense classes", "", {{1, 1, 1600}, 10}},
    {"adadp-cnn", "adadp-cnn", "", form_for("adadp-cnn")},
    {"adadp-cnn, convolutions frozen", "adadp-cnn", "conv1,conv2", form_for("adadp-cnn")},
    {"tutorial-cnn", "tutorial-cnn", "", {{28, 28, 1}, 10}},
    {"resnet20-gn", "resnet20-gn", "", form_for("resnet20-gn"), 32},
    {"femnist-cnn", "femnist-cnn", "", form_for("femnist-cnn"), 20},
    {"leaf-lstm", "leaf-lstm", "", form_for("leaf-lstm"), 10},
    {"small-transformer", "small-transformer", "", form_for("small-transformer"), 16}};

Json measure_private_steps(const BenchFlags& arguments) {
  if (!arguments.json)
    std::printf("A private step (norms, clipping, sum, noise) against a plain gradient, pairs one after the other:\n");
  Json rows = Json::array();
  for (const PrivateCase& one : kPrivateCases) {
    const Model model = Model::parse(one.model, one.form);
    const auto frozen = *one.frozen == '\0' ? std::vector<bool>{} : model.frozen(one.frozen);
    const PrivateSpeed speed = measure_private(model, one.batch, frozen, arguments.seconds);
    rows.push_back({{"name", one.name},
                    {"batch", one.batch},
                    {"plain_seconds", speed.plain_seconds},
                    {"private_seconds", speed.private_seconds},
                    {"ratio", speed.ratio}});
    if (!arguments.json)
      std::printf("%-31s batch %3d  plain %7.2f ms  private %7.2f ms  ratio %.2f\n", one.name, one.batch,
                  speed.plain_seconds * 1e3, speed.private_seconds * 1e3, speed.ratio);
  }
  return rows;
}

// A gradient under each optimiser against one under SGD, in a network whose weights fit in no cache of a core's own.
Json measure_optimizers(const BenchFlags& arguments) {
  const Model model = Model::parse("adadp-cnn", {32, 32, 3}, 10);
  if (!arguments.json)
    std::printf("A gradient with its part of the step, adadp-cnn, batch %d, against SGD's, in pairs:\n", arguments.batch);
  Json rows = Json::array();
  for (const std::string& name : Optimizer::registry().names()) {
    Optimizer optimizer;
    optimizer.choose(name);
    const OptimizerSpeed speed = measure_optimizer(model, arguments.batch, optimizer, arguments.seconds);
    rows.push_back({{"name", name}, {"seconds", speed.step_seconds}, {"ratio", speed.ratio}});
    if (!arguments.json) std::printf("%-11s %7.0f us  ratio %.3f\n", name.c_str(), speed.step_seconds * 1e6, speed.ratio);
  }
  return rows;
}

// A step of SGD under each local objective against one under the loss alone.
Json measure_objectives(const BenchFlags& arguments) {
  const Model model = Model::parse("adadp-cnn", {32, 32, 3}, 10);
  if (!arguments.json)
    std::printf("A step of SGD under a local objective, adadp-cnn, batch %d, against the plain one, in pairs:\n",
                arguments.batch);
  Json rows = Json::array();
  for (const std::string& name : LocalObjective::registry().names()) {
    LocalObjective objective;
    objective.choose(name);
    const OptimizerSpeed speed = measure_objective(model, arguments.batch, objective, arguments.seconds);
    rows.push_back({{"name", name}, {"seconds", speed.step_seconds}, {"ratio", speed.ratio}});
    if (!arguments.json) std::printf("%-11s %7.0f us  ratio %.3f\n", name.c_str(), speed.step_seconds * 1e6, speed.ratio);
  }
  return rows;
}

// A round's messages between the ranks of a job.
void bench_ranks(const BenchFlags& arguments) {
  const auto ranks = join_ranks(arguments.fleet, nullptr);
  const std::string line = arguments.model.empty() ? "adadp-cnn" : arguments.model;
  const std::size_t parameters = Model::parse(line, {32, 32, 3}, 10).size();
  const RanksSpeed speed = measure_ranks(*ranks, parameters, arguments.seconds);
  if (ranks->rank() > 0) return;
  std::printf("%d ranks, %s (%zu parameters): sum %.2f ms, model to all %.2f ms, 1 KiB from each %.3f ms\n", ranks->size(),
              line.c_str(), parameters, speed.sum * 1e3, speed.broadcast * 1e3, speed.answers * 1e3);
}

void bench(const BenchFlags& arguments) {
  const BuildInfo build = build_info();
  const double peak = measure_fp32_peak();
  if (!arguments.json)
    std::printf(
        "fedstride %s, %s, %s; one thread; measured fp32 peak %.1f GFLOP/s\n"
        "A step is a gradient of one batch of random data and an SGD update. GFLOP/s count the dense arithmetic of\n"
        "forward pass and both gradients, also where sparsity or a faster algorithm saves it: above 100 %% is "
        "possible.\n",
        build.version.c_str(), build.compiler.c_str(), build.instruction_set.c_str(), peak * 1e-9);
  Json json{{"version", build.version},
            {"compiler", build.compiler},
            {"instruction_set", build.instruction_set},
            {"peak_flops_per_second", peak}};
  Json& steps = json["steps"] = Json::array();
  if (!arguments.model.empty()) {
    steps.push_back(measure(arguments.model.c_str(), Model::parse(arguments.model, form_for(arguments.model)), arguments, peak));
  } else {
    for (const Case& one : kCases)
      steps.push_back(measure(one.name, Model::parse(one.model, one.form), arguments, peak, one.batch));
    json["optimizers"] = measure_optimizers(arguments);
    json["objectives"] = measure_objectives(arguments);
    json["private_steps"] = measure_private_steps(arguments);
  }
  if (arguments.json) std::printf("%s\n", dump_json(json, 2).c_str());
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("bench", "Measure the speed of one training thread on this machine, or of the messages between ranks.");
  command.footer("Example: fedstride bench --model pfl-cnn --batch 50");
  auto arguments = std::make_shared<BenchFlags>();
  command.allow_extras();
  takes(*command.add_option("--model", arguments->model,
                            "a named model or its layers, on 32x32x3 pictures, a named one on its own examples [seven of them]"),
        {.word = "NAME", .known = known_models()});
  add_number_flag(command, "--batch", arguments->batch, {.low = 1, .high = 100000}, "examples a batch");
  add_number_flag(command, "--seconds", arguments->seconds, {.low = 0, .high = 600, .low_included = false},
                  "seconds each measurement takes");
  add_json_switch(command, arguments->json);
  add_fleet_flags(command, arguments->fleet);
  when_called(command, [arguments] { arguments->fleet.on_ranks() ? bench_ranks(*arguments) : bench(*arguments); });
}

}  // namespace fedstride
