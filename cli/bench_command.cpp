#include <cstdio>
#include <optional>
#include <ranges>
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
  std::vector<int> batches() const { return batch ? std::vector{*batch} : std::vector{kBatch, 50, 100}; }
  int one_batch() const { return batch.value_or(kBatch); }

 private:
  static constexpr int kBatch = 10;
};

/// Returns the form of the examples that a named model expects, or 32x32 color images in 10 classes for any other line.
ExampleForm form_for(std::string_view model) {
  const NamedModel* named = find_named_model(model);
  return named == nullptr ? ExampleForm{{32, 32, 3}, 10} : named->form;
}

// A network and the examples it is measured on.
struct Case {
  std::string name;
  int batch = 0;  ///< batch size of a private step
  std::string line = name;
  ExampleForm form = form_for(line);
  const char* frozen = "";
};

// The networks measured by default.
const Case kCases[] = {
    {"adadp-cnn"},        {"pfl-cnn"},     {"874-parameter MLP", 0, "dense 32 | relu | dense classes", {{1, 1, 16}, 10}},
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

// The cases for comparing a noisy release with a plain gradient of the same batch.
const Case kPrivateCases[] = {
    {"adadp-cnn's dense part", 200, "dense 500 | relu | dense 500 | relu | dense classes", {{1, 1, 1600}, 10}},
    {"adadp-cnn", 200},
    {"adadp-cnn, convolutions frozen", 200, "adadp-cnn", form_for("adadp-cnn"), "conv1,conv2"},
    {"tutorial-cnn", 200, "tutorial-cnn", {{28, 28, 1}, 10}},
    {"resnet20-gn", 32},
    {"femnist-cnn", 20},
    {"leaf-lstm", 10},
    {"small-transformer", 16}};

Json measure_private_steps(const BenchFlags& flags) {
  if (!flags.json)
    std::printf("A private step (norms, clipping, sum, noise) compared with a plain gradient, measured in pairs:\n");
  Json rows = Json::array();
  for (const Case& one : kPrivateCases) {
    const Model model = Model::parse(one.line, one.form);
    const auto frozen = *one.frozen == '\0' ? std::vector<bool>{} : model.frozen(one.frozen);
    const PrivateSpeed speed = measure_private(model, one.batch, frozen, flags.seconds);
    rows.push_back({{"name", one.name},
                    {"batch", one.batch},
                    {"plain_seconds", speed.plain_seconds},
                    {"private_seconds", speed.private_seconds},
                    {"ratio", speed.ratio}});
    if (!flags.json)
      std::printf("%-31s batch %3d  plain %7.2f ms  private %7.2f ms  ratio %.2f\n", one.name.c_str(), one.batch,
                  speed.plain_seconds * 1e3, speed.private_seconds * 1e3, speed.ratio);
  }
  return rows;
}

// Compares each part of a family with SGD under the plain objective, on a network whose weights exceed a core's private caches.
template <class Family>
Json measure_parts(const BenchFlags& flags, const char* title, const auto& measure_part) {
  const Model model = Model::parse("adadp-cnn", {32, 32, 3}, 10);
  if (!flags.json) std::printf(title, flags.one_batch());
  Json rows = Json::array();
  for (const std::string& name : Family::registry().names()) {
    Family part;
    part.choose(name);
    const OptimizerSpeed speed = measure_part(model, flags.one_batch(), part, flags.seconds);
    rows.push_back({{"name", name}, {"seconds", speed.step_seconds}, {"ratio", speed.ratio}});
    if (!flags.json) std::printf("%-11s %7.0f us  ratio %.3f\n", name.c_str(), speed.step_seconds * 1e6, speed.ratio);
  }
  return rows;
}

Json measure_codes(const BenchFlags& flags) {
  if (!flags.json) std::printf("Compression of a million weights:\n");
  Json rows = Json::array();
  for (const std::string& name : UpCompression::registry().names()) {
    UpCompression compression;
    compression.choose(name);
    const CodeSpeed speed = measure_compression(compression, flags.seconds);
    rows.push_back({{"name", name},
                    {"encode_seconds", speed.encode_seconds},
                    {"decode_seconds", speed.decode_seconds},
                    {"bytes", speed.bytes}});
    if (!flags.json)
      std::printf("%-11s %6.2f ms, decoding %6.2f ms, %7zu bytes\n", name.c_str(), speed.encode_seconds * 1e3,
                  speed.decode_seconds * 1e3, speed.bytes);
  }
  return rows;
}

Json measure_noises(const BenchFlags& flags) {
  if (!flags.json) std::printf("Noise of a release of a million weights, compared with independent noise, measured in pairs:\n");
  Json rows = Json::array();
  for (const auto& part : MechanismPart::family().parts() | std::views::drop(1)) {  // skips independent noise
    const OptimizerSpeed speed = measure_noise(static_cast<const MechanismPart&>(*part), flags.seconds);
    const std::string name(part->name());
    rows.push_back({{"name", name}, {"seconds", speed.step_seconds}, {"ratio", speed.ratio}});
    if (!flags.json) std::printf("%-11s %6.2f ms  ratio %.3f\n", name.c_str(), speed.step_seconds * 1e3, speed.ratio);
  }
  return rows;
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
    json["optimizers"] = measure_parts<Optimizer>(
        arguments,
        "Optimizers: a gradient and its share of the step compared with SGD, adadp-cnn, batch %d, measured in pairs:\n",
        measure_optimizer);
    json["objectives"] = measure_parts<LocalObjective>(
        arguments, "Local objectives: an SGD step compared with the plain objective, adadp-cnn, batch %d, measured in pairs:\n",
        measure_objective);
    json["private_steps"] = measure_private_steps(arguments);
    json["compression"] = measure_codes(arguments);
    json["noise"] = measure_noises(arguments);
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
