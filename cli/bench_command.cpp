#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/fleet_flags.hpp"
#include "cli/network_bench.hpp"
#include "core/build_info.hpp"
#include "core/json.hpp"
#include "nn/models.hpp"
#include "sim/mpi/ranks_bench.hpp"

namespace fedstride {
namespace {

struct BenchFlags {
  FleetFlags fleet;
  std::string model;
  std::optional<int> batch;
  double seconds = 1;
  bool json = false;

  /// Batch sizes to measure: several by default, because speed may drop at some of them.
  std::vector<int> batches() const { return batch ? std::vector{*batch} : std::vector{10, 50, 100}; }
};

/// Returns the form of the examples that a named model expects, or 32x32 color images in 10 classes for any other line.
ExampleForm form_for(std::string_view model) {
  const NamedModel* named = find_named_model(model);
  return named == nullptr ? ExampleForm{{32, 32, 3}, 10} : named->form;
}

// A network and the examples it is measured on.
struct Case {
  std::string name;
  std::string line = name;
  ExampleForm form = form_for(line);
};

// The networks measured by default.
const Case kCases[] = {
    {"adadp-cnn"},        {"pfl-cnn"},     {"874-parameter MLP", "dense 32 | relu | dense classes", {{1, 1, 16}, 10}},
    {"resnet20-gn"},      {"femnist-cnn"}, {"leaf-lstm"},
    {"small-transformer"}};

Json measure(const Case& one, int batch, const BenchFlags& flags, double peak) {
  const NetworkSpeed speed = measure_network(Model::parse(one.line, one.form), batch, flags.seconds);
  const double evaluated = speed.batch / speed.evaluate_seconds;
  if (!flags.json)
    std::printf(
        "%-18s batch %3d: %9.0f examples/s  %8.1f us a step  %6.1f GFLOP/s  %3.0f %% of peak  (forward only: %.0f "
        "examples/s)\n",
        one.name.c_str(), speed.batch, speed.examples_per_second(), speed.step_seconds * 1e6, speed.flops_per_second() * 1e-9,
        100 * speed.flops_per_second() / peak, evaluated);
  return {{"name", one.name},
          {"batch", speed.batch},
          {"examples_per_second", speed.examples_per_second()},
          {"step_seconds", speed.step_seconds},
          {"flops_per_second", speed.flops_per_second()},
          {"share_of_peak", speed.flops_per_second() / peak},
          {"evaluated_examples_per_second", evaluated}};
}

// Measures a round's messages between the ranks of a job.
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
        "A step is the gradient of one batch of random data and an SGD update. GFLOP/s count the dense arithmetic of the\n"
        "forward pass and both gradients, even where sparsity or a faster algorithm avoids it: more than 100 %% is possible.\n",
        build.version.c_str(), build.compiler.c_str(), build.instruction_set.c_str(), peak * 1e-9);
  Json json{{"version", build.version},
            {"compiler", build.compiler},
            {"instruction_set", build.instruction_set},
            {"peak_flops_per_second", peak}};
  Json& steps = json["steps"] = Json::array();
  const auto measure_batches = [&](const Case& one) {
    for (const int batch : arguments.batches()) steps.push_back(measure(one, batch, arguments, peak));
  };
  if (!arguments.model.empty()) {
    measure_batches({arguments.model});
  } else {
    for (const Case& one : kCases) measure_batches(one);
  }
  if (arguments.json) print_json(json);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto [command, flags] =
      add_command<BenchFlags>(app, "bench", "Measure the speed of one training thread, or of messages between MPI ranks.",
                              "Example: fedstride bench --model pfl-cnn --batch 50",
                              [](const BenchFlags& given) { given.fleet.on_ranks() ? bench_ranks(given) : bench(given); });
  add_flag(command, "--model", flags.model, {.word = "NAME", .known = known_models()},
           "a named model, or layers for 32x32x3 images (default: seven models in turn)");
  add_number_flag(command, "--batch", flags.batch, {.low = 1, .high = 100000},
                  "examples per batch (default: 10, 50 and 100 in turn)");
  add_number_flag(command, "--seconds", flags.seconds, {.low = 0, .high = 600, .low_included = false}, "seconds per measurement");
  add_json_switch(command, flags.json);
  add_fleet_flags(command, flags.fleet);
}

}  // namespace fedstride
