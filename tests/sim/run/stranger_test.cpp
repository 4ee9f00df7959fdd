// A stranger reads the published model of a private run of one release, knows everything but the key and which of two neighboring data
// sets was used, and guesses. (tests/dp/noise/grid_noise_test.cpp has the attack on every bit of a release, which won before.)
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/files.hpp"
#include "dp/noise/noise_place.hpp"
#include "nn/safetensors.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test::stranger_test {
namespace {

constexpr int kTrials = 40;

/// The data of one client; the other candidate has another last row or, for a client, other rows.
void write_candidate(const std::string& folder, bool other, bool all) {
  std::filesystem::create_directories(folder);
  std::ofstream train(folder + "/train.csv"), test(folder + "/test.csv");
  for (int row = 0; row < 30; ++row) {
    RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
    const bool differs = other && (all || row == 29);
    for (int column = 0; column < 3; ++column) train << (differs ? -3 : 1) * random.normal() << ',';
    train << (differs ? 2 : row % 3) << '\n';
    if (row < 3) test << "0,0,0," << row << '\n';
  }
}

Vector model_of_run(const Settings& settings) {
  const RunSummary summary = start(settings);
  const auto file = parse_safetensors(read_file(summary.folder + "/model.safetensors"), "model");
  return exact(model_of(file), file);
}

/// Of kTrials guesses about runs with this noise multiplier, those that were right.
int right_guesses(const std::string& more, bool all, double noise_multiplier) {
  const TemporaryFolder folder;
  for (const bool other : {false, true}) write_candidate(folder / (other ? "b" : "a"), other, all);
  const auto model = [&](bool other, const std::string& out, const std::string& noise) {
    return model_of_run(settings_for(folder, out,
                                     "data = '" + (folder / (other ? "b" : "a")) +
                                         "'\nmodel = 'logistic'\noptimizer = 'sgd'\nlearning-rate = 1.0\nrounds = 1\n"
                                         "local-epochs = 1\nclients = 1\npartition = 'iid'\nbatch = 30\n" +
                                         more + noise));
  };
  const Vector a = model(false, "out-a", "noise-multiplier = 1e-4\n"), b = model(true, "out-b", "noise-multiplier = 1e-4\n");
  int right = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const bool truth = RandomStream(11, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(trial)})() % 2 == 1;
    const Vector seen = model(truth, "out" + std::to_string(trial),
                              "noise-multiplier = " + std::to_string(noise_multiplier) + "\nrandomness = 'secret'\n");
    double evidence = 0;  // the Gaussian's log likelihood ratio, up to a factor
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double from_a = double{seen[i]} - double{a[i]}, from_b = double{seen[i]} - double{b[i]};
      evidence += from_a * from_a - from_b * from_b;
    }
    right += (evidence > 0) == truth ? 1 : 0;
  }
  return right;
}

}  // namespace

TEST_CASE(
    "a stranger's forty guesses from models are as chance would have them, at every level and place; with little noise all are "
    "right") {
  std::vector<std::pair<std::string, bool>> kinds{{"dp = 'example'\nclip = 1\n", false}};
  for (const NoisePlace& place : kNoisePlaces)
    if (!place.has_shares)
      kinds.emplace_back("dp = 'client'\nclip = 1\nclient-noise = '" + std::string(place.name) + "'\n", true);
  CHECK(kinds.size() == 4);
  for (const auto& [settings, all] : kinds) {
    CAPTURE(settings);
    // Chance: 20 on average, with a deviation of 3.2.
    const int right = right_guesses(settings, all, 20);
    CHECK(right >= 7);
    CHECK(right <= 33);
    CHECK(right_guesses(settings, all, 0.01) == kTrials);
  }
}

}  // namespace fedstride::test::stranger_test
