#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride::test {

/// A number between 0 and 1 that looks like noise: the same for the same address.
inline double noise(unsigned a, unsigned b, unsigned c = 0) {
  const double x = std::sin(a * 12.9898 + b * 78.233 + c * 37.719) * 43758.5453;
  return x - std::floor(x);
}

struct Made {
  std::vector<double> fractions{0, 0.33, 0.67, 1};
  std::vector<double> rates{0.00316, 0.01, 0.0316};
  int seeds = 3;
  std::uint32_t rounds = 30;
  unsigned clients = 5;
  bool is_private = false;
};

inline std::string text_of(double value) {
  std::string text = std::to_string(value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

inline CellResult made_cell(const Made& made, unsigned number, double fraction, const std::string& optimizer, double rate,
                            int seed) {
  CellResult result;
  Cell& cell = result.cell;
  cell.point = {{"random-fraction", text_of(fraction)}, {"optimizer", optimizer}};
  cell.configuration = optimizer + text_of(fraction);
  if (optimizer == "sgd") {
    cell.point.emplace_back("learning-rate", text_of(rate));
    cell.configuration += text_of(rate);
  }
  cell.point.emplace_back("seed", std::to_string(seed));
  cell.key = std::to_string(1000000000000000ull + number);
  cell.command =
      "fedstride run --random-fraction " + text_of(fraction) + " --optimizer " + optimizer + " --seed " + std::to_string(seed);
  result.status = "finished";
  const double reach = 0.45 + 0.25 * fraction - (optimizer == "sgd" ? 0.05 + 0.1 * std::fabs(std::log10(rate / 0.01)) : 0);
  for (std::uint32_t round = 1; round <= made.rounds; ++round) {
    CellResult::Round line{.round = round, .numbers = {}, .model_hash = {}};
    const double jitter = 0.02 * (noise(number, round) - 0.5);
    line.numbers = {{"test_accuracy", 0.1 + (reach - 0.1) * (1 - std::exp(-0.15 * round)) + jitter},
                    {"test_loss", 2.3 * std::exp(-0.03 * round * reach) + jitter}};
    if (made.is_private) {
      line.numbers["epsilon_spent"] = 0.3 * std::sqrt(round);
      line.numbers["delta_spent"] = 1e-5;
      line.numbers["epsilon_by_tight"] = 0.27 * std::sqrt(round);
      line.numbers["epsilon_by_rdp"] = 0.3 * std::sqrt(round);
      line.numbers["epsilon_by_strong"] = 0.9 * std::sqrt(round);
    }
    result.numbers = line.numbers;
    for (std::uint32_t client = 0; client < made.clients; ++client) {
      Numbers numbers{{"rejected_share", 0.3 + 0.05 * noise(client, round, number)}};
      numbers["learning_rate"] =
          optimizer == "sgd" ? rate : 0.01 * std::exp(-0.1 * round) * (1 + client) * (0.8 + 0.4 * noise(client, number, round));
      result.clients.push_back({.round = round, .client = client, .numbers = numbers});
    }
    result.rounds.push_back(std::move(line));
  }
  result.numbers["seconds"] = 20 + 5 * noise(number, 7);
  result.numbers["examples_per_second"] = 1e5 / result.numbers["seconds"];
  result.texts = {{"randomness", "seeded"}, {"version", "0.1.0"}, {"compiler", "GCC 12.2.0"}, {"numerics_version", "1"}};
  for (unsigned client = 0; client < made.clients; ++client) {
    result.rows_per_class.emplace_back(10, static_cast<std::uint64_t>(1000 * fraction));
    for (unsigned label = 0; label < 2; ++label)
      result.rows_per_class.back()[(2 * client + label) % 10] += static_cast<std::uint64_t>(5000 * (1 - fraction));
  }
  return result;
}

/// A sweep as Koskela & Honkela's Figure 1(a) asks for, with numbers that are made up.
inline SweepResults made_results(const Made& made = {}) {
  SweepResults results;
  Experiment& experiment = results.experiment;
  experiment.name = "made";
  experiment.file = "made/experiment.toml";
  experiment.text = "# made up\nrounds = 30\n";
  experiment.scale = "full";
  experiment.title = "A made sweep";
  experiment.source = "nobody, nowhere";
  experiment.claim = "ADADP keeps its accuracy.";
  experiment.tuning = {.keys = {"learning-rate"}, .on = "test", .why = "as in the paper, which names no validation set"};
  const auto axis = [](const std::string& key, const std::vector<std::string>& values) {
    Axis made_axis{.keys = {key}};
    for (const auto& value : values) made_axis.values.push_back({.settings = {}, .labels = {value}});
    return made_axis;
  };
  std::vector<std::string> fractions, rates, seeds;
  for (const double fraction : made.fractions) fractions.push_back(text_of(fraction));
  for (const double rate : made.rates) rates.push_back(text_of(rate));
  for (int seed = 1; seed <= made.seeds; ++seed) seeds.push_back(std::to_string(seed));
  experiment.axes = {axis("random-fraction", fractions), axis("optimizer", {"adadp", "sgd"}), axis("learning-rate", rates),
                     axis("seed", seeds)};
  experiment.axes[2].when = {{"optimizer", "sgd"}};
  unsigned number = 0;
  for (const double fraction : made.fractions) {
    for (int seed = 1; seed <= made.seeds; ++seed) results.cells.push_back(made_cell(made, ++number, fraction, "adadp", 0, seed));
    for (const double rate : made.rates)
      for (int seed = 1; seed <= made.seeds; ++seed)
        results.cells.push_back(made_cell(made, ++number, fraction, "sgd", rate, seed));
  }
  results.summary = summarize(experiment, results.cells);
  results.machine = {{"processor", "a made one"}, {"cores", "2"}};
  return results;
}

}  // namespace fedstride::test
